import type { Random } from '../../cases/random.js';
import { workflowIds } from '../../core/ids.js';
import { clusterName } from './process.js';
import { giveOrder, hold, sendNonsense } from './orders.js';
import type { Stage } from './stage.js';

const minuteMs = 60_000;
/** The NodePool with `replicas`. */
export const staticPool = 'static';

/** Something that happens to a cluster, how often beside the others, and what. */
interface Happening {
  readonly name: string;
  readonly weight: number;
  readonly happens: (stage: Stage) => void;
}

const happenings: readonly Happening[] = [
  {
    name: 'a Deployment is scaled',
    weight: 8,
    happens: ({ random, sets, plan }) => {
      const set = random.pick(sets);
      const wanted = random.int(0, plan.replicas);
      void (wanted > set.replicas ? set.scaleUp(wanted, random.int(1, 200)) : set.scaleDown(wanted));
    },
  },
  {
    name: 'the process dies',
    weight: 2,
    happens: ({ random, restart }) => restart(random.int(1, 60) * 1000),
  },
  {
    name: 'an instance dies',
    weight: 1,
    happens: ({ random, cluster: { cloud } }) => {
      const instance = pickOr(random, cloud.peek());
      if (instance !== undefined) cloud.kill(instance.providerId);
    },
  },
  {
    name: 'a spot interruption',
    weight: 1,
    happens: ({ random, later, cluster: { cloud } }) => {
      const instance = pickOr(random, cloud.peek());
      if (instance === undefined) return;
      const messageId = `message-${random.int(0, 2 ** 31)}`;
      cloud.interrupt({ kind: 'spot_interrupted', instanceId: instance.instanceId, at: Date.now(), messageId });
      later(120_000, () => cloud.kill(instance.providerId));
    },
  },
  {
    name: 'capacity runs out, for some minutes',
    weight: 1,
    happens: ({ random, later, cluster: { cloud } }) => {
      cloud.exhaust({ capacityType: 'spot' });
      later(random.int(1, 10) * minuteMs, () => cloud.replenish());
    },
  },
  {
    name: 'a workflow is terminated by hand',
    weight: 1,
    happens: ({ random, temporal }) => {
      const open = [...temporal.all].filter((run) => run.isOpen && run.id !== workflowIds.offerings(clusterName));
      const run = pickOr(random, open);
      if (run !== undefined) temporal.terminate(run);
    },
  },
  {
    name: 'the template of a NodePool changes',
    weight: 1,
    happens: ({ random, cluster: { kube } }) => {
      const labels = { revision: `r${random.int(0, 2 ** 31)}` };
      void kube.patch('NodePool', { name: 'default' }, { spec: { template: { metadata: { labels } } } });
    },
  },
  {
    name: 'a static NodePool is resized',
    weight: 1,
    happens: ({ random, cluster: { kube } }) =>
      void kube.patch('NodePool', { name: staticPool }, { spec: { replicas: random.int(0, 3) } }),
  },
  {
    name: 'a NodeClaim is deleted by hand',
    weight: 1,
    happens: ({ random, cluster: { kube } }) => {
      const claim = pickOr(random, kube.objects('NodeClaim'));
      if (claim !== undefined) void kube.delete('NodeClaim', { name: claim.metadata.name ?? '' });
    },
  },
  {
    name: 'a Node is deleted by hand',
    weight: 1,
    happens: ({ random, cluster: { kube } }) => {
      const node = pickOr(random, kube.objects('Node'));
      if (node !== undefined) void kube.delete('Node', { name: node.metadata.name ?? '' });
    },
  },
  {
    name: 'a kubelet stops, for some minutes',
    weight: 1,
    happens: ({ random, later, cluster: { kube, machines } }) => {
      const name = pickOr(random, kube.objects('Node'))?.metadata.name;
      if (name === undefined) return;
      machines.stopKubelet(name);
      later(random.int(1, 50) * minuteMs, () => machines.startKubelet(name));
    },
  },
  {
    name: 'disruption is paused, for some minutes',
    weight: 1,
    happens: ({ random, later, cluster: { kube } }) => {
      const name = `pause-${random.int(0, 2 ** 31)}`;
      void kube.create('DisruptionPause', {
        metadata: { name },
        spec: { scope: { kind: 'Cluster' }, message: 'to be looked at', requestedBy: 'somebody' },
      });
      later(random.int(1, 20) * minuteMs, () => void kube.delete('DisruptionPause', { name }));
    },
  },
  { name: 'somebody gives an order', weight: 2, happens: giveOrder },
  {
    name: 'somebody holds a workflow, for some minutes',
    weight: 1,
    happens: (stage) => hold(stage, stage.random.int(1, 30) * minuteMs),
  },
  { name: 'a workflow is sent nonsense', weight: 1, happens: sendNonsense },
  {
    name: 'new nodes are to expire, for some minutes',
    weight: 1,
    happens: ({ random, later, cluster: { kube } }) => {
      const lifeMinutes = random.int(10, 40);
      const expire = (expireAfter: string): void =>
        void kube.patch('NodePool', { name: 'default' }, { spec: { template: { spec: { expireAfter } } } });
      expire(`${lifeMinutes}m`);
      later(random.int(5, 30) * minuteMs, () => {
        expire('Never');
        // The last of them has come to its end by then.
        later((lifeMinutes + 10) * minuteMs, () => undefined);
      });
    },
  },
  {
    name: 'the API server is out of reach, for some minutes',
    weight: 1,
    happens: ({ random, later, outages }) => later(random.int(1, 16 * 60) * 1000, outages.begin('Kubernetes')),
  },
  {
    name: 'the cloud is out of reach, for some minutes',
    weight: 1,
    happens: ({ random, later, outages }) => later(random.int(1, 20 * 60) * 1000, outages.begin('the cloud')),
  },
  {
    name: 'Temporal is out of reach, for some minutes',
    weight: 1,
    happens: ({ random, later, outages, temporal, process }) => {
      const end = outages.begin('Temporal');
      temporal.disconnect();
      later(random.int(1, 10 * 60) * 1000, () => {
        end();
        if (!outages.isAway('Temporal')) process().reconnect();
      });
    },
  },
  {
    name: 'watches lag behind, for some minutes',
    weight: 2,
    happens: ({ random, later, outages }) => later(random.int(1, 5 * 60) * 1000, outages.beginStale()),
  },
  { name: 'nothing', weight: 3, happens: () => undefined },
];

const total = happenings.reduce((sum, { weight }) => sum + weight, 0);

/** One thing happens, drawn by weight. Gives its name. */
export function happen(stage: Stage): string {
  let at = stage.random.next() * total;
  for (const { name, weight, happens } of happenings) {
    at -= weight;
    if (at >= 0) continue;
    stage.say(`--- ${name}`);
    happens(stage);
    return name;
  }
  return 'nothing';
}

const pickOr = <T>(random: Random, from: readonly T[]): T | undefined =>
  from.length === 0 ? undefined : random.pick(from);
