import type { Connection } from '@temporalio/client';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import { searchAttributes } from '../workflows/messages.js';

type OperatorConnection = Pick<Connection, 'operatorService'>;
type Key = (typeof searchAttributes)[keyof typeof searchAttributes];

/**
 * Registers the search attributes that are missing (design.md). Where the account may not (Temporal Cloud) they are
 * made beforehand: the error names those that are missing.
 */
export async function registerSearchAttributes(connection: OperatorConnection, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  await addSearchAttributes(
    connection,
    namespace,
    Object.values(searchAttributes).filter(({ name }) => customAttributes[name] === undefined),
  );
}

/** Registers these; one that somebody else was faster with is as good. */
export async function addSearchAttributes(
  connection: OperatorConnection,
  namespace: string,
  keys: readonly Key[],
): Promise<void> {
  if (keys.length === 0) return;
  const types = Object.fromEntries(
    keys.map(({ name, type }) => [name, encodeSearchAttributeIndexedValueType(type) ?? 0] as const),
  );
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: types });
  } catch (error) {
    if (String(error).includes('already exist')) return;
    const names = keys.map(({ name }) => name).join(', ');
    throw new Error(`cannot register the search attributes ${names}: ${String(error)}`, { cause: error });
  }
}
