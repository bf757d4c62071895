import { nodePools } from '../../../api/karpenter/node-pool.js';
import { parseCatalogue } from '../../../cloud/kwok/catalogue.js';
import { kwokOverhead } from '../../../cloud/kwok/provider.js';
import { kwokCatalogue } from '../../cases/kwok.js';
import type { Random } from '../../cases/random.js';
import { createClusterCache } from '../../../kube/cache.js';
import type { ClusterCache } from '../../../kube/port.js';
import { FakeCloud } from '../cloud/fake.js';
import { createFakeKube } from '../kube/fake.js';
import type { FakeKube } from '../kube/fake.js';
import { Kubelets } from '../scale-down/kubelets.js';
import { Scheduler } from '../scale-down/scheduler.js';
import { Machines } from './machines.js';
import type { MachineTimes } from './machines.js';
import { NodeLifecycle } from './node-lifecycle.js';
import { PodLives } from './pod-lives.js';

/** A cluster and its cloud, without any autoscaler. */
export interface SimulatedCluster {
  readonly kube: FakeKube;
  readonly cloud: FakeCloud;
  readonly machines: Machines;
  readonly scheduler: Scheduler;
  /** What kube-scheduler, kubelets and controllers see. */
  readonly cache: ClusterCache;
  /** Keeps the state of the API server. What is returned brings it back, and has all but Stowage go on from there. */
  readonly backup: () => () => void;
  readonly stop: () => void;
}

const calmTimes: MachineTimes = {
  joinMs: { from: 20_000, to: 60_000 },
  readyMs: { from: 2000, to: 15_000 },
  endsMs: { from: 2000, to: 90_000 },
  neverJoins: 0,
};
const clusterKinds = [
  'Pod',
  'Node',
  'NodeClaim',
  'NodePool',
  'ReplicaSet',
  'PodDisruptionBudget',
  'DisruptionPolicy',
] as const;
/** Types of up to this many CPUs: enough for choice, few enough to plan quickly. */
export const mostCpus = 16;

export async function createCluster(
  random: Random,
  { onCall, times = calmTimes }: { readonly onCall: () => void; readonly times?: MachineTimes },
): Promise<SimulatedCluster> {
  const now = (): number => Date.now();
  const kube = counting(createFakeKube({ now, podsTerminate: 'on-request', sharesReads: true }), onCall);
  const entries = kwokCatalogue().filter(
    ({ architecture, resources }) => architecture === 'amd64' && Number(resources['cpu']) <= mostCpus,
  );
  const types = parseCatalogue(JSON.stringify(entries), { overhead: kwokOverhead });
  const cloud = new FakeCloud({ types, now, terminatesAtOnce: false });
  const machines = new Machines(kube, cloud, random, times);
  const stopping = new AbortController();
  const cache = createClusterCache({
    client: relisting(kube),
    kinds: [...clusterKinds],
    random: () => random.next(),
    // Its connection never breaks.
    probe: { silentMs: 2 ** 31 - 1 },
    tickMs: 2 ** 31 - 1,
  });
  await cache.start(stopping.signal);
  const clock = {
    get now() {
      return Date.now();
    },
    sleep: (milliseconds: number) => new Promise<void>((resolve) => void setTimeout(resolve, milliseconds)),
  };
  const parts = { kube, cache, clock, random };
  new PodLives({ ...parts, isAway: (nodeName) => machines.isAway(nodeName) });
  new NodeLifecycle(kube, cache);
  const scheduler = new Scheduler(parts);
  void scheduler.follow();
  void new Kubelets(parts).follow();
  const backup = (): (() => void) => {
    const bringBack = kube.snapshot();
    return () => {
      bringBack();
      machines.catchUp();
    };
  };
  return { kube, cloud, machines, scheduler, cache, backup, stop: () => stopping.abort() };
}

/** The least that a NodePool's template says. */
export const template = {
  requirements: [],
  nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
};

/** A NodePool as its API server keeps it, and the node class that it refers to. */
export function addPool(kube: FakeKube, name: string, spec: object, uid = `pool-${name}`): void {
  const made = nodePools.mustParse({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name, uid, generation: 1 },
    spec: {
      template: { spec: template },
      ...spec,
    },
  });
  kube.put('NodePool', made);
  if (kube.kept('EC2NodeClass').length === 0) addNodeClass(kube, 'class-default');
}

/** The node class of all NodePools, in place of one that is there: of that even finalizers are taken off. */
export function addNodeClass(kube: FakeKube, uid: string): void {
  kube.remove('EC2NodeClass', { name: 'default' });
  kube.put('EC2NodeClass', { metadata: { name: 'default', uid, generation: 1 }, spec: {} } as never);
}

/** A watch of it that ends is begun with a new list: the cluster's own controllers miss nothing that is restored. */
function relisting(kube: FakeKube): FakeKube {
  const watch: FakeKube['watch'] = async (...args) => {
    await kube.watch(...args);
    return 'expired';
  };
  return { ...kube, watch };
}

/** The same API server, saying that something happens there. */
function counting(kube: FakeKube, onCall: () => void): FakeKube {
  const counted = <K extends keyof FakeKube>(name: K): FakeKube[K] => {
    const method = kube[name] as (...args: unknown[]) => unknown;
    return ((...args: unknown[]) => {
      onCall();
      return method(...args);
    }) as FakeKube[K];
  };
  return {
    ...kube,
    create: counted('create'),
    patch: counted('patch'),
    put: counted('put'),
    evict: counted('evict'),
    delete: counted('delete'),
    remove: counted('remove'),
    finishTermination: counted('finishTermination'),
    get: counted('get'),
    listForWatch: counted('listForWatch'),
  };
}
