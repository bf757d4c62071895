import { zones } from '../../../cases/kwok.js';
import type { Stage } from '../stage.js';
import { addNodeClass } from '../world.js';
import { listed, minuteMs, pickOr } from './happening.js';
import type { InterruptionNotice } from '../../../../core/interruption-kinds.js';

const notices: readonly InterruptionNotice['kind'][] = [
  'rebalance_recommendation',
  'scheduled_change',
  'instance_status',
];

/** What happens to machines and their cloud. */
export const machineHappenings = listed([
  {
    name: 'an instance dies',
    weight: 2,
    happens: ({ random, cluster: { cloud } }) => {
      const instance = pickOr(random, cloud.peek());
      if (instance !== undefined) cloud.kill(instance.providerId);
    },
  },
  {
    name: 'an instance dies before its node is there',
    weight: 2,
    happens: ({ random, cluster: { cloud, kube } }) => {
      const known = new Set(kube.kept('Node').map(({ spec }) => spec?.providerID));
      const instance = pickOr(
        random,
        cloud.peek().filter(({ providerId }) => !known.has(providerId)),
      );
      if (instance !== undefined) cloud.kill(instance.providerId);
    },
  },
  {
    name: 'most types run out, for some minutes',
    weight: 1,
    happens: ({ random, later, cluster: { cloud } }) => {
      for (const instanceType of cloud.typeNames()) if (random.chance(0.9)) cloud.exhaust({ instanceType });
      later(random.int(1, 15) * minuteMs, () => cloud.replenish());
    },
  },
  {
    name: 'prices change',
    weight: 1,
    happens: ({ random, cluster: { cloud } }) => cloud.reprice(() => random.int(50, 200) / 100),
  },
  {
    name: 'a spot interruption',
    weight: 2,
    happens: (stage) => {
      const providerId = notify(stage, 'spot_interrupted');
      if (providerId !== undefined) stage.later(120_000, () => stage.cluster.cloud.kill(providerId));
    },
  },
  {
    name: 'a notice about an instance, twice',
    weight: 2,
    happens: (stage) => void notify(stage, stage.random.pick(notices), 2),
  },
  {
    name: 'capacity runs out, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { cloud } }) => {
      // Of everything, now and then.
      cloud.exhaust(random.chance(0.2) ? {} : { capacityType: random.pick(['spot', 'on-demand']) });
      later(random.int(1, 10) * minuteMs, () => cloud.replenish());
    },
  },
  {
    name: 'a capacity reservation is there, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { cloud } }) => {
      const id = `cr-${random.int(0, 2 ** 31)}`;
      const instanceType = random.pick(cloud.typeNames());
      cloud.reserve({ id, instanceType, zone: random.pick(zones), count: random.int(1, 3) });
      later(random.int(5, 40) * minuteMs, () => cloud.endReservations([id]));
    },
  },
  {
    name: 'machines come up without joining, for some minutes',
    weight: 1,
    happens: ({ random, later, cluster: { machines } }) => {
      machines.neverJoins = random.pick([0.3, 1]);
      later(random.int(1, 10) * minuteMs, () => {
        machines.neverJoins = 0;
        // The last of them are given up by then.
        later(20 * minuteMs, () => undefined);
      });
    },
  },
  {
    name: 'the node class is not ready, for some minutes',
    weight: 1,
    happens: ({ random, later, cluster: { cloud } }) => {
      cloud.setNotReady('default', 'no subnet is found');
      later(random.int(1, 15) * minuteMs, () => cloud.setNotReady('default'));
    },
  },
  {
    name: 'the node class is deleted and made anew',
    weight: 1,
    happens: ({ random, later, cluster: { kube } }) => {
      void kube.delete('EC2NodeClass', { name: 'default' });
      later(random.int(1, 600) * 1000, () => addNodeClass(kube, `class-${random.int(0, 2 ** 31)}`));
    },
  },
  {
    name: 'the image of all nodes is outdated',
    weight: 1,
    happens: ({ cluster: { cloud, kube } }) => {
      for (const { metadata } of kube.kept('NodeClaim')) cloud.setDrift(metadata.name ?? '', 'AMIDrift');
    },
  },
  {
    name: 'a kubelet stops, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { kube, machines } }) => {
      const name = pickOr(random, kube.kept('Node'))?.metadata.name;
      if (name === undefined) return;
      machines.stopKubelet(name);
      later(random.int(1, 50) * minuteMs, () => machines.startKubelet(name));
    },
  },
  {
    name: 'a kubelet comes and goes',
    weight: 1,
    happens: ({ random, later, cluster: { kube, machines } }) => {
      const name = pickOr(random, kube.kept('Node'))?.metadata.name;
      if (name === undefined) return;
      const everyMs = random.int(10, 300) * 1000;
      for (let turn = 0; turn < 6; turn++) {
        later(2 * turn * everyMs, () => machines.stopKubelet(name));
        later((2 * turn + 1) * everyMs, () => machines.startKubelet(name));
      }
    },
  },
]);

/** The queue says something about an instance, so many times. Gives which. */
function notify(
  { random, invariants, cluster: { cloud } }: Stage,
  kind: InterruptionNotice['kind'],
  times = 1,
): string | undefined {
  const instance = pickOr(random, cloud.peek());
  if (instance === undefined) return undefined;
  const { instanceId, providerId } = instance;
  if (kind === 'instance_status') invariants.failedChecks.add(providerId);
  const messageId = `message-${random.int(0, 2 ** 31)}`;
  for (let time = 0; time < times; time++) cloud.interrupt({ kind, instanceId, at: Date.now(), messageId });
  return providerId;
}
