import type { Condition, Node, Pod, PodDisruptionBudget } from '../../../api/kubernetes.js';
import type { NodePool } from '../../../api/karpenter/node-pool.js';
import { annotations, labels } from '../../../api/labels.js';
import { allowance } from '../../../disruption/budgets/budgets.js';
import { evictionCost, type NodeView, whyNotCandidate } from '../../../disruption/candidates/candidates.js';
import { countPools } from '../../../disruption/budgets/pool-counts.js';
import { nodeClaim, nodePool } from '../../builders/activity-world.js';
import { about, type Check, type ConformanceCase, gives, notApplicable, same } from '../conformance-case.js';

const now = Date.parse('2026-01-02T00:00:00Z');
const at = new Date(now - 3_600_000).toISOString();
const condition = (type: string, status: 'True' | 'False' = 'True'): Condition => ({
  type,
  status,
  lastTransitionTime: at,
});
const marked = (value = 'true') => ({ annotations: { [annotations.doNotDisrupt]: value } });

interface Options {
  readonly pods?: readonly Pod[];
  readonly graceful?: boolean;
  readonly pool?: NodePool | null;
  readonly node?: Partial<Node['metadata']> | null;
  readonly ready?: boolean;
  readonly claim?: object;
  readonly conditions?: readonly Condition[];
}

function view(options: Options = {}, name = 'n'): NodeView {
  const { pods = [], graceful = false, pool, node = {}, ready = true, claim = {}, conditions } = options;
  const base = nodeClaim(name, {
    status: { conditions: [...(conditions ?? [condition('Initialized')])], providerID: name },
    spec: graceful ? { terminationGracePeriod: '5m' } : {},
  });
  return {
    claim: { ...base, metadata: { ...base.metadata, ...claim } },
    ...(node !== null && {
      node: {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, ...node },
        status: { conditions: [condition('Ready', ready ? 'True' : 'False')] },
      },
    }),
    ...(pool !== null && { pool: pool ?? nodePool('default') }),
    pods,
    pricePerHour: 1,
  };
}

function pod(metadata: object = {}, more: { spec?: object; status?: object } = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'default', labels: { app: 'x' }, ...metadata },
    spec: { nodeName: 'n', containers: [], ...more.spec },
    status: { phase: 'Running', startTime: at, ...more.status },
  };
}

const owned = (kind: string) => ({
  ownerReferences: [{ apiVersion: 'v1', kind, name: 'o', uid: 'o', controller: true }],
});
const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' }, ...owned('Node') };
const blocking = (name = 'b'): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'x' } }, maxUnavailable: 0 },
  status: { disruptionsAllowed: 0 },
});

interface Asked extends Options {
  readonly budgets?: readonly PodDisruptionBudget[];
  readonly eventual?: boolean;
  readonly claimed?: boolean;
  readonly nominated?: boolean;
}

const candidate = (expected: boolean, asked: Asked = {}): Check =>
  gives(() => {
    const context = {
      now,
      claimed: new Set(asked.claimed === true ? ['uid-n'] : []),
      nominated: new Set(asked.nominated === true ? ['n'] : []),
      podDisruptionBudgets: asked.budgets ?? [],
    };
    return whyNotCandidate(view(asked), context, asked.eventual === true ? 'eventual' : 'graceful') === undefined;
  }, expected);
/** Whether a node with this pod may be taken. */
export const candidateWith = (one: Pod, expected: boolean): Check => candidate(expected, { pods: [one] });
const protectedPods = { pods: [pod(marked())] };
const boundPods = { pods: [pod()], budgets: [blocking()] };
const leaving = { deletionTimestamp: at };
const ended = { status: { phase: 'Succeeded' } };

/** How many of ten nodes may go, with some of them changed. */
const mayGo = (expected: number, changed: readonly NodeView[], budget = '100%'): Check =>
  gives(() => {
    const ten = Array.from({ length: 10 }, (_, i) => view({}, `n${i}`));
    const all = [...changed, ...ten.slice(0, 10 - Math.min(changed.length, 10))];
    const count = countPools(all, new Set()).get('default') ?? { total: 0, disrupting: 0 };
    return allowance([{ nodes: budget }], 'Empty', count, now).allowed;
  }, expected);
const besides = (expected: number, changed: readonly NodeView[]): Check =>
  gives(() => {
    const all = [...changed, ...Array.from({ length: 10 }, (_, i) => view({}, `n${i}`))];
    const count = countPools(all, new Set()).get('default') ?? { total: 0, disrupting: 0 };
    return allowance([{ nodes: '100%' }], 'Empty', count, now).allowed;
  }, expected);
const several = (count: number, options: Options): NodeView[] =>
  Array.from({ length: count }, (_, i) => view(options, `c${i}`));
const cost = (priority?: number, deletionCost?: string): number =>
  evictionCost(
    pod(deletionCost === undefined ? {} : { annotations: { [annotations.podDeletionCost]: deletionCost } }, {
      spec: priority === undefined ? {} : { priority },
    }),
  );
const costs = (outcome: () => boolean): Check => gives(outcome, true);

const runs = 'a disruption that runs is a workflow; test/workflow and test/integration have it';
const metric = 'a metric';

export const disruptionCases: readonly ConformanceCase[] = about('candidates for disruption', [
  notApplicable([194, 259, 374, 469], 'replacements one after the other, and pods of nodes that go', runs),
  notApplicable([598, 625], 'taints that a disruption left behind', runs),
  notApplicable(711, 'unmanaged nodes do not count', 'only nodes with a NodeClaim are looked at'),
  same(
    724,
    'uninitialized nodes do not count for budgets',
    besides(10, several(1, { conditions: [condition('Initialized', 'False')] })),
  ),
  same(
    755,
    'nodes with a terminating instance do not count for budgets',
    besides(10, several(1, { conditions: [condition('Initialized'), condition('InstanceTerminating')] })),
  ),
  same(787, 'budgets never allow fewer than 0', mayGo(0, several(10, { claim: leaving }), '10%')),
  same(808, 'deleting nodes use up budgets', mayGo(8, several(2, { claim: leaving }))),
  same(832, 'NotReady nodes use up budgets', mayGo(8, several(2, { ready: false }))),
  same(
    857,
    'an ordinary pod has disruption cost 1',
    gives(() => cost(), 1),
  ),
  same(
    861,
    'a positive pod-deletion-cost raises the disruption cost',
    costs(() => cost(undefined, '100') > 1),
  ),
  same(
    869,
    'a negative pod-deletion-cost lowers the disruption cost',
    costs(() => cost(undefined, '-100') < 1),
  ),
  same(
    877,
    'the higher the pod-deletion-cost the higher the disruption cost',
    costs(() => cost(undefined, '101') > cost(undefined, '100') && cost(undefined, '100') > cost(undefined, '99')),
  ),
  same(
    896,
    'a higher priority raises the disruption cost',
    costs(() => cost(1) > 1),
  ),
  same(
    902,
    'a lower priority lowers the disruption cost',
    costs(() => cost(-1) < 1),
  ),
  same([929, 1493], 'a do-not-disrupt pod excludes its node', candidate(false, protectedPods)),
  same(
    957,
    'a do-not-disrupt mirror pod',
    candidate(false, { pods: [pod({ ...mirror, annotations: { ...mirror.annotations, ...marked().annotations } })] }),
  ),
  same(
    995,
    'a do-not-disrupt DaemonSet pod',
    candidate(false, { pods: [pod({ ...owned('DaemonSet'), ...marked() })] }),
  ),
  same(
    1034,
    'a do-not-disrupt pod does not prevent drift with a terminationGracePeriod',
    candidate(true, { ...protectedPods, graceful: true, eventual: true }),
  ),
  same(
    1063,
    'a PodDisruptionBudget does not prevent drift with a terminationGracePeriod',
    candidate(true, { ...boundPods, graceful: true, eventual: true }),
  ),
  same(
    1095,
    'a do-not-disrupt pod prevents consolidation with a terminationGracePeriod',
    candidate(false, { ...protectedPods, graceful: true }),
  ),
  same(
    1124,
    'a PodDisruptionBudget prevents consolidation with a terminationGracePeriod',
    candidate(false, { ...boundPods, graceful: true }),
  ),
  same(
    1160,
    'a do-not-disrupt pod without a terminationGracePeriod',
    candidate(false, { ...protectedPods, eventual: true }),
  ),
  same(
    1188,
    'a PodDisruptionBudget without a terminationGracePeriod',
    candidate(false, { ...boundPods, eventual: true }),
  ),
  same(
    1223,
    'a terminating do-not-disrupt pod does not count',
    candidate(true, { pods: [pod({ ...marked(), ...leaving })] }),
  ),
  same(1253, 'a finished do-not-disrupt pod does not count', candidate(true, { pods: [pod(marked(), ended)] })),
  same(1291, 'a do-not-disrupt node is none', candidate(false, { node: { name: 'n', ...marked() } })),
  same(
    1314,
    'a pod under two PodDisruptionBudgets',
    candidate(false, { pods: [pod()], budgets: [blocking('a'), blocking('b')] }),
  ),
  same([1364, 1524], 'a pod under a PodDisruptionBudget that allows none', candidate(false, boundPods)),
  same(
    1400,
    'a DaemonSet pod under a PodDisruptionBudget that allows none',
    candidate(false, { ...boundPods, pods: [pod(owned('DaemonSet'))] }),
  ),
  same(
    1447,
    'a mirror pod under a PodDisruptionBudget that allows none',
    candidate(true, { ...boundPods, pods: [pod(mirror)] }),
  ),
  same(
    1558,
    'a finished pod under a PodDisruptionBudget that allows none',
    candidate(true, { ...boundPods, pods: [pod({}, ended)] }),
  ),
  same(
    1602,
    'a terminating pod under a PodDisruptionBudget that allows none',
    candidate(true, { ...boundPods, pods: [pod(leaving)] }),
  ),
  notApplicable(1640, 'a node without a claim', 'only nodes with a NodeClaim are looked at'),
  same(1659, 'a claim without a node is none', candidate(false, { node: null })),
  same(1678, 'a nominated node is none', candidate(false, { nominated: true })),
  same([1699, 1721], 'a deleting node is none', candidate(false, { claim: leaving })),
  same(1742, 'an uninitialized node is none', candidate(false, { conditions: [condition('Initialized', 'False')] })),
  same(1762, 'a node without a NodePool is none', candidate(false, { claim: { labels: {} } })),
  same(1781, 'a node of a missing NodePool is none', candidate(false, { pool: null })),
  same(
    [1805, 1822, 1839, 1856],
    'unknown labels and types do not matter',
    candidate(true, { claim: { labels: { [labels.nodePool]: 'default' } } }),
  ),
  same(1877, 'a node of a running disruption is none', candidate(false, { claimed: true })),
  notApplicable([1941, 1961, 1991, 2019, 2038, 2079], 'metrics of disruptions', metric),
]);

const beside = (name: string, value: string): Pod => pod({ name, ...marked(value) });
const rollouts =
  'what drifted nodes are replaced with, and when, is the affair of workflows/drift, whose tests have it';

/** drift_test.go: whether a drifted node may be taken. */
export const driftCases: readonly ConformanceCase[] = about('candidates for drift', [
  notApplicable(79, 'how many nodes have drifted', metric),
  notApplicable(
    [121, 159, 232],
    'budgets',
    'budgets count for every reason alike; apis/v1/nodepool_budgets_test.go has them',
  ),
  notApplicable(
    [345, 703, 752, 809, 830, 899, 920, 968, 1052, 1129],
    'replacements of drifted nodes, and their order',
    rollouts,
  ),
  notApplicable(
    [404, 416],
    'the condition Drifted',
    'workflows/drift asks what has drifted; disruption/drift/drift.test.ts has what that is',
  ),
  same(428, 'a do-not-disrupt node is none', candidate(false, { eventual: true, node: { name: 'n', ...marked() } })),
  same(
    442,
    'a node with do-not-disrupt false is one',
    candidate(true, { eventual: true, node: { name: 'n', ...marked('false') } }),
  ),
  same(500, 'a node with a do-not-disrupt pod is none', candidate(false, { ...protectedPods, eventual: true })),
  same(
    521,
    'a node with a do-not-disrupt pod and a terminationGracePeriod is one',
    candidate(true, { ...protectedPods, graceful: true, eventual: true }),
  ),
  same(
    543,
    'a node with a PodDisruptionBudget and a terminationGracePeriod is one',
    candidate(true, { ...boundPods, graceful: true, eventual: true }),
  ),
  same(569, 'a do-not-disrupt pod with a duration', candidate(false, { eventual: true, pods: [beside('p', '2h')] })),
  same(
    599,
    'a do-not-disrupt pod with an invalid value',
    candidate(true, { eventual: true, pods: [beside('p', 'soon')] }),
  ),
  same(
    656,
    'the longest do-not-disrupt duration of several pods',
    candidate(false, { eventual: true, pods: [beside('p', '30m'), beside('q', '2h')] }),
  ),
  same(
    [],
    'once all durations are over',
    candidate(true, { eventual: true, pods: [beside('p', '30m'), beside('q', '50m')] }),
  ),
]);
