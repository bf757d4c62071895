import { annotations, taints } from '../../../../api/labels.js';
import { isTrue } from '../../../../core/conditions.js';
import { workflowIds } from '../../../../core/ids.js';
import { clusterName } from '../process.js';
import { listed, minuteMs, pickOr } from './happening.js';
import { refOf } from '../../kube/fake-storage.js';
import type { Stage } from '../stage.js';
import { giveOrder, hold, sendNonsense } from './orders.js';

/** What people do by hand. */
export const peopleHappenings = listed([
  {
    name: 'a workflow is terminated by hand',
    weight: 2,
    happens: ({ random, temporal }) => {
      const open = [...temporal.all].filter((run) => run.isOpen && run.id !== workflowIds.offerings(clusterName));
      const run = pickOr(random, open);
      if (run !== undefined) temporal.terminate(run);
    },
  },
  {
    name: 'a NodeClaim is deleted by hand',
    weight: 2,
    happens: ({ random, cluster: { kube } }) => {
      const claim = pickOr(random, kube.kept('NodeClaim'));
      if (claim !== undefined) void kube.delete('NodeClaim', { name: claim.metadata.name ?? '' });
    },
  },
  {
    name: 'a NodeClaim is deleted by hand before its node is ready',
    weight: 2,
    happens: ({ random, cluster: { kube } }) => {
      const young = kube.kept('NodeClaim').filter(({ status }) => !isTrue(status?.conditions, 'Initialized'));
      const claim = pickOr(random, young);
      if (claim !== undefined) void kube.delete('NodeClaim', { name: claim.metadata.name ?? '' });
    },
  },
  {
    name: 'a Node is cordoned, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { kube } }) => {
      const name = pickOr(random, kube.kept('Node'))?.metadata.name;
      if (name === undefined) return;
      void kube.patch('Node', { name }, { spec: { unschedulable: true } });
      later(random.int(1, 30) * minuteMs, () => void kube.patch('Node', { name }, { spec: { unschedulable: null } }));
    },
  },
  {
    name: 'the taint of a disruption is taken off by hand',
    weight: 1,
    happens: ({ random, cluster: { kube } }) => {
      const isMark = ({ key }: { readonly key: string }): boolean => key === taints.disrupted.key;
      const node = pickOr(
        random,
        kube.kept('Node').filter(({ spec }) => spec?.taints?.some(isMark)),
      );
      if (node === undefined) return;
      const others = (node.spec?.taints ?? []).filter((taint) => !isMark(taint));
      void kube.patch('Node', refOf(node), { spec: { taints: others } });
    },
  },
  {
    name: 'a Node must not be disrupted, for some minutes',
    weight: 1,
    happens: ({ random, later, cluster: { kube } }) => {
      const name = pickOr(random, kube.kept('Node'))?.metadata.name;
      if (name === undefined) return;
      const annotate = (value: string | null): void =>
        void kube.patch('Node', { name }, { metadata: { annotations: { [annotations.doNotDisrupt]: value } } });
      annotate('true');
      later(random.int(1, 30) * minuteMs, () => annotate(null));
    },
  },
  {
    name: 'a NodePool, a node or a reason is paused, for some minutes',
    weight: 2,
    happens: (stage) => pauseSome(stage),
  },
  {
    name: 'a Node is deleted by hand',
    weight: 2,
    happens: ({ random, cluster: { kube } }) => {
      const node = pickOr(random, kube.kept('Node'));
      if (node !== undefined) void kube.delete('Node', { name: node.metadata.name ?? '' });
    },
  },
  {
    name: 'disruption is paused, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { kube } }) => {
      const name = `pause-${random.int(0, 2 ** 31)}`;
      void kube.create('DisruptionPause', {
        metadata: { name },
        spec: { scope: { kind: 'Cluster' }, message: 'to be looked at', requestedBy: 'ann' },
      });
      later(random.int(1, 20) * minuteMs, () => void kube.delete('DisruptionPause', { name }));
    },
  },
  { name: 'a user gives an order', weight: 4, happens: giveOrder },
  {
    name: 'a user holds a workflow, for some minutes',
    weight: 2,
    happens: (stage) => hold(stage, stage.random.int(1, 30) * minuteMs),
  },
  { name: 'a workflow is sent nonsense', weight: 2, happens: sendNonsense },
]);

/** One that ends by itself, or when it is deleted. */
function pauseSome({ random, later, cluster: { kube } }: Stage): void {
  const node = pickOr(random, kube.kept('Node'))?.metadata.name ?? 'none';
  const scope = random.pick([
    { kind: 'NodePool', name: 'default' },
    { kind: 'NodePool', name: 'default', reason: 'Drifted' },
    { kind: 'Node', name: node },
    { kind: 'Reason', name: random.pick(['Underutilized', 'Empty', 'Drifted', 'Expired']) },
  ]);
  const name = `pause-${random.int(0, 2 ** 31)}`;
  const forMs = random.int(1, 20) * minuteMs;
  const until = random.chance(0.5) ? { until: new Date(Date.now() + forMs).toISOString() } : {};
  const spec = { scope, message: 'to be looked at', requestedBy: 'ann', ...until };
  void kube.create('DisruptionPause', { metadata: { name }, spec } as never);
  later(forMs, () => {
    if (!('until' in until)) void kube.delete('DisruptionPause', { name });
  });
}
