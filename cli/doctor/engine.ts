import { type Client, isGrpcServiceError } from '@temporalio/client';
import proto from '@temporalio/proto';
import { counted } from '../../core/text.js';
import type { LimiterClock } from '../../kube/limiter.js';
import { inQueue } from '../../operator/stuck/findings.js';
import { type Check, type CheckOutcome, type EngineReader, failed, okCheck, someOf, warning } from './check.js';
import { oldestTemporal } from '../../process/engine-version.js';
import { isOlder, versionIn } from '../../core/versions.js';
import { observeQueues } from '../../operator/stuck/observe-engine.js';
import { TemporalClusterIdentityStore } from '../../process/cluster-identity.js';
import { searchAttributeProblems } from '../../process/search-attributes.js';

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

const unanswered = 'see temporal';
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Whether the frontend responds and has a supported version. */
export function temporalCheck(engine: Pick<EngineReader, 'serverVersion'>, address: string): Check {
  return {
    name: 'temporal',
    unanswered: `see TEMPORAL_ADDRESS (${address}), the TEMPORAL_TLS_ settings and the NetworkPolicy`,
    run: async () => {
      const version = await engine.serverVersion();
      const found = versionIn(version);
      if (found === undefined) return warning(`version "${version}", which cannot be compared`, unanswered);
      if (!isOlder(found, oldestTemporal)) return okCheck(`version ${version} at ${address}`);
      return failed(
        `version ${version}, older than ${oldestTemporal}`,
        `upgrade Temporal to ${oldestTemporal} or newer`,
      );
    },
  };
}

/** Whether the namespace exists, and keeps closed workflows long enough. */
export function namespaceCheck(engine: Pick<EngineReader, 'namespace'>, name: string): Check {
  return {
    name: 'temporal-namespace',
    needs: ['temporal'],
    unanswered: `see whether these credentials may use namespace ${name}`,
    run: async () => namespaceOutcome(name, await engine.namespace()),
  };
}

function namespaceOutcome(name: string, found: Awaited<ReturnType<EngineReader['namespace']>>): CheckOutcome {
  if (found === undefined) {
    return failed(
      `there is no namespace ${name}`,
      `temporal operator namespace create --namespace ${name} --retention 7d`,
    );
  }
  const { isOpen, retentionMs } = found;
  if (!isOpen)
    return failed(`namespace ${name} is deprecated or deleted`, 'set TEMPORAL_NAMESPACE to one that is in use');
  const hours = counted(retentionMs / hourMs, 'hour');
  if (retentionMs >= dayMs) return okCheck(`namespace ${name}, which keeps closed workflows for ${hours}`);
  return warning(
    `namespace ${name} keeps closed workflows for ${hours}: stowage report and the history of a node that is gone reach no further`,
    `temporal operator namespace update --namespace ${name} --retention 7d`,
  );
}

/** Whether every search attribute is registered with its type. */
export function searchAttributesCheck(engine: Pick<EngineReader, 'searchAttributes'>, namespace: string): Check {
  const create = (name: string, type: string): string =>
    `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type ${type}`;
  return {
    name: 'search-attributes',
    needs: ['temporal-namespace'],
    unanswered: 'see whether these credentials may list search attributes',
    run: async () => {
      const { missing, mistyped } = await engine.searchAttributes();
      const [wrong] = mistyped;
      if (wrong !== undefined) {
        const texts = mistyped.map(({ name, wanted, found }) => `${name} is ${found} and must be ${wanted}`);
        const rename = `temporal operator search-attribute remove --namespace ${namespace} --name ${wrong.name}`;
        return failed(someOf(texts), `${rename}, then start a process of Stowage, which registers it`);
      }
      if (missing.length === 0) return okCheck('registered with their types');
      return failed(
        `not registered: ${someOf(missing, 20)}`,
        `a process of Stowage registers them when it starts; where it may not: ${create('NAME', 'TYPE')}`,
      );
    },
  };
}

/** Whether a worker polls each task queue. */
export function taskQueuesCheck(engine: Pick<EngineReader, 'queues'>, clock: Pick<LimiterClock, 'now'>): Check {
  return {
    name: 'task-queues',
    needs: ['temporal-namespace'],
    unanswered,
    run: async () => {
      const queues = await engine.queues();
      const findings = queues.flatMap((queue) => inQueue(queue, clock.now()));
      const texts = findings.map(({ subject, why }) => `${subject}: ${why}`);
      const unpolled = findings.find(({ kind }) => kind === 'queue');
      if (unpolled !== undefined) return failed(someOf(texts, 10), unpolled.then);
      const [late] = findings;
      if (late !== undefined) return warning(someOf(texts, 10), late.then);
      return okCheck(`workers poll all ${counted(new Set(queues.map(({ name }) => name)).size, 'queue')}`);
    },
  };
}
