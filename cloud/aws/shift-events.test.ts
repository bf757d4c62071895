import { expect, test } from 'vitest';
import { nodePool } from '../../test/builders/activity-world.js';
import { ec2NodeClass } from '../../test/builders/aws-world.js';
import { shiftEvents } from './shift-events.js';

const nodeClass = { ...ec2NodeClass(), status: { subnets: [{ id: 's', zone: 'a', zoneID: 'az1' }] } };
const [first, second] = [nodePool('first'), nodePool('second')].map((pool) => ({ pool, nodeClass }));

// Rule `zonal-shift/events`.
test('a NodePool that is made during a shift is told, and the end is told to those that were told', async () => {
  let shifted = ['az1'];
  const news = shiftEvents({ current: () => Promise.resolve(shifted.map((zone) => ({ zone, until: 1 }))) });
  const look = async (...pools: readonly (typeof first)[]): Promise<readonly (string | undefined)[]> =>
    (await news(pools.map((each) => each!))).map(({ pool, reason }) => `${pool.metadata.name} ${reason}`);
  expect(await look(first)).toEqual(['first ZonalShiftActive']);
  expect(await look(first, second)).toEqual(['second ZonalShiftActive']);
  const narrowed = nodePool('first', {
    template: {
      metadata: { labels: { 'topology.kubernetes.io/zone': 'b' } },
      spec: first!.pool.spec.template.spec,
    },
  });
  shifted = [];
  expect(await look({ pool: narrowed, nodeClass }, second)).toEqual([
    'first ZonalShiftCleared',
    'second ZonalShiftCleared',
  ]);
  shifted = ['az1'];
  expect(await look({ pool: narrowed, nodeClass })).toEqual([]);
});
