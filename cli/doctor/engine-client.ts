import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { observeQueues } from '../../operator/stuck/observe-engine.js';
import { TemporalClusterIdentityStore } from '../../process/cluster-identity.js';
import { searchAttributeProblems } from '../../process/search-attributes.js';
import type { EngineReader } from './ports.js';

/** Shorter than the deadline of a check, so that no call is in progress when the connection is closed. */
const callMs = 10_000;
const notFound = 5;
const { NAMESPACE_STATE_REGISTERED } = proto.temporal.api.enums.v1.NamespaceState;

/**
 * Temporal for checks. `connected` rejects with the reason if the frontend is unreachable, which the errors of calls do
 * not contain.
 */
export function createEngineReader(
  client: Client,
  cluster: string,
  connected: () => Promise<void> = () => Promise.resolve(),
): EngineReader {
  const { connection, options, workflowService } = client;
  const { namespace } = options;
  const within = <T>(call: () => Promise<T>): Promise<T> => connection.withDeadline(Date.now() + callMs, call);
  return {
    serverVersion: async () => {
      await connected();
      return within(async () => (await workflowService.getSystemInfo({})).serverVersion);
    },
    namespace: () =>
      within(async () => {
        const found = await unlessNotFound(() => workflowService.describeNamespace({ namespace }));
        if (found === undefined) return undefined;
        return {
          isOpen: found.namespaceInfo?.state === NAMESPACE_STATE_REGISTERED,
          retentionMs: Number(found.config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1000,
        };
      }),
    searchAttributes: () =>
      within(async () => {
        const { missing, mistyped, isUnknown } = await searchAttributeProblems(connection, namespace);
        if (isUnknown === true) throw new Error('Temporal does not say which search attributes there are');
        return {
          missing: missing.map(({ name }) => name),
          mistyped: mistyped.map(({ key, found }) => ({ name: key.name, wanted: key.type, found })),
        };
      }),
    queues: () => within(() => observeQueues(client, cluster)),
    recordedUid: () => within(() => new TemporalClusterIdentityStore(client, cluster).read()),
  };
}

async function unlessNotFound<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isGrpcServiceError(error) && (error.code as number) === notFound) return undefined;
    throw error;
  }
}
