import { readFileSync, readdirSync } from 'node:fs';
import { searchAttributes } from '../../../workflows/search-attributes.js';
import { valuesOf } from './described.js';
import type { Check } from './page.js';

const sources = readdirSync('workflows', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .map((path) => readFileSync(`workflows/${path}`, 'utf8'))
  .join('\n');

/** Names that workflows define for messages of a kind. */
const namesOf = (define: 'Signal' | 'Update'): ReadonlySet<string | undefined> =>
  new Set([...sources.matchAll(new RegExp(`define${define}(?:<[^]*?>)?\\(\\s*'(\\w+)'`, 'g'))].map(([, name]) => name));

const messages = { 'workflow signal': namesOf('Signal'), 'workflow update execute': namesOf('Update') };
/** Of Temporal itself. */
const builtIn = new Set(['ExecutionStatus', 'WorkflowId', 'WorkflowType', 'StartTime', 'CloseTime', 'TaskQueue']);
const attributes = new Set<string>(Object.values(searchAttributes).map(({ name }) => name));

/** Attributes that a visibility query names. */
export const unknownAttributes = (query: string): readonly string[] =>
  [...query.replaceAll(/'[^']*'/g, '').matchAll(/\b([A-Z]\w*[a-z]\w*)\b/g)]
    .map(([, name = '']) => name)
    .filter((name) => !builtIn.has(name) && !attributes.has(name));

function problemOfInput(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return `the input is no JSON: ${text}`;
  }
}

export const checkTemporal: Check = (call) => {
  const known = call.command in messages ? messages[call.command as keyof typeof messages] : undefined;
  return [
    ...valuesOf(call, '--query')
      .flatMap(unknownAttributes)
      .map((name) => `there is no search attribute ${name}`),
    ...(known === undefined ? [] : valuesOf(call, '--name'))
      .filter((name) => known?.has(name) === false)
      .map((name) => `no workflow takes the ${call.command.split(' ')[1]} ${name}`),
    ...valuesOf(call, '--input').map(problemOfInput),
  ];
};
