import type { Pod } from '../../../api/kubernetes.js';
import { annotations } from '../../../api/labels.js';
import { whyNotCandidate, type NodeView } from '../../../disruption/candidates/candidates.js';
import {
  staticCounts,
  staticDriftRoom,
  staticPlan,
  type StaticContext,
} from '../../../disruption/static-capacity/static-capacity.js';
import { nodeClaim, nodePool } from '../../builders/activity-world.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';

const now = Date.parse('2026-01-02T00:00:00Z');
const at = '2026-01-01T00:00:00Z';
const none: StaticContext = { deleting: new Set(), claimed: new Set(), isReplaced: () => false };

interface Member {
  readonly pods?: readonly Pod[];
  readonly providerID?: string;
  readonly leaving?: boolean;
  readonly marked?: boolean;
}

function member(
  name: string,
  { pods = [], providerID = name, leaving = false, marked = false }: Member = {},
): NodeView {
  const base = nodeClaim(name, {
    status: { conditions: [{ type: 'Initialized', status: 'True', lastTransitionTime: at }], providerID },
  });
  return {
    claim: {
      ...base,
      metadata: { ...base.metadata, creationTimestamp: at, ...(leaving && { deletionTimestamp: at }) },
    },
    node: {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, ...(marked && { annotations: { [annotations.doNotDisrupt]: 'true' } }) },
    },
    pool: nodePool('default'),
    pods,
    pricePerHour: 1,
  };
}

const members = (count: number, options: Member = {}, prefix = 'n'): NodeView[] =>
  Array.from({ length: count }, (_, i) => member(`${prefix}${i}`, options));
const pod = (more: object = {}, deletionCost?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'p',
    namespace: 'default',
    ...(deletionCost !== undefined && { annotations: { [annotations.podDeletionCost]: deletionCost } }),
    ...more,
  },
  spec: { containers: [] },
  status: { phase: 'Running' },
});
const daemon = pod({
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }],
});
const poolOf = (replicas: number, nodes?: number) => ({
  spec: { ...nodePool('default').spec, replicas, ...(nodes !== undefined && { limits: { nodes: String(nodes) } }) },
});

const planned = (replicas: number, views: readonly NodeView[], nodes?: number) =>
  staticPlan(poolOf(replicas, nodes), staticCounts(views, none), now);
const creates = (expected: number, replicas: number, views: readonly NodeView[], nodes?: number): Check =>
  gives(() => planned(replicas, views, nodes).create, expected);
const removes = (expected: readonly string[], replicas: number, views: readonly NodeView[]): Check =>
  gives(
    () =>
      planned(replicas, views)
        .remove.map(({ claim }) => claim.metadata.name)
        .sort(),
    expected,
  );
const room = (expected: number, replicas: number, views: readonly NodeView[], nodes?: number): Check =>
  gives(() => Math.min(100, staticDriftRoom(poolOf(replicas, nodes), staticCounts(views, none))), expected);

const workflow = 'pools are kept by workflows/static-capacity, whose tests have it';
const helpers = "helpers of Karpenter's own code";

export const staticProvisioningCases: readonly ConformanceCase[] = about('static NodePool: creating nodes', [
  notApplicable([124, 142, 160, 174, 188, 394, 456, 527, 554], 'when claims are created, and their content', workflow),
  same(201, 'none with more nodes than replicas', creates(0, 2, members(3))),
  same(250, 'all without any node', creates(2, 2, [])),
  same(270, 'the missing ones with fewer nodes than replicas', creates(3, 5, members(2))),
  same(305, 'none with as many nodes as replicas', creates(0, 2, members(2))),
  same(356, 'none where limits.nodes is used up', creates(0, 10, members(5), 5)),
  same(441, 'none with 0 replicas', creates(0, 0, [])),
  same(512, 'many with many replicas', creates(1000, 1000, [])),
  notApplicable([610, 611, 612, 613, 614], 'which changes wake the controller', helpers),
]);

const empty = members(1, { pods: [daemon] }, 'empty');
const busy = members(2, { pods: [pod()] }, 'busy');
/** Two of each kind, from what goes first to what goes last. */
const ranked = [
  ...members(2, { pods: [daemon] }, 'a'),
  ...members(2, { pods: [pod({}, '-100')] }, 'b'),
  ...members(2, { pods: [pod({}, '100')] }, 'c'),
  ...members(2, { pods: [pod()], marked: true }, 'd'),
];

export const staticDeprovisioningCases: readonly ConformanceCase[] = about('static NodePool: removing nodes', [
  notApplicable([117, 151, 160, 385], 'when claims are deleted', workflow),
  same(197, 'none with no more nodes than replicas', removes([], 3, members(2))),
  same(
    235,
    'deleting nodes no longer count',
    removes(['n0'], 1, [...members(2), ...members(2, { leaving: true }, 'x')]),
  ),
  same(
    284,
    'the surplus with more nodes than replicas',
    gives(() => planned(2, members(4)).remove.length, 2),
  ),
  same(
    323,
    'all with 0 replicas',
    gives(() => planned(0, members(3)).remove.length, 3),
  ),
  same(369, 'none without nodes', removes([], 0, [])),
  same(
    438,
    'claims without an instance go first',
    removes(['late0'], 2, [...busy, ...members(1, { providerID: '', pods: [] }, 'late')]),
  ),
  same(513, 'then nodes with DaemonSet pods alone', removes(['empty0'], 2, [...busy, ...empty])),
  same(579, 'then other nodes where these are not enough', removes(['busy0', 'empty0'], 1, [...busy, ...empty])),
  same(763, 'eight to six: nodes with DaemonSet pods alone', removes(['a0', 'a1'], 6, ranked)),
  same(764, 'to four: those whose pods cost little', removes(['a0', 'a1', 'b0', 'b1'], 4, ranked)),
  same(765, 'to two: those whose pods cost much', removes(['a0', 'a1', 'b0', 'b1', 'c0', 'c1'], 2, ranked)),
  same(
    766,
    'to none: those marked do-not-disrupt last',
    removes(['a0', 'a1', 'b0', 'b1', 'c0', 'c1', 'd0', 'd1'], 0, ranked),
  ),
  notApplicable([772, 777], 'which changes wake the controller', helpers),
]);

const budgets =
  'budgets count for every reason alike; disruption/budgets/budgets.test.ts and apis/v1/nodepool_budgets_test.go have them';
const marked = member('n0', { marked: true });
export const staticDriftCases: readonly ConformanceCase[] = about('static NodePool: drift', [
  notApplicable([84, 143, 203, 670], 'budgets of static pools', budgets),
  same(367, 'none where limits.nodes leaves no room', room(0, 5, members(5), 5)),
  same(405, 'all where limits.nodes leaves room', room(5, 5, members(5), 10)),
  same([463, 521], 'some where limits.nodes leaves room for some', room(2, 5, members(5), 7)),
  same(578, 'surplus nodes are removed first', room(0, 5, members(7), 20)),
  same(826, 'with 0 replicas', room(100, 0, [])),
  same(838, 'all without limits.nodes', room(100, 5, members(5))),
  notApplicable(
    [876, 892],
    'nodes that have not drifted',
    'workflows/drift asks what has drifted, not the condition; disruption/drift/drift.test.ts has what that is',
  ),
  same(
    908,
    'a do-not-disrupt node stays',
    gives(
      () =>
        whyNotCandidate(
          marked,
          { now, claimed: none.claimed, nominated: none.claimed, podDisruptionBudgets: [] },
          'eventual',
        ),
      'the node is marked do-not-disrupt',
    ),
  ),
]);
