import { labels } from '../../../api/labels.js';
import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { foreign } from './claims.js';
import { podOn, runningNode } from './nodes.js';
import { addOther } from './pools.js';
import { running, second, startMs, type Running } from './stage.js';

const zero = { cpu: '0', memory: '0', pods: '0', 'ephemeral-storage': '0', nodes: '0' };
const small = { cpu: '100m', pods: '256', memory: '1Gi' };
const large = { cpu: '500m', pods: '1000', memory: '5Gi' };

const usage = (it: Running, name = 'default'): object | undefined => it.get('NodePool', name)?.status?.resources;
const count = (it: Running, name = 'default'): number | undefined => it.get('NodePool', name)?.status?.nodes;

/** A node of such capacity, by its claim and by itself. */
function holds(
  it: Running,
  name: string,
  capacity: object,
  pool = 'default',
  options: Parameters<typeof runningNode>[2] = {},
): void {
  runningNode(it, name, { ...options, claim: { labels: { [labels.nodePool]: pool } } });
  const claim = it.get('NodeClaim', name)!;
  it.kube.put('NodeClaim', { ...claim, status: { ...claim.status, capacity } } as never);
  if (options.withoutNode === true) return;
  const node = it.get('Node', name)!;
  it.kube.put('Node', {
    ...node,
    metadata: { ...node.metadata, labels: { ...node.metadata.labels, [labels.nodePool]: pool } },
    status: { ...node.status, capacity },
  } as never);
}
const drop = (it: Running, name: string): void => {
  for (const kind of ['Node', 'NodeClaim'] as const) it.kube.remove(kind, { name });
  it.cloud.kill(`fake:///a/i-${name}`);
};
const counts = (expected: unknown, result: (it: Running) => unknown, options: object = {}): Check =>
  running(
    expected,
    async (it) => {
      await it.pass(10 * second);
      return result(it);
    },
    options,
  );
const later = async (it: Running): Promise<void> => it.pass(10 * second);

const usageCases: readonly ConformanceCase[] = about('resources in the status of a NodePool', [
  same(
    119,
    'are not written for pools of another provider',
    counts(undefined, async (it) => {
      addOther(it, foreign);
      runningNode(it, 'n1', { spec: foreign, claim: { labels: { [labels.nodePool]: 'other' } } });
      await later(it);
      return usage(it, 'other');
    }),
  ),
  same(149, 'are 0 without claims', counts(zero, usage)),
  same(
    155,
    'count the claim until its node has capacity (limits/counted-capacity)',
    counts(
      [
        { ...zero, ...small, nodes: '1' },
        { ...zero, cpu: '1', pods: '512', memory: '2Gi', nodes: '1' },
      ],
      async (it) => {
        holds(it, 'n1', small, 'default', { withoutNode: true, conditions: ['Launched', 'Registered'] });
        await later(it);
        const first = usage(it);
        drop(it, 'n1');
        holds(it, 'n1', { cpu: '1', pods: '512', memory: '2Gi' });
        await it.kube.patch('NodeClaim', { name: 'n1' }, { status: { capacity: small } }, { subresource: 'status' });
        await later(it);
        return [first, usage(it)];
      },
    ),
  ),
  same(
    191,
    'grow with a new node',
    counts({ ...zero, ...small, nodes: '1' }, async (it) => {
      holds(it, 'n1', small);
      await later(it);
      return usage(it);
    }),
  ),
  same(
    207,
    'shrink with a removed node',
    counts(
      [
        { ...zero, cpu: '600m', pods: '1256', memory: '6Gi', nodes: '2' },
        { ...zero, ...large, nodes: '1' },
      ],
      async (it) => {
        holds(it, 'n1', small);
        holds(it, 'n2', large);
        await later(it);
        const both = usage(it);
        drop(it, 'n1');
        await later(it);
        return [both, usage(it)];
      },
    ),
  ),
  same(
    240,
    'are 0 without nodes',
    counts(zero, async (it) => {
      holds(it, 'n1', small);
      await later(it);
      drop(it, 'n1');
      await later(it);
      return usage(it);
    }),
  ),
]);

const countCases: readonly ConformanceCase[] = about('nodes in the status of a NodePool', [
  same(267, 'are 0 without any', counts(0, count)),
  same(
    274,
    'are two with two',
    counts(2, async (it) => {
      for (const name of ['n1', 'n2']) holds(it, name, small);
      await later(it);
      return count(it);
    }),
  ),
  same(
    284,
    'follow nodes that are added and removed',
    counts([0, 1, 2, 1, 0], async (it) => {
      const counts = [count(it)];
      for (const change of [
        () => holds(it, 'n1', small),
        () => holds(it, 'n2', small),
        () => drop(it, 'n1'),
        () => drop(it, 'n2'),
      ]) {
        change();
        await later(it);
        counts.push(count(it));
      }
      return counts;
    }),
  ),
  same(
    321,
    'are those of each pool',
    counts([1, 2], async (it) => {
      addOther(it, { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } });
      holds(it, 'n1', small);
      for (const name of ['n2', 'n3']) holds(it, name, { cpu: '300m' }, 'other');
      await later(it);
      return [count(it), count(it, 'other')];
    }),
  ),
  same(
    377,
    'of a static pool are those that exist',
    counts(
      [2, 3],
      async (it) => {
        for (const name of ['n1', 'n2']) holds(it, name, { cpu: '300m' });
        await later(it);
        return [count(it), it.get('NodePool', 'default')?.spec.replicas];
      },
      { pool: { replicas: 3 }, prepare: ({ cloud }: Running) => void cloud.hold('launch') },
    ),
  ),
]);

/** pkg/controllers/nodepool/counter/suite_test.go */
export const counterCases: readonly ConformanceCase[] = [...usageCases, ...countCases];

const at = (it: Running, name = 'n1'): number =>
  (Date.parse(it.get('NodeClaim', name)?.status?.lastPodEventTime ?? '') - startMs) / second;

/** A pod that pended is bound to `n1`. */
function bind(it: Running, name: string): void {
  podOn(it, name, { spec: { nodeName: '' }, phase: 'Pending' });
  podOn(it, name);
}

/** pkg/controllers/nodeclaim/podevents/suite_test.go */
export const podEventCases: readonly ConformanceCase[] = about('lastPodEventTime of a claim', [
  same(
    98,
    'is set when a pod is bound',
    running(true, async (it) => {
      runningNode(it);
      await it.pass(5 * second);
      bind(it, 'web');
      await it.pass(2 * second);
      return at(it) >= 6 && at(it) <= 8;
    }),
  ),
  same(
    106,
    'is not set without the Node',
    running(undefined, async (it) => {
      runningNode(it, 'n1', { withoutNode: true });
      bind(it, 'web');
      await it.pass(5 * second);
      return it.get('NodeClaim', 'n1')?.status?.lastPodEventTime;
    }),
  ),
  same(
    113,
    'is not needed for a Node without a claim',
    running(undefined, async (it) => {
      runningNode(it, 'n1', { withoutClaim: true });
      bind(it, 'web');
      await it.pass(5 * second);
      return it.get('NodeClaim', 'n1');
    }),
  ),
  same(
    117,
    'is that of the last pod event',
    running(true, async (it) => {
      runningNode(it);
      const claim = it.get('NodeClaim', 'n1')!;
      it.kube.put('NodeClaim', { ...claim, status: { ...claim.status, lastPodEventTime: '2026-01-05T11:55:00Z' } });
      await it.pass(5 * second);
      bind(it, 'web');
      await it.pass(2 * second);
      return at(it) >= 6;
    }),
  ),
  same(
    126,
    'is written once within ten seconds',
    running([true, true], async (it) => {
      runningNode(it);
      await it.pass(second);
      bind(it, 'a');
      await it.pass(2 * second);
      const first = at(it);
      bind(it, 'b');
      await it.pass(5 * second);
      const later_ = at(it);
      await it.pass(7 * second);
      bind(it, 'c');
      await it.pass(12 * second);
      return [first === later_, at(it) > first];
    }),
  ),
]);
