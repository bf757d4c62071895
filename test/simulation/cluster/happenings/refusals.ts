import type { Random } from '../../../cases/random.js';
import type { Refusal } from '../network.js';
import { listed, minuteMs } from './happening.js';

/** What is answered with a no. */
export const refusalHappenings = listed([
  {
    name: 'the API server throttles, for some minutes',
    weight: 1,
    happens: ({ random, later, outages }) => later(random.int(1, 10) * minuteMs, outages.beginThrottling('Kubernetes')),
  },
  {
    name: 'the cloud throttles, for some minutes',
    weight: 1,
    happens: ({ random, later, outages }) => later(random.int(1, 10) * minuteMs, outages.beginThrottling('the cloud')),
  },
  {
    name: 'a webhook refuses writes, for some minutes',
    weight: 3,
    happens: ({ random, later, outages }) =>
      later(random.int(1, 15) * minuteMs, outages.beginRefusing(refusalOf(random))),
  },
]);

const writes = ['create', 'patch', 'delete', 'evict'];
const kinds = ['NodeClaim', 'Node', 'Pod', 'NodePool', 'Lease', 'EC2NodeClass'];

/** Of one kind as a rule, now and then of all: some of the ways to write. */
const refusalOf = (random: Random): Refusal => ({
  kinds: new Set(random.chance(0.2) ? kinds : [random.pick(kinds)]),
  writes: new Set(random.chance(0.5) ? writes : [random.pick(writes)]),
  failure: random.pick(['Denied', 'Unavailable']),
});
