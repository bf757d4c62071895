import { expect, test } from 'vitest';
import { NamespaceNotFoundError } from '@temporalio/common';
import { DomainError } from '../core/failures.js';
import { UsageError } from './exit.js';
import { failureOf } from './failure.js';

/** As the client of Temporal throws it. */
const refused = Object.assign(
  new Error('Failed to list workflows', {
    cause: Object.assign(new Error('3 INVALID_ARGUMENT: no such column'), { details: 'no such column' }),
  }),
  { name: 'ServiceError' },
);

test('what Temporal refuses is told with what it said, and without a stack', () => {
  expect(failureOf(refused).said).toBe('stowage: Failed to list workflows: no such column\n');
});

test('a namespace that is not there is named, without a stack', () => {
  expect(failureOf(new NamespaceNotFoundError('prod')).said).toBe("stowage: Namespace not found: 'prod'\n");
});

test('an API server that does not answer is told without a stack', () => {
  const said = 'no answer from the Kubernetes API server at https://127.0.0.1:6443: connect ECONNREFUSED';
  expect(failureOf(new DomainError('Unavailable', said))).toEqual({ status: 1, said: `stowage: ${said}\n` });
});

test('what a user did wrong is told alone; a slip of ours with its stack', () => {
  expect(failureOf(new UsageError('no such file'))).toMatchObject({ said: 'stowage: no such file\n' });
  expect(failureOf(new Error('slip')).said).toContain('failure.test');
});
