import type { LimiterClock } from '../../kube/limiter.js';
import type { KubeClient } from '../../kube/port.js';
import { karpenterLease, leaderLease, type Settings } from '../../process/settings.js';
import {
  type AccountOf,
  cloudCheck,
  cloudPermissionsCheck,
  credentialsCheck,
  launchCheck,
  queueCheck,
} from './account.js';
import {
  clusterAutoscalerCheck,
  definitionsCheck,
  karpenterCheck,
  kubernetesCheck,
  operatorCheck,
} from './kubernetes.js';
import { type Check, type CheckOutcome, type EngineReader, failed, okCheck, skipped, warning } from './check.js';
import { namespaceCheck, searchAttributesCheck, taskQueuesCheck, temporalCheck } from './engine.js';
import { permissionsCheck } from './permissions.js';
import { imagesCheck, nodeClassesCheck, nodeClassKinds, nodePoolsCheck } from './pools.js';
import { counted } from '../../core/text.js';
import { foreignName, kubeSystemUid } from '../../process/identity-gate.js';
import { labels } from '../../api/labels.js';

/** Karpenter's lease may be this far in the future. */
const noticeableMs = 5000;
/** A lease is held for at most a minute, and AWS refuses requests that are five minutes off. */
const wrongMs = 60_000;
/** Servers report their clock in whole seconds. */
const resolutionMs = 1000;

interface OtherClock {
  /** Such as `kubernetes`: the check's name is `clock-kubernetes`, and it depends on `needs`. */
  readonly of: string;
  readonly needs: string;
  /** Milliseconds since the epoch. */
  readonly time: () => Promise<number | undefined>;
}

/** Whether the local clock agrees with that of a server. */
export function clockCheck({ of, needs, time }: OtherClock, clock: Pick<LimiterClock, 'now'>): Check {
  return {
    name: `clock-${of}`,
    needs: [needs],
    unanswered: `see ${needs}, and the network`,
    run: async () => {
      const asked = clock.now();
      const other = await time();
      return other === undefined ? skipped('the answer names no time') : clockOutcome(of, asked, other, clock.now());
    },
  };
}

/**
 * `other` was read between `asked` and `answered`: only the difference beyond network latency and resolution counts.
 */
function clockOutcome(of: string, asked: number, other: number, answered: number): CheckOutcome {
  const ahead = asked - (other + resolutionMs);
  const behind = other - answered;
  const off = Math.max(ahead, behind, 0);
  if (off <= noticeableMs) return okCheck(`agrees with that of ${of}`);
  const found = `this clock is ${counted(Math.round(off / 1000), 'second')} ${ahead > 0 ? 'ahead of' : 'behind'} that of ${of}`;
  const mend = 'synchronise the clocks of the nodes (chrony, the Amazon Time Sync Service)';
  return off <= wrongMs ? warning(found, mend) : failed(found, mend);
}

interface Installation {
  readonly settings: Settings;
  readonly kube: Pick<KubeClient, 'get' | 'list' | 'create' | 'serverVersion' | 'serverTime'>;
  readonly engine: EngineReader;
  readonly accountOf: AccountOf;
  readonly clock: LimiterClock;
}

/** All checks of an installation, dependencies first. */
export function installationChecks(installation: Installation): readonly Check[] {
  return [...inKubernetes(installation), ...inTemporal(installation), ...inCloud(installation)];
}

function inKubernetes({ settings, kube, clock }: Installation): Check[] {
  const kind = nodeClassKinds[settings.CLOUD_PROVIDER];
  const own = leaderLease(settings);
  const lease = karpenterLease(settings);
  return [
    kubernetesCheck(kube),
    clockCheck({ of: 'kubernetes', needs: 'kubernetes', time: async () => kube.serverTime?.() }, clock),
    permissionsCheck(kube, {
      ...{ own: own.namespace, karpenterLease: lease },
      ...{ nominates: settings.NOMINATE_PODS, hasPage: settings.PAGE_PORT > 0 },
    }),
    definitionsCheck(kube),
    nodePoolsCheck(kube),
    nodeClassesCheck(kube, kind),
    imagesCheck(kube, kind),
    ...(settings.DISABLE_LEADER_ELECTION ? [] : [operatorCheck(kube, own, clock)]),
    karpenterCheck(kube, lease, clock),
    clusterAutoscalerCheck(kube, clock),
  ];
}

function inTemporal({ settings, kube, engine, clock }: Installation): Check[] {
  const { CLUSTER_NAME: cluster, TEMPORAL_NAMESPACE: namespace } = settings;
  return [
    temporalCheck(engine, settings.TEMPORAL_ADDRESS),
    namespaceCheck(engine, namespace),
    searchAttributesCheck(engine, namespace),
    clusterNameCheck(kube, engine, cluster),
    taskQueuesCheck(engine, clock),
  ];
}

function inCloud({ settings, kube, accountOf, clock }: Installation): Check[] {
  return [
    cloudCheck(accountOf),
    regionCheck(kube, settings.AWS_REGION),
    // A wrong clock is a possible cause of refused credentials.
    clockCheck({ of: 'cloud', needs: 'cloud', time: async () => accountOf()?.time() }, clock),
    credentialsCheck(accountOf),
    cloudPermissionsCheck(accountOf),
    ...(settings.DISABLE_DRY_RUN ? [] : [launchCheck(accountOf, kube)]),
    queueCheck(accountOf),
  ];
}

/**
 * Whether the cluster's name is recorded for this cluster in this Temporal namespace, as every process checks at start.
 */
export function clusterNameCheck(
  kube: Pick<KubeClient, 'get'>,
  engine: Pick<EngineReader, 'recordedUid'>,
  cluster: string,
): Check {
  return {
    name: 'cluster-name',
    needs: ['kubernetes', 'temporal-namespace'],
    unanswered: 'see permissions (namespaces) and temporal',
    run: async () => {
      const [own, recorded] = await Promise.all([kubeSystemUid(kube), engine.recordedUid()]);
      if (recorded === own) return okCheck(`${cluster} is this cluster`);
      if (recorded === undefined) {
        const mend = 'the first process that starts records it: see its /readyz?verbose';
        return warning(`no process has recorded yet which cluster ${cluster} is`, mend);
      }
      const { found, mend } = foreignName(cluster, own, recorded);
      return failed(found, mend);
    },
  };
}

/**
 * Whether instances are launched in the region of the cluster's nodes. Other checks may not notice a wrong region: it
 * may contain a queue, subnets and images with the same names and tags.
 */
export function regionCheck(kube: Pick<KubeClient, 'list'>, region: string | undefined): Check {
  return {
    name: 'cloud-region',
    needs: ['kubernetes', 'cloud'],
    unanswered: 'see permissions: nodes are read',
    run: async () => {
      const found = (await kube.list('Node')).flatMap(({ metadata }) => metadata.labels?.[labels.region] ?? []);
      return region === undefined ? skipped('no region is set') : regionOutcome(region, found);
    },
  };
}

function regionOutcome(region: string, found: readonly string[]): CheckOutcome {
  if (found.length === 0) return skipped('no node says in which region it is');
  const here = found.filter((each) => each === region).length;
  if (here > 0) return okCheck(`${region}, where ${counted(here, 'node')} of the cluster ${here === 1 ? 'is' : 'are'}`);
  return failed(
    `instances are launched in ${region}, and the nodes of the cluster are in ${[...new Set(found)].sort().join(', ')}`,
    'set AWS_REGION (cloud.region of the chart)',
  );
}
