import type { NodePool } from '../../../api/karpenter/node-pool.js';
import { labels } from '../../../api/labels.js';
import { publishNewEvents } from '../../../operator/pool-events.js';
import { nodePool } from '../../builders/activity-world.js';
import { ec2NodeClass } from '../../builders/aws-world.js';
import { about, same, type ConformanceCase } from '../conformance-case.js';
import { oneOf, zone1, zone2, zone3 } from '../world.js';
import { now, resolved } from './account.js';
import { inPlace } from './instances.js';

const away = resolved.subnets.find(({ zone }) => zone === zone1)!.zoneID;
const started = [['default', 'Warning', 'ZonalShiftActive', true]];
const over = [['default', 'Normal', 'ZonalShiftCleared', true]];

interface Shifted {
  readonly pools?: readonly NodePool[];
  /** Ids of the zones that are shifted away from, at one look after another. */
  readonly looks: readonly (readonly string[])[];
}

/** Events of NodePools at each look: their kind, and whether zone and zone id are named. */
const warns = (
  at: number,
  title: string,
  { pools = [nodePool('default')], looks }: Shifted,
  expected: unknown,
): ConformanceCase => {
  let shifted: readonly string[] = [];
  const shifts = () =>
    shifted.map((awayFrom) => ({ awayFrom, appliedStatus: 'APPLIED', expiryTime: now / 1000 + 3600 }));
  return same(
    at,
    title,
    inPlace(
      async ({ kube, deps, events, ...place }) => {
        kube.put('EC2NodeClass', { ...ec2NodeClass(), status: resolved } as never);
        for (const pool of pools) kube.put('NodePool', pool);
        await place.synced();
        const heard: unknown[][] = [];
        for (const look of looks) {
          shifted = look;
          place.ec2Clock.time += 30_000;
          await publishNewEvents(deps);
          heard.push(
            events
              .splice(0)
              .map(({ regarding, type, reason, message }) => [
                ...[regarding.name, type, reason],
                message.includes(zone1) && message.includes(away),
              ]),
          );
        }
        return heard;
      },
      expected,
      {
        options: { zonalShift: true },
        calls: {
          describeCluster: () => Promise.resolve({ cluster: { arn: 'arn:aws:eks:us-west-2:1:cluster/test-cluster' } }),
          getManagedResource: () => Promise.resolve({ zonalShifts: shifts() }),
        },
      },
    ),
  );
};
const within = (name: string, ...zones: readonly string[]): NodePool => {
  const made = nodePool(name);
  const spec = { ...made.spec.template.spec, requirements: [oneOf(labels.zone, ...zones)] };
  return { ...made, spec: { ...made.spec, template: { ...made.spec.template, spec } } };
};

/** pkg/controllers/arczonalshift/suite_test.go */
export const zonalShiftCases: readonly ConformanceCase[] = about('zonal shifts', [
  warns(128, 'a NodePool is warned of a shift away from a zone', { looks: [[away]] }, [started]),
  warns(137, 'and told when it is over', { looks: [[away], []] }, [started, over]),
  warns(150, 'not one of other zones', { pools: [within('default', zone2, zone3)], looks: [[away]] }, [[]]),
  warns(165, 'one that names no zone is', { pools: [nodePool('default')], looks: [[away], [away]] }, [started, []]),
  warns(173, 'a zone in which the node class has no subnet', { looks: [['tz1-az26']] }, [[]]),
  warns(182, 'a shift that goes on is told once', { looks: [[away], [away], [away]] }, [started, [], []]),
  warns(
    194,
    'of two NodePools the one that it is about',
    { pools: [nodePool('default'), within('b', zone2)], looks: [[away]] },
    [started],
  ),
]);
