import { describe, expect, test } from 'vitest';
import { briefMessageOf, messageOf } from './error-message.js';

/** As the client of Temporal throws it. */
const serviceError = (message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { name: 'ServiceError' });

describe('what a failure says', () => {
  const grpc = Object.assign(new Error('5 NOT_FOUND: workflow not found'), { details: 'workflow not found' });

  test.each<[unknown, string]>([
    [new Error('no'), 'no'],
    ['no', 'no'],
    [undefined, 'undefined'],
    [serviceError('Failed to query Workflow', grpc), 'Failed to query Workflow: workflow not found'],
    [
      serviceError('Failed to query Workflow', new Error('connect ECONNREFUSED')),
      'Failed to query Workflow: connect ECONNREFUSED',
    ],
    [serviceError('Failed: workflow not found', grpc), 'Failed: workflow not found'],
    [serviceError('Failed to query Workflow'), 'Failed to query Workflow'],
    [new Error('Failed', { cause: grpc }), 'Failed'],
  ])('%o: %s', (error, message) => {
    expect(messageOf(error)).toBe(message);
  });

  test('is cut where it is long', () => {
    expect(briefMessageOf(new Error('x'.repeat(1000))).length).toBeLessThan(510);
  });
});
