import { expect, test } from '@jest/globals';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import { searchAttributes } from '../workflows/messages.js';
import { registerSearchAttributes, searchAttributeProblems } from './search-attributes.js';

type Connection = Parameters<typeof searchAttributeProblems>[0];

const registered = (): Record<string, number> =>
  Object.fromEntries(
    Object.values(searchAttributes).map(({ name, type }) => [name, encodeSearchAttributeIndexedValueType(type) ?? 0]),
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

test('a namespace that has them all lacks nothing, and nothing is added', async () => {
  const { connection, added } = server(registered());

  expect(await searchAttributeProblems(connection, 'n')).toEqual({ missing: [], mistyped: [] });
  await registerSearchAttributes(connection, 'n');
  expect(added).toEqual([]);
});

test('what is missing is told apart from what has another type, with which nothing is registered', async () => {
  const some = registered();
  delete some['StowagePhase'];
  const text = encodeSearchAttributeIndexedValueType('TEXT') ?? 0;
  const { connection, added } = server({ ...some, StowageReason: text });

  expect(await searchAttributeProblems(connection, 'n')).toEqual({
    missing: [searchAttributes.phase],
    mistyped: [{ key: searchAttributes.reason, found: 'TEXT' }],
  });
  await expect(registerSearchAttributes(connection, 'n')).rejects.toThrow('StowageReason is TEXT and must be KEYWORD');
  expect(added).toEqual([]);
});

test('what is missing is registered', async () => {
  const some = registered();
  delete some['StowagePhase'];
  const { connection, added } = server(some);

  await registerSearchAttributes(connection, 'n');
  expect(added).toEqual([{ StowagePhase: encodeSearchAttributeIndexedValueType('KEYWORD') }]);
});
