import type { Connection } from '@temporalio/client';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import proto from '@temporalio/proto';
import { searchAttributes } from '../workflows/messages.js';
import { lookUp } from '../core/own.js';

type OperatorConnection = Pick<Connection, 'operatorService'>;
type Key = (typeof searchAttributes)[keyof typeof searchAttributes];

interface Mistyped {
  readonly key: Key;
  /** Such as `TEXT`. */
  readonly found: string;
}

/**
 * Registers the search attributes that are missing. Where the account may not (Temporal Cloud) they are made beforehand: the
 * error names those that are missing. Throws as well where somebody registered one with another type: every workflow task that
 * sets it would fail.
 */
export async function registerSearchAttributes(connection: OperatorConnection, namespace: string): Promise<void> {
  const { missing, mistyped } = await searchAttributeProblems(connection, namespace);
  if (mistyped.length > 0) {
    const wrong = mistyped.map(({ key: { name, type }, found }) => `${name} is ${found} and must be ${type}`);
    throw new Error(
      `search attributes of namespace ${namespace} have another type: ${wrong.join(', ')}. ` +
        'Remove them (temporal operator search-attribute remove): they are registered anew',
    );
  }
  await addSearchAttributes(connection, namespace, missing);
}

/** What a namespace lacks: search attributes that are missing, and those that somebody registered with another type. */
export async function searchAttributeProblems(
  connection: OperatorConnection,
  namespace: string,
): Promise<{ readonly missing: readonly Key[]; readonly mistyped: readonly Mistyped[] }> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing: Key[] = [];
  const mistyped: Mistyped[] = [];
  for (const key of Object.values(searchAttributes)) {
    const found = lookUp(customAttributes, key.name);
    if (found === undefined) missing.push(key);
    else if (found !== encodeSearchAttributeIndexedValueType(key.type)) {
      mistyped.push({ key, found: typeName(found) });
    }
  }
  return { missing, mistyped };
}

const { IndexedValueType } = proto.temporal.api.enums.v1;

const typeName = (type: number): string =>
  (IndexedValueType[type] ?? `type ${type}`).replace('INDEXED_VALUE_TYPE_', '');

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
