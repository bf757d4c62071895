import type { Pod } from '../../../api/kubernetes.js';
import { viewNodes } from '../../../packing/compile/nodes.js';
import { daemonSet } from '../../cases/objects.js';
import { awaitedNode } from '../../../cluster/awaited-nodes.js';
import { annotations } from '../../../api/labels.js';
import { packingInput } from '../../../cluster/packing-input.js';
import { managedPools } from '../../../cluster/cluster.js';
import { claim, storage, using } from '../scheduling/volumes.js';
import { plans } from '../plans.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { antiAffinity, likesAntiAffinity } from '../topology-terms.js';
import { omit, pod, type PodOptions } from '../world.js';
import { bound, changed, leaving, observed, roomy, type Observed } from './observed.js';

const driver = 'csi.example.com';
const ten = Array.from({ length: 10 }, (_, i) => i);
const names = async ({ deps }: Observed): Promise<readonly string[]> =>
  viewNodes((await packingInput(deps, managedPools(deps))).objects, undefined).map(({ name }) => name);

/** A node whose ten attachments are taken, with its claim or without. */
const full = (nodes = roomy('n', { allocatable: { cpu: '64' } })) => [
  storage('s'),
  ...nodes,
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: 'n' },
    spec: { drivers: [{ name: driver, nodeID: 'n', allocatable: { count: 10 } }] },
  },
  ...['more', ...ten].map((name) => claim(`c${name}`, { storageClassName: 's' })),
  ...ten.map((i) => bound(`p${i}`, using(`c${i}`))),
];
const anotherVersion = { metadata: { annotations: { changed: 'again' } } };
const claimAgain = (it: Observed): Promise<unknown> => it.kube.patch('NodeClaim', { name: 'n' }, anotherVersion);
const withoutClaim = (objects: ReturnType<typeof roomy>) => objects.filter(({ kind }) => kind === 'Node');

const volumeCases: readonly ConformanceCase[] = about('volumes in cluster state', [
  same(
    262,
    'of the pods of a Node',
    observed(false, async (it) => {
      await it.put(...full(withoutClaim(roomy('n', { allocatable: { cpu: '64' } }))));
      return it.takes('n', using('cmore'));
    }),
  ),
  same(
    283,
    'are kept when its claim changes',
    observed([false, false], async (it) => {
      await it.put(...full());
      const before = await it.takes('n', using('cmore'));
      await claimAgain(it);
      await it.synced();
      return [before, await it.takes('n', using('cmore'))];
    }),
  ),
  same(
    313,
    'attached already count once',
    observed(true, async (it) => {
      await it.put(...full());
      return it.takes('n', using('c5'));
    }),
  ),
]);

const port = (hostPort: number): PodOptions => ({ ports: [{ hostPort }] });
const occupied = () => [
  ...roomy('n', { allocatable: { cpu: '64' } }),
  ...ten.map((i) => bound(`p${i}`, port(8000 + i))),
];
const portCases: readonly ConformanceCase[] = about('host ports in cluster state', [
  same(
    354,
    'of the pods of a Node',
    observed(false, async (it) => {
      await it.put(...occupied());
      return it.takes('n', port(8005));
    }),
  ),
  same(
    377,
    'are kept when its claim changes',
    observed([false, false], async (it) => {
      await it.put(...occupied());
      const before = await it.takes('n', port(8005));
      await claimAgain(it);
      await it.synced();
      return [before, await it.takes('n', port(8005))];
    }),
  ),
  same(
    413,
    'of an updated pod do not conflict with itself',
    observed([false, true], async (it) => {
      await it.put(...occupied());
      await it.put(bound('p5', { ...port(8005), labels: { changed: 'again' } }));
      const taken = await it.takes('n', port(8005));
      await it.remove('Pod', 'p5');
      return [taken, await it.takes('n', port(8005))];
    }),
  ),
]);

const ended = (made: Pod, phase: string): Pod => ({ ...made, status: { phase } });
/** CPUs that are free on `n` after each step. */
const freeAfter = (expected: readonly number[], ...steps: readonly ((it: Observed) => unknown)[]): Check =>
  observed(expected, async (it) => {
    const free: number[] = [];
    for (const step of steps) {
      await step(it);
      free.push(await it.free('n'));
    }
    return free;
  });
const one = { cpu: '1500m' };
const two = { cpu: '2' };
/** Pods that pend and go elsewhere. */
const unbound = [pod('a', { ...one, nodeSelector: { x: 'y' } }), pod('b', { ...two, nodeSelector: { x: 'y' } })];
const amounts = [0.5, 1.5, 1, 2, 0.5, 1];

const requestCases: readonly ConformanceCase[] = about('requests in cluster state', [
  same(
    470,
    'of unbound pods take no room',
    freeAfter([4], (it) => it.put(...roomy(), ...unbound)),
  ),
  same(
    503,
    'take room when pods are bound',
    freeAfter(
      [4, 2.5, 0.5],
      (it) => it.put(...roomy(), ...unbound),
      (it) => it.put(bound('a', one)),
      (it) => it.put(bound('b', two)),
    ),
  ),
  same(
    543,
    'of pods seen before their Node count',
    freeAfter([0.5], (it) => it.put(bound('a', one), bound('b', two), ...roomy())),
  ),
  same(
    577,
    'are returned when pods are deleted',
    freeAfter(
      [0.5, 2.5, 4],
      (it) => it.put(...roomy(), bound('a', one), bound('b', two)),
      (it) => it.remove('Pod', 'b'),
      (it) => it.remove('Pod', 'a'),
    ),
  ),
  same(
    623,
    'of finished pods take no room',
    freeAfter([4], (it) => it.put(...roomy(), ended(bound('a', one), 'Failed'), ended(bound('b', two), 'Succeeded'))),
  ),
  same(
    662,
    'are gone with their Node',
    observed([2.5, ['n'], []], async (it) => {
      await it.put(...withoutClaim(roomy()), bound('a', one));
      const free = await it.free('n');
      const before = await names(it);
      await it.remove('Node', 'n');
      return [free, before, await names(it)];
    }),
  ),
  same(
    700,
    'follow a pod created anew elsewhere',
    observed(
      [
        [2.5, 8],
        [4, 3],
      ],
      async (it) => {
        await it.put(...roomy(), ...roomy('m', { allocatable: { cpu: '8' } }), bound('s', one));
        const before = [await it.free('n'), await it.free('m')];
        it.kube.remove('Pod', { name: 's', namespace: 'default' });
        await it.put({
          ...bound('s', { cpu: '5', nodeName: 'm' }),
          metadata: { ...bound('s').metadata, uid: 'pod-s-again' },
        });
        return [before, [await it.free('n'), await it.free('m')]];
      },
    ),
  ),
  same(
    774,
    'are right after many repeated pod events',
    freeAfter(
      [3.5, 2, 1, 2.5, 2, 1, 1.5, 3, 4],
      ...amounts.slice(0, 3).map((cpu, i) => async (it: Observed) => {
        for (let time = 0; time < 3; time++)
          await it.put(...(i === 0 ? roomy() : []), bound(`p${i}`, { cpu: `${cpu}` }));
      }),
      (it) => it.remove('Pod', 'p1'),
      ...[4, 5].map((i) => (it: Observed) => it.put(bound(`p${i}`, { cpu: `${amounts[i]!}` }))),
      ...[0, 4, 2]
        .map((i) => (it: Observed) => it.remove('Pod', `p${i}`))
        .map((step, i) =>
          i === 1
            ? async (it: Observed) => {
                await step(it);
                await it.remove('Pod', 'p5');
              }
            : step,
        ),
    ),
  ),
]);

const ofSet = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'ds-d', controller: true };
const agent = (name: string, cpu: string, options: PodOptions = {}) =>
  bound(name, {
    cpu,
    namespace: 'kube-system',
    ...options,
    metadata: { ownerReferences: [ofSet], ...options.metadata },
  });
const set = daemonSet('d', { cpu: '1' });
/** How many pods of a CPU a new node takes, which has 3.9. */
const onNew = async (it: Observed): Promise<number> =>
  (await it.plan(ten.slice(0, 3).map((i) => pod(`probe-${i}`, { cpu: '1' })))).newNodeClaims[0]?.pods.length ?? 0;
const large = (cpu: string) => agent('d-1', cpu, { nodeName: 'other' });

const daemonCases: readonly ConformanceCase[] = about('DaemonSets in cluster state', [
  same(
    841,
    'use the room reserved for them',
    freeAfter(
      [1.5, 1.5],
      (it) => it.put(set, ...roomy(), bound('a', one)),
      (it) => it.put(agent('d-1', '1')),
    ),
  ),
  same(
    1566,
    'without pods count by their template',
    observed(2, async (it) => {
      await it.put(set);
      return onNew(it);
    }),
  ),
  same(
    1577,
    'with a pod count by that',
    observed(1, async (it) => {
      await it.put(set, large('2'));
      return onNew(it);
    }),
  ),
  same(
    1605,
    'count by the newest pod',
    observed([1, 3], async (it) => {
      await it.put(set, large('2'));
      const before = await onNew(it);
      const metadata = { creationTimestamp: '2026-01-05T11:00:00Z' };
      await it.put(agent('d-2', '500m', { nodeName: 'other', metadata }));
      return [before, await onNew(it)];
    }),
  ),
  same(
    1654,
    'do not count once they are deleted',
    observed([1, 3], async (it) => {
      await it.put(set, large('2'));
      const before = await onNew(it);
      await it.remove('Pod', 'd-1');
      await it.remove('DaemonSet', 'd');
      return [before, await onNew(it)];
    }),
  ),
  same(
    1687,
    'ignore pods of other owners',
    observed(2, async (it) => {
      const others = ten.map((i) => bound(`o${i}`, { cpu: '2', nodeName: 'other', namespace: 'kube-system' }));
      await it.put(set, ...others);
      return onNew(it);
    }),
  ),
]);

const isOnItsWay = ({ deps }: Observed): boolean =>
  awaitedNode(deps, deps.cache.get('Pod', { name: 'p', namespace: 'default' })!) !== undefined;
/** Its claim was launched for pod `p` and is initialized now; the pod is nominated to its Node. */
async function nominated(it: Observed): Promise<void> {
  const at = new Date(it.clock.now).toISOString().replace('.000', '');
  const made = changed(roomy(), 'NodeClaim', ({ metadata, status }) => ({
    metadata: { ...metadata, annotations: { [annotations.plannedPods]: 'default/p' } },
    status: {
      ...status,
      conditions: [{ type: 'Initialized', status: 'True', reason: 'I', message: '', lastTransitionTime: at }],
    },
  }));
  const waiting: Pod = { ...pod('p'), status: { ...pod('p').status, nominatedNodeName: 'n' } };
  await it.put(...made, waiting);
}

const lifeCases: readonly ConformanceCase[] = about('nodes and claims in cluster state', [
  same(
    442,
    'of one name are one node, whichever is seen first',
    observed([['n'], ['n'], []], async (it) => {
      await it.put(...roomy());
      const both = await names(it);
      await it.remove('NodeClaim', 'n');
      const alone = await names(it);
      await it.remove('Node', 'n');
      return [both, alone, await names(it)];
    }),
  ),
  ...(
    [
      [918, 'Node', 'a Node'],
      [943, 'NodeClaim', 'a claim'],
    ] as const
  ).map(([at, kind, what]) =>
    same(
      at,
      `${what} that is being deleted takes no pods`,
      observed([true, false], async (it) => {
        await it.put(...roomy());
        const before = await it.takes('n');
        await it.put(...leaving(roomy(), kind));
        return [before, await it.takes('n')];
      }),
    ),
  ),
  same(
    998,
    'a nominated node is kept for twenty seconds (provisioning/nominated-nodes)',
    observed([true, true, false], async (it) => {
      await nominated(it);
      const now = isOnItsWay(it);
      it.clock.now += 10_000;
      const soon = isOnItsWay(it);
      it.clock.now += 11_000;
      return [now, soon, isOnItsWay(it)];
    }),
  ),
  same(
    1024,
    'are one though the instance is known later',
    observed([['n'], ['n']], async (it) => {
      const [own] = roomy();
      await it.put({ ...own!, spec: {} } as never);
      const before = await names(it);
      await it.put(own!);
      return [before, await names(it)];
    }),
  ),
]);

const lonely: PodOptions = { ...antiAffinity('x'), labels: { app: 'y' } };
const follower: PodOptions = { labels: { app: 'x' } };
/** Whether a pod of app `x` may go to a node where `pod` keeps others away, and after `pod` is gone. */
const kept = (expected: readonly boolean[], options: PodOptions): Check =>
  observed(expected, async (it) => {
    await it.put(...roomy(), bound('r', options));
    const before = await it.takes('n', follower);
    await it.remove('Pod', 'r');
    return [before, await it.takes('n', follower)];
  });
const affinityCases: readonly ConformanceCase[] = about('anti-affinity in cluster state', [
  same(1043, 'of running pods counts where it is required', kept([false, true], lonely)),
  same(
    1084,
    'does not count where it is preferred',
    kept([true, true], { ...likesAntiAffinity('x'), labels: { app: 'y' } }),
  ),
  same(1128, 'of a deleted pod does not count', kept([false, true], lonely)),
  same(
    1179,
    'of a pod whose node is gone does not count',
    plans({ objects: [bound('r', { ...lonely, nodeName: 'gone' }), pod('p', follower)] }, { nodes: 1 }),
  ),
]);

const times = 'times of single pods, which only metrics read that are not had (docs/metrics.md)';
const threads = 'nothing is changed while it is read: one thread owns the cache';

const taint = (key: string, effect = 'NoSchedule', value?: string) => ({ key, effect, ...(value && { value }) });
const ephemeral = [
  taint('node.kubernetes.io/not-ready'),
  taint('node.kubernetes.io/not-ready', 'NoExecute'),
  taint('node.kubernetes.io/unreachable'),
  taint('node.cloudprovider.kubernetes.io/uninitialized', 'NoSchedule', 'true'),
];
const startup = [taint('k', 'NoSchedule', 'v'), taint('k2', 'NoExecute', 'v2')];
/** Taints of the Node that pods are planned by. */
const taints = (expected: readonly object[], objects: ReturnType<typeof roomy>, given: readonly object[]): Check =>
  observed(expected, async (it) => {
    await it.put(...changed(objects, 'Node', ({ spec }) => ({ spec: { ...spec, taints: given } })));
    return viewNodes((await packingInput(it.deps, managedPools(it.deps))).objects, undefined)[0]?.taints;
  });
const starting = { initialized: false } as const;
const withStartup = (initialized: boolean) =>
  changed(roomy('n', { initialized }), 'NodeClaim', ({ spec }) => ({ spec: { ...spec, startupTaints: startup } }));
const unmanaged = (initialized: boolean) =>
  changed(withoutClaim(roomy('n', { initialized })), 'Node', ({ metadata }) => {
    const own = metadata as { readonly labels: object };
    return { metadata: { ...metadata, labels: omit(own.labels, 'karpenter.sh/nodepool' as never) } };
  });
const taintCases: readonly ConformanceCase[] = about('taints in cluster state', [
  same(1814, 'of the control plane are ignored while a node starts', taints([], roomy('n', starting), ephemeral)),
  same(
    1828,
    'of a readiness gate are ignored while a node starts',
    taints([], roomy('n', starting), [
      taint('readiness.k8s.io/some-rule'),
      taint('readiness.k8s.io/another-rule', 'NoExecute'),
    ]),
  ),
  same(1840, 'apply once it is initialized', taints(ephemeral, roomy(), ephemeral)),
  same(1866, 'startup taints are ignored while it starts', taints([], withStartup(false), startup)),
  same(1882, 'startup taints apply afterwards', taints(startup, withStartup(true), startup)),
  same(1907, 'all apply on a node without a NodePool', taints(ephemeral, unmanaged(false), ephemeral)),
  same(1926, 'all apply there at any time', taints(ephemeral, unmanaged(true), ephemeral)),
]);

/** What runs where, pkg/controllers/state/suite_test.go */
export const stateNodeCases: readonly ConformanceCase[] = [
  notApplicable([114, 121, 130, 145, 159, 171, 187, 204], 'when a pod was planned', times),
  ...volumeCases,
  ...portCases,
  ...lifeCases,
  ...requestCases,
  ...daemonCases,
  ...affinityCases,
  notApplicable([1749, 1772], 'reads beside writes', threads),
  ...taintCases,
];
