import { listed, minuteMs } from './happening.js';

/** What happens to processes, to what they talk to, and to the ways between them. */
export const outageHappenings = listed([
  {
    name: 'a process dies',
    weight: 4,
    happens: ({ random, restart }) => restart(random, random.int(1, 60) * 1000),
  },
  {
    name: 'a process stops, and goes on where it was',
    weight: 2,
    happens: ({ random, processes }) => processes.freeze(random, random.int(1, 180) * 1000),
  },
  {
    name: 'the API server is out of reach, for some minutes',
    weight: 2,
    happens: ({ random, later, outages }) => later(random.int(1, 16 * 60) * 1000, outages.begin('Kubernetes')),
  },
  {
    name: 'the cloud is out of reach, for some minutes',
    weight: 2,
    happens: ({ random, later, outages }) => later(random.int(1, 20 * 60) * 1000, outages.begin('the cloud')),
  },
  {
    name: 'Temporal is out of reach, for some minutes',
    weight: 2,
    happens: ({ random, later, outages, temporal, processes }) => {
      const end = outages.begin('Temporal');
      temporal.disconnect();
      later(random.int(1, 10 * 60) * 1000, () => {
        end();
        processes.reconnect();
      });
    },
  },
  {
    name: 'watches lag behind, for some minutes',
    weight: 4,
    happens: ({ random, later, outages }) => later(random.int(1, 5 * 60) * 1000, outages.beginStale()),
  },
  {
    name: 'watches bring nothing any more, and do not end',
    weight: 1,
    happens: ({ later, outages }) => {
      outages.killWatches();
      // By then each has been found out and begun anew.
      later(15 * minuteMs, () => undefined);
    },
  },
  {
    name: 'the API server forgets what was written before',
    weight: 1,
    happens: ({ cluster: { kube } }) => kube.compact(),
  },
  {
    name: 'kube-scheduler stops, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { scheduler } }) => {
      const forMs = random.int(1, 9 * 60) * 1000;
      scheduler.suspend(forMs);
      later(forMs, () => undefined);
    },
  },
  {
    name: 'kube-scheduler refuses pods for reasons that only it knows, for some minutes',
    weight: 2,
    happens: ({ random, later, sets, cluster: { scheduler } }) =>
      later(random.int(1, 40) * minuteMs, scheduler.refuseAll(random.pick(sets).app)),
  },
  { name: 'nothing', weight: 6, happens: () => undefined },
]);
