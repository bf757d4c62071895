import { workflowIds } from '../../../core/ids.js';
import { clusterName } from '../process.js';
import { listed, minuteMs, pickOr } from './happening.js';
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
        spec: { scope: { kind: 'Cluster' }, message: 'to be looked at', requestedBy: 'somebody' },
      });
      later(random.int(1, 20) * minuteMs, () => void kube.delete('DisruptionPause', { name }));
    },
  },
  { name: 'somebody gives an order', weight: 4, happens: giveOrder },
  {
    name: 'somebody holds a workflow, for some minutes',
    weight: 2,
    happens: (stage) => hold(stage, stage.random.int(1, 30) * minuteMs),
  },
  { name: 'a workflow is sent nonsense', weight: 2, happens: sendNonsense },
]);
