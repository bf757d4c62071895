import type { NodePool } from '../../../api/karpenter/node-pool.js';
import { labels } from '../../../api/labels.js';
import { publishNewEvents } from '../../../operator/change-events.js';
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
  warns(128, 'a NodePool in the shifted zone gets an event', { looks: [[away]] }, [started]),
  warns(137, 'its end is an event too', { looks: [[away], []] }, [started, over]),
  warns(150, 'a NodePool of other zones gets no event', { pools: [within('default', zone2, zone3)], looks: [[away]] }, [
    [],
  ]),
  warns(165, 'a NodePool without zones gets an event', { pools: [nodePool('default')], looks: [[away], [away]] }, [
    started,
    [],
  ]),
  warns(173, 'a zone without a subnet of the node class gives no event', { looks: [['tz1-az26']] }, [[]]),
  warns(182, 'a lasting shift is one event', { looks: [[away], [away], [away]] }, [started, [], []]),
  warns(
    194,
    'only the NodePool concerned of two gets an event',
    { pools: [nodePool('default'), within('b', zone2)], looks: [[away]] },
    [started],
  ),
]);
