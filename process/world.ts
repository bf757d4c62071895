import { messageOf } from '../core/error-message.js';
import { hostname } from 'node:os';
import { pino } from 'pino';
import type { Logger } from 'pino';
import type { ActivityDeps } from '../activities/deps.js';
import { createClusterCache } from '../kube/cache.js';
import { createKubeClient } from '../kube/client.js';
import { createEventRecorder } from '../kube/events.js';
import { Notifier, notifying } from './notifications/notifier.js';
import type { Kind } from '../kube/port.js';
import { bufferKinds, optionalKinds, snapshotKinds } from '../kube/snapshot.js';
import { createCloud } from './cloud.js';
import { TemporalEntities } from './entities.js';
import { faultReporter } from './faults.js';
import type { OnFault } from './faults.js';
import { IdentityGate } from './identity-gate.js';
import { KarpenterGate } from './karpenter-gate.js';
import { registerPackingGauges } from './gauges/packing.js';
import { measuredCloud } from './measured-cloud.js';
import { createMetrics } from './metrics.js';
import { logContext } from '../worker/log-context.js';
import { TemporalOfferingStore } from '../worker/offering-store.js';
import { PackingPool } from '../worker/packing-pool.js';
import { packingSettings } from './packing-settings.js';
import { karpenterLease, nominationMsOf } from './settings.js';
import type { Settings } from './settings.js';
import { isUrgent } from '../worker/urgency.js';

/** The external dependencies that worker and operator share, created once per process. */
export interface World extends ActivityDeps {
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly offerings: TemporalOfferingStore;
  readonly entities: TemporalEntities;
  readonly packer: PackingPool;
  readonly identity: string;
  /** All work must run inside its `whileFree`. */
  readonly karpenter: KarpenterGate;
  /** And inside its `whileOwn`. */
  readonly name: IdentityGate;
  readonly onFault: OnFault;
  close(): Promise<void>;
}

/** Log lines name their subject (worker/log-context.ts). */
function createLog({ LOG_LEVEL: level }: Settings): Logger {
  return pino({ level, base: undefined, timestamp: pino.stdTimeFunctions.isoTime, mixin: logContext });
}

/** Without `packs` no packing threads are started: only workers pack. */
export function createWorld(settings: Settings, { packs = true } = {}): World {
  const log = createLog(settings);
  const metrics = createMetrics();
  const kube = kubeClientOf(settings);
  const { unknown: unknownGates, ...gates } = settings.FEATURE_GATES;
  if (unknownGates.length > 0) log.warn({ gates: unknownGates }, 'FEATURE_GATES names unknown gates');
  const cloud = measuredCloud(createCloud(settings, kube, log), metrics, () => Date.now());
  const onFault = faultReporter(log, metrics);
  const cache = cacheOf({ kube, cloud, metrics, log, onFault, hasBuffers: gates.CapacityBuffer });
  const identity = `${hostname()}_${process.pid}`;
  const recorder = createEventRecorder({
    client: kube,
    instance: identity,
    onFailure: ({ reason }, error) => log.debug({ reason, error: messageOf(error) }, 'could not publish an event'),
  });
  const events = notifying(recorder, notifierOf(settings, log));
  const offerings = new TemporalOfferingStore(settings.CLUSTER_NAME, cloud, log, () => Date.now());
  const entities = new TemporalEntities(settings.CLUSTER_NAME);
  const karpenter = new KarpenterGate({ client: kube, lease: karpenterLease(settings), log, metrics });
  const packer = new PackingPool(packs ? settings.PACKING_THREADS : 0, log, metrics);
  registerPackingGauges(metrics.registry, () => packer.jobs);
  const name = new IdentityGate({
    ...{ client: kube, cluster: settings.CLUSTER_NAME, log },
    takesOverFrom: settings.CLUSTER_TAKES_OVER_FROM,
  });
  return {
    settings,
    cluster: settings.CLUSTER_NAME,
    kube,
    cache,
    cloud,
    events,
    offerings,
    entities,
    packer,
    packing: packingSettings(settings, cloud),
    gates,
    metrics,
    log,
    now: () => Date.now(),
    nominationMs: nominationMsOf(settings),
    nominatePods: settings.NOMINATE_PODS,
    steerPods: settings.STEER_PODS,
    identity,
    karpenter,
    name,
    onFault,
    close: async () => {
      await Promise.race([events.idle(), new Promise((resolve) => setTimeout(resolve, 2000).unref())]);
      kube.close();
      await packer.close();
    },
  };
}

/** Undefined if no webhook is configured. */
function notifierOf(settings: Settings, log: World['log']): Notifier | undefined {
  const { NOTIFY_URL: url, NOTIFY_SECRET_FILE: secretFile, CLUSTER_NAME: cluster } = settings;
  return url === undefined ? undefined : new Notifier({ cluster, url, secretFile, log });
}

/** The watch cache with the kinds that decisions read; logs when it cannot be current. */
function cacheOf({
  kube,
  cloud,
  metrics,
  log,
  onFault,
  hasBuffers,
}: Pick<World, 'cloud' | 'metrics' | 'log' | 'onFault'> & {
  readonly kube: ReturnType<typeof createKubeClient>;
  readonly hasBuffers: boolean;
}): World['cache'] {
  return createClusterCache({
    client: kube,
    kinds: [
      ...snapshotKinds,
      ...(hasBuffers ? bufferKinds : []),
      'VolumeAttachment',
      'DisruptionPause',
      cloud.nodeClassKind.kind as Kind,
    ],
    optional: optionalKinds,
    onConnectivity: ({ connected, error }) => {
      if (connected) log.info({ server: kube.server }, 'the API server answers again');
      else log.warn({ server: kube.server, error: messageOf(error) }, 'the API server is unreachable, retrying');
    },
    onProblem: (kind, error) => log.warn({ kind, error: messageOf(error) }, 'cannot watch a kind'),
    onFault: (kind, error) => onFault('change', error, { kind }),
    onSilentWatch: (kind) => {
      log.warn({ kind }, 'a watch missed changes: watching anew');
      metrics.count('stowage_watches_restarted_total', { kind });
    },
  });
}

function kubeClientOf(settings: Settings): ReturnType<typeof createKubeClient> {
  return createKubeClient({
    ...(settings.KUBECONFIG === undefined ? {} : { kubeconfig: settings.KUBECONFIG }),
    qps: settings.KUBE_CLIENT_QPS,
    burst: settings.KUBE_CLIENT_BURST,
    isUrgent,
  });
}
