import type { Random } from '../../cases/random.js';
import { workflowIds } from '../../core/ids.js';
import { clusterName } from './process.js';
import type { Stage } from './stage.js';

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
    happens: ({ random, cluster: { cloud } }) => {
      const instance = pickOr(random, cloud.peek());
      if (instance === undefined) return;
      const messageId = `message-${random.int(0, 2 ** 31)}`;
      cloud.interrupt({ kind: 'spot_interrupted', instanceId: instance.instanceId, at: Date.now(), messageId });
      setTimeout(() => cloud.kill(instance.providerId), 120_000);
    },
  },
  {
    name: 'capacity runs out, for some minutes',
    weight: 1,
    happens: ({ random, cluster: { cloud } }) => {
      cloud.exhaust({ capacityType: 'spot' });
      setTimeout(() => cloud.replenish(), random.int(1, 10) * 60_000);
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
  { name: 'nothing', weight: 3, happens: () => undefined },
];

/** One thing happens, drawn by weight. */
export function happen(stage: Stage): void {
  const total = happenings.reduce((sum, { weight }) => sum + weight, 0);
  let at = stage.random.next() * total;
  for (const { name, weight, happens } of happenings) {
    at -= weight;
    if (at >= 0) continue;
    stage.say(`--- ${name}`);
    happens(stage);
    return;
  }
}

const pickOr = <T>(random: Random, from: readonly T[]): T | undefined =>
  from.length === 0 ? undefined : random.pick(from);
