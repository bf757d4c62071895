import { messageOf } from '../core/error-message.js';
import { isGrpcServiceError } from '@temporalio/client';
import type { Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { WorkflowEngine } from '../operator/workflow-reconciler.js';
import { searchAttributes } from '../workflows/messages.js';
import { lookUp } from '../core/own.js';
import type { Log } from '../core/telemetry.js';

type OperatorConnection = Pick<Connection, 'operatorService'>;
type AskedConnection = OperatorConnection & Pick<Connection, 'workflowService'>;
type Key = (typeof searchAttributes)[keyof typeof searchAttributes];

interface Mistyped {
  readonly key: Key;
  /** Such as `TEXT`. */
  readonly found: string;
}

interface Problems {
  readonly missing: readonly Key[];
  readonly mistyped: readonly Mistyped[];
  /** The account may neither list search attributes nor query by them. */
  readonly isUnknown?: true;
}

/** gRPC codes of a frontend that does not serve the operator API, or not to this account, such as Temporal Cloud. */
const refusals: ReadonlySet<number> = new Set([7, 12]);
const invalidArgument = 3;

/**
 * Registers the missing search attributes. If the account may not (Temporal Cloud), they must be created beforehand:
 * the error names the missing ones. Also throws if an attribute is registered with another type: every workflow task
 * that sets it would fail. If the existing attributes cannot be determined, logs a warning and continues.
 */
export async function registerSearchAttributes(
  connection: AskedConnection,
  namespace: string,
  log?: Pick<Log, 'warn'>,
): Promise<void> {
  const { missing, mistyped, isUnknown } = await searchAttributeProblems(connection, namespace);
  if (isUnknown === true) {
    log?.warn(
      { namespace, needed: described(Object.values(searchAttributes)) },
      'Temporal does not say which search attributes there are: workflow tasks fail where one of these is missing',
    );
  }
  if (mistyped.length > 0) {
    const wrong = mistyped.map(({ key: { name, type }, found }) => `${name} is ${found} and must be ${type}`);
    throw new Error(
      `search attributes of namespace ${namespace} have another type: ${wrong.join(', ')}. ` +
        'Remove them (temporal operator search-attribute remove): they are registered anew',
    );
  }
  await addSearchAttributes(connection, namespace, missing);
}

/** Missing search attributes of a namespace, and those registered with another type. */
export async function searchAttributeProblems(connection: AskedConnection, namespace: string): Promise<Problems> {
  let listed;
  try {
    listed = await connection.operatorService.listSearchAttributes({ namespace });
  } catch (error) {
    if (!refusals.has(codeOf(error))) throw error;
    return problemsByQuery(connection, namespace);
  }
  const missing: Key[] = [];
  const mistyped: Mistyped[] = [];
  for (const key of Object.values(searchAttributes)) {
    const found = lookUp(listed.customAttributes, key.name);
    if (found === undefined) missing.push(key);
    else if (found !== IndexedValueType[`INDEXED_VALUE_TYPE_${key.type}`]) {
      mistyped.push({ key, found: typeName(found) });
    }
  }
  return { missing, mistyped };
}

/** An account that may run workflows may count them: a query with an unregistered attribute is invalid. */
async function problemsByQuery({ workflowService }: AskedConnection, namespace: string): Promise<Problems> {
  const missing: Key[] = [];
  for (const key of Object.values(searchAttributes)) {
    try {
      await workflowService.countWorkflowExecutions({ namespace, query: `${key.name} IS NOT NULL` });
    } catch (error) {
      if (refusals.has(codeOf(error))) return { missing: [], mistyped: [], isUnknown: true };
      if (codeOf(error) !== invalidArgument) throw error;
      missing.push(key);
    }
  }
  return { missing, mistyped: [] };
}

/**
 * Whether Temporal rejected a query because a search attribute is missing, as in a namespace that was created again.
 */
function lacksSearchAttribute(error: unknown): boolean {
  const causes = [error, error instanceof Error ? error.cause : undefined];
  return causes.some((each) => codeOf(each) === invalidArgument && /search attribute/i.test(String(each)));
}

/**
 * Like `engine`, but registers missing search attributes when a list is rejected for lack of one, since the namespace
 * may be created again while the process runs.
 */
export function registeringWhereLacking(engine: WorkflowEngine, register: () => Promise<void>): WorkflowEngine {
  return {
    running: async () => {
      try {
        return await engine.running();
      } catch (error) {
        if (!lacksSearchAttribute(error)) throw error;
        await register();
        return engine.running();
      }
    },
    start: (workflow) => engine.start(workflow),
    endObjectless: (workflowId) => engine.endObjectless(workflowId),
    disrupt: () => engine.disrupt(),
  };
}

const codeOf = (error: unknown): number => (isGrpcServiceError(error) ? error.code : -1);

const described = (keys: readonly Key[]): string => keys.map(({ name, type }) => `${name} (${type})`).join(', ');

const { IndexedValueType } = proto.temporal.api.enums.v1;

const typeName = (type: number): string =>
  (IndexedValueType[type] ?? `type ${type}`).replace('INDEXED_VALUE_TYPE_', '');

/** Registers these search attributes; it does not matter if another process does it first. */
export async function addSearchAttributes(
  connection: OperatorConnection,
  namespace: string,
  keys: readonly Key[],
): Promise<void> {
  if (keys.length === 0) return;
  const types = Object.fromEntries(
    keys.map(({ name, type }) => [name, IndexedValueType[`INDEXED_VALUE_TYPE_${type}`]] as const),
  );
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: types });
  } catch (error) {
    if (String(error).includes('already exist')) return;
    const byHand = refusals.has(codeOf(error)) ? ' Create them beforehand: this account may not.' : '';
    throw new Error(`cannot register the search attributes ${described(keys)}: ${messageOf(error)}.${byHand}`, {
      cause: error,
    });
  }
}
