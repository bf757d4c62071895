import { readFileSync } from 'node:fs';
import { parse as toml } from 'smol-toml';
import { describe, expect, test } from '@jest/globals';
import { parse as yaml } from 'yaml';
import { briefMessageOf, messageOf, parserMessageOf } from './error-message.js';

/** As the client of Temporal throws it. */
const serviceError = (message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { name: 'ServiceError' });

describe('the message of an error', () => {
  const grpc = Object.assign(new Error('5 NOT_FOUND: workflow not found'), { details: 'workflow not found' });

  test.each<[string, unknown]>([
    ['no', new Error('no')],
    ['no', 'no'],
    ['undefined', undefined],
    ['Failed to query Workflow: workflow not found', serviceError('Failed to query Workflow', grpc)],
    [
      'Failed to query Workflow: connect ECONNREFUSED',
      serviceError('Failed to query Workflow', new Error('connect ECONNREFUSED')),
    ],
    ['Failed: workflow not found', serviceError('Failed: workflow not found', grpc)],
    ['Failed to query Workflow', serviceError('Failed to query Workflow')],
    ['Failed', new Error('Failed', { cause: grpc })],
  ])('"%s" is the message of %p', (message, error) => {
    expect(messageOf(error)).toBe(message);
  });

  test('a long error message is cut', () => {
    expect(briefMessageOf(new Error('x'.repeat(1000))).length).toBeLessThan(510);
  });
});

const hasSecret = /hunter2/;

test.each([
  ['YAML', () => yaml('a: hunter2: x'), /^block as implicit key at line 1, column 4$/],
  ['YAML', () => yaml('a: [\n- hunter2'), / at line 2, column \d+$/],
  ['YAML', () => yaml('a: *hunter2'), /^it cannot be parsed$|^bad alias/],
  ['YAML', () => yaml('a: "hunter2\\q"'), /^bad dq escape at line 1, column 12$/],
  ['TOML', () => toml('a = hunter2'), /invalid value at line 1, column 5$/],
  ['JSON', () => JSON.parse('{"a": hunter2}') as unknown, /^it cannot be parsed$/],
  ['a file', () => readFileSync('/nowhere/a'), /^ENOENT: .* '\/nowhere\/a'$/],
])('names where %s breaks, and shows nothing of its content', (_what, parse, message) => {
  let said = '';
  try {
    parse();
  } catch (error) {
    said = parserMessageOf(error);
  }
  expect(said).toMatch(message);
  expect(said).not.toMatch(hasSecret);
});
