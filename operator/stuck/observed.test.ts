import { expect, test } from '@jest/globals';
import { NamespaceNotFoundError } from '@temporalio/client';
import { whyUnobserved } from './observed.js';

/** As @grpc/grpc-js throws it. */
const grpc = (code: number, details: string): Error =>
  Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} });

/** As the client of Temporal throws it. */
const failedList = (cause: Error): Error =>
  Object.assign(new Error('Failed to list workflows', { cause }), { name: 'ServiceError' });

test.each<[string, unknown, string]>([
  [
    'a search attribute is not registered',
    failedList(grpc(3, 'column name StowageCluster is not a valid search attribute')),
    'it refuses a call: Failed to list workflows: column name StowageCluster is not a valid search attribute',
  ],
  ['the namespace is not there', new NamespaceNotFoundError('prod'), "it refuses a call: Namespace not found: 'prod'"],
  ['the caller has no permission', grpc(7, 'Request unauthorized.'), 'it refuses a call: 7: Request unauthorized.'],
  [
    'nothing listens at its address',
    failedList(grpc(14, 'connect ECONNREFUSED')),
    'it cannot be reached: Failed to list workflows: connect ECONNREFUSED',
  ],
  ['the connection breaks', grpc(13, 'Received RST_STREAM'), 'it cannot be reached: 13: Received RST_STREAM'],
  ['it does not answer in time', grpc(4, 'too late'), 'it cannot be reached: 4: too late'],
  ['something else fails', new Error('no worker'), 'it cannot be reached: no worker'],
])('where %s, the finding about Temporal has the error: %s', (_, error, why) => {
  expect(whyUnobserved(error)).toBe(why);
});
