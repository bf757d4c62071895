import { expect, test } from '@jest/globals';
import { Linter } from 'eslint';
import rule from './own-outcomes.mjs';

function reported(code: string): number {
  const plugins = { stowage: { rules: { 'own-outcomes': rule } } };
  const config = { plugins, rules: { 'stowage/own-outcomes': 'error' as const } };
  const messages = new Linter().verify(code, [config]);
  return messages.filter(({ ruleId }) => ruleId === 'stowage/own-outcomes').length;
}

test.each([
  'inBatches(nodes, (node) => write(node));',
  'inBatches(nodes, async (node) => { await write(node); });',
  'inBatches(nodes, write);',
  'const one = async (node) => { await write(node); }; inBatches(nodes, one);',
  'Promise.all(claims.map(async (claim) => { try { await a(claim); } finally { await b(claim); } }));',
  'Promise.all(claims.map((claim) => begin(claim)));',
])('own-outcomes reports %s', (code) => {
  expect(reported(code)).toBe(1);
});

test.each([
  'inBatches(nodes, async (node) => { try { await write(node); } catch (error) { failed.push(error); } });',
  'inBatches(nodes, async (node) => { const is = await write(node).catch(() => false); note(is); });',
  'Promise.all(claims.map((claim) => begin(claim).catch(() => undefined)));',
  'const one = async (node) => { try { await write(node); } catch (error) { note(error); } }; inBatches(nodes, one);',
  'Promise.all([one(), other()]);',
  'claims.map((claim) => begin(claim));',
])('own-outcomes accepts %s', (code) => {
  expect(reported(code)).toBe(0);
});
