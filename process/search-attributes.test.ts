import { describe, expect, test } from '@jest/globals';
import proto from '@temporalio/proto';
import { searchAttributes } from '../workflows/messages.js';
import type { WorkflowEngine } from '../operator/workflow-reconciler.js';
import { registeringWhereLacking, registerSearchAttributes, searchAttributeProblems } from './search-attributes.js';

const { IndexedValueType } = proto.temporal.api.enums.v1;

type Connection = Parameters<typeof searchAttributeProblems>[0];

const registered = (): Record<string, number> =>
  Object.fromEntries(
    Object.values(searchAttributes).map(({ name, type }) => [name, IndexedValueType[`INDEXED_VALUE_TYPE_${type}`]]),
  );

/** An operator service with these attributes, and what it was asked to add. */
function server(customAttributes: Record<string, number>) {
  const added: object[] = [];
  const operatorService = {
    listSearchAttributes: () => Promise.resolve({ customAttributes }),
    addSearchAttributes: ({ searchAttributes: types }: { searchAttributes: object }) => {
      added.push(types);
      return Promise.resolve({});
    },
  };
  return { connection: { operatorService } as unknown as Connection, added };
}

test('no search attribute is registered in a namespace that has all', async () => {
  const { connection, added } = server(registered());

  expect(await searchAttributeProblems(connection, 'n')).toEqual({ missing: [], mistyped: [] });
  await registerSearchAttributes(connection, 'n');
  expect(added).toEqual([]);
});

test('a search attribute of another type is reported apart from missing ones, and nothing is registered then', async () => {
  const some = registered();
  delete some['StowagePhase'];
  const text = IndexedValueType.INDEXED_VALUE_TYPE_TEXT;
  const { connection, added } = server({ ...some, StowageReason: text });

  expect(await searchAttributeProblems(connection, 'n')).toEqual({
    missing: [searchAttributes.phase],
    mistyped: [{ key: searchAttributes.reason, found: 'TEXT' }],
  });
  await expect(registerSearchAttributes(connection, 'n')).rejects.toThrow('StowageReason is TEXT and must be KEYWORD');
  expect(added).toEqual([]);
});

test('missing search attributes are registered', async () => {
  const some = registered();
  delete some['StowagePhase'];
  const { connection, added } = server(some);

  await registerSearchAttributes(connection, 'n');
  expect(added).toEqual([{ StowagePhase: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD }]);
});

/** As @grpc/grpc-js throws it. */
const grpcError = (code: number, message = `code ${code}`): Error =>
  Object.assign(new Error(message), { code, details: message, metadata: {} });

/** A frontend that refuses the operator API with `code` and answers queries of workflows by `query`. */
function refusing(code: number, query: (text: string) => Promise<unknown>) {
  const warned: object[] = [];
  const refuse = (): Promise<never> => Promise.reject(grpcError(code));
  const connection = {
    operatorService: { listSearchAttributes: refuse, addSearchAttributes: refuse },
    workflowService: { countWorkflowExecutions: ({ query: text }: { query: string }) => query(text) },
  } as unknown as Connection;
  return { connection, warned, log: { warn: (facts: object) => void warned.push(facts) } };
}

describe.each([7, 12])('where the operator API is refused (code %i), as by Temporal Cloud', (code) => {
  test('search attributes created beforehand are found by a query, and the process starts', async () => {
    const asked: string[] = [];
    const { connection, log, warned } = refusing(code, (text) => Promise.resolve(asked.push(text)));

    await registerSearchAttributes(connection, 'n', log);

    expect(asked).toHaveLength(Object.keys(searchAttributes).length);
    expect(warned).toEqual([]);
  });

  test('missing search attributes are named with their types', async () => {
    const { connection, log } = refusing(code, (text) =>
      text.startsWith('StowagePhase ')
        ? Promise.reject(grpcError(3, 'invalid query: search attribute StowagePhase is not defined'))
        : Promise.resolve({}),
    );

    await expect(registerSearchAttributes(connection, 'n', log)).rejects.toThrow(
      /cannot register the search attributes StowagePhase \(KEYWORD\): .*Create them beforehand/,
    );
  });

  test('where attributes cannot be listed the start goes on with a warning that names the needed ones', async () => {
    const { connection, log, warned } = refusing(code, () => Promise.reject(grpcError(code)));

    await registerSearchAttributes(connection, 'n', log);

    expect(warned).toEqual([{ namespace: 'n', needed: expect.stringContaining('StowageSavingsPerHour (DOUBLE)') }]);
  });
});

test('a frontend that does not answer is not a refusal of search attributes', async () => {
  const { connection } = refusing(14, () => Promise.resolve({}));
  await expect(registerSearchAttributes(connection, 'n')).rejects.toThrow('code 14');
});

describe('a namespace that was recreated while the process runs', () => {
  const lacking = grpcError(3, 'invalid query: column name StowageCluster is not a valid search attribute');
  /** Lists of workflows fail with `error` until search attributes are registered. */
  const engineOf = (error: Error) => {
    let isRegistered = false;
    const engine = {
      running: () => (isRegistered ? Promise.resolve(new Set(['c/provision'])) : Promise.reject(error)),
    } as Partial<WorkflowEngine> as WorkflowEngine;
    return registeringWhereLacking(engine, () => Promise.resolve(void (isRegistered = true)));
  };

  test.each([
    ['as such', lacking],
    ['as a cause', new Error('Failed to list workflows', { cause: lacking })],
  ])('gets its search attributes when a list is refused for them (%s)', async (_, error) => {
    expect(await engineOf(error).running()).toEqual(new Set(['c/provision']));
  });

  test.each([
    [3, 'invalid page token'],
    [14, 'no search attribute'],
  ])('is left alone for other failures (%i: %s)', async (code, details) => {
    const error = grpcError(code, details);
    await expect(engineOf(error).running()).rejects.toBe(error);
  });
});
