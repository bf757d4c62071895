import { hostname } from 'node:os';
import { pino } from 'pino';
import type { Logger } from 'pino';
import type { ActivityDeps } from '../activities/deps.js';
import { createClusterCache } from '../kube/cache.js';
import { createKubeClient } from '../kube/client.js';
import { createEventRecorder } from '../kube/events.js';
import type { Kind } from '../kube/port.js';
import { bufferKinds, optionalKinds, snapshotKinds } from '../kube/snapshot.js';
import { createCloud } from './cloud.js';
import { measuredCloud } from './measured-cloud.js';
import { createMetrics } from './metrics.js';
import { TemporalOfferingLedger } from './offering-ledger.js';
import { PackingPool } from './packing-pool.js';
import { packingSettings } from './packing-settings.js';
import { nominationMsOf } from './settings.js';
import type { Settings } from './settings.js';

/** Everything outside that worker and operator share, composed once for a process. */
export interface World extends ActivityDeps {
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly offerings: TemporalOfferingLedger;
  readonly identity: string;
  close(): Promise<void>;
}

export function createWorld(settings: Settings): World {
  const log = pino({ level: settings.LOG_LEVEL, base: undefined, timestamp: pino.stdTimeFunctions.isoTime });
  const metrics = createMetrics();
  const kube = createKubeClient({
    ...(settings.KUBECONFIG === undefined ? {} : { kubeconfig: settings.KUBECONFIG }),
    qps: settings.KUBE_CLIENT_QPS,
    burst: settings.KUBE_CLIENT_BURST,
  });
  const { unknown: unknownGates, ...gates } = settings.FEATURE_GATES;
  if (unknownGates.length > 0) log.warn({ gates: unknownGates }, 'FEATURE_GATES names gates that there are none of');
  const cloud = measuredCloud(createCloud(settings, kube, log), metrics, () => Date.now());
  const cache = createClusterCache({
    client: kube,
    kinds: [
      ...snapshotKinds,
      ...(gates.CapacityBuffer ? bufferKinds : []),
      'VolumeAttachment',
      cloud.nodeClassKind.kind as Kind,
    ],
    optional: optionalKinds,
    onConnectivity: ({ connected, error }) => {
      if (connected) log.info({ server: kube.server }, 'the API server answers again');
      else log.warn({ server: kube.server, error: String(error) }, 'the API server is unreachable, retrying');
    },
    onProblem: (kind, error) => log.warn({ kind, error: String(error) }, 'cannot watch a kind'),
  });
  const identity = `${hostname()}_${process.pid}`;
  const events = createEventRecorder({
    client: kube,
    instance: identity,
    onFailure: ({ reason }, error) => log.debug({ reason, error: String(error) }, 'could not publish an event'),
  });
  const offerings = new TemporalOfferingLedger(settings.CLUSTER_NAME, cloud, log, () => Date.now());
  const packer = new PackingPool(settings.PACKING_THREADS, log);
  return {
    settings,
    cluster: settings.CLUSTER_NAME,
    kube,
    cache,
    cloud,
    events,
    offerings,
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
    close: async () => {
      await Promise.race([events.idle(), new Promise((resolve) => setTimeout(resolve, 2000).unref())]);
      kube.close();
      await packer.close();
    },
  };
}
