import type { CapacityReservation } from '@aws-sdk/client-ec2';
import { awsLabels } from '../../../api/aws/labels.js';
import { labels } from '../../../api/labels.js';
import { createInterruptionActivities } from '../../../activities/interruption/inspect-instance.js';
import { pinnedValue } from '../../../core/launch-options.js';
import type { OperatorContext } from '../../../operator/context.js';
import { followReservation, reservedClaims } from '../../../operator/reservations.js';
import { nodeClaim, nodePool } from '../../builders/activity-world.js';
import { ec2NodeClass } from '../../builders/aws-world.js';
import { about, same, type ConformanceCase } from '../conformance-case.js';
import { zone1 } from '../world.js';
import { now, resolved, type Given } from './account.js';
import { inPlace, type Place } from './instances.js';
import { providerIdOf, type Made } from './instances-of-account.js';
import { reserving } from './interfaces.js';

const reservation = {
  [awsLabels.capacityReservationId]: 'cr-1',
  [awsLabels.capacityReservationType]: 'default',
};
const reserved = { [labels.nodePool]: 'default', [labels.capacityType]: 'reserved', ...reservation };
const onDemand = { [labels.nodePool]: 'default', [labels.capacityType]: 'on-demand' };

/** A claim with labels, of an instance `i-NAME`. */
function put({ kube }: Place, name: string, own: Readonly<Record<string, string>>, of: object = {}): void {
  const claim = nodeClaim(name, { status: { providerID: providerIdOf(`i-${name}`) }, ...of });
  kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, labels: own } });
}

/** Offerings of m5.large that are available, once a notice of an instance in a zone was read. */
const hides = (
  at: number,
  title: string,
  kind: string,
  own: Readonly<Record<string, string>>,
  given: Given,
): ConformanceCase =>
  same(
    at,
    title,
    inPlace(
      async (place) => {
        const { deps } = place;
        const nodeClass = { ...ec2NodeClass(), status: { ...resolved, ...given.status } } as never;
        const open = async (): Promise<string[]> => {
          const [type] = await deps.cloud.instanceTypes(nodePool('default'), nodeClass);
          return (type?.offerings ?? [])
            .filter(({ available, reservationCapacity = 1 }) => available && reservationCapacity > 0)
            .map(({ requirements }) =>
              [labels.capacityType, labels.zone].map((key) => pinnedValue(requirements, key) ?? '').join('/'),
            );
        };
        put(place, 'c', own);
        await place.synced();
        const before = await open();
        await createInterruptionActivities(deps).inspectInstance({ instanceId: 'i-c', kind, at: now });
        const after = await open();
        return before.filter((offering) => !after.includes(offering));
      },
      [`${own[labels.capacityType] ?? ''}/${zone1}`],
      { types: ['m5.large'], ...given },
    ),
  );
const inZone = { [labels.instanceType]: 'm5.large', [labels.zone]: zone1 };

/** pkg/controllers/interruption/suite_test.go, what is then left alone. */
export const hiddenOfferingCases: readonly ConformanceCase[] = about('offerings after a spot warning', [
  hides(
    279,
    'keeps launches from the offering',
    'spot_interrupted',
    { [labels.nodePool]: 'default', [labels.capacityType]: 'spot', ...inZone },
    {},
  ),
  hides(
    296,
    'of a reserved instance keeps launches from its reservation',
    'capacity_reservation_interrupted',
    { ...reserved, ...inZone },
    reserving([[{ id: 'cr-1', type: 'm5.large', zone: zone1 }, 10]]),
  ),
]);

interface Followed {
  readonly ended: readonly string[];
}
/** One look at all reserved nodes. */
async function follow({ deps }: Place): Promise<Followed> {
  const ended: string[] = [];
  const terminate = ({ name }: { name: string }): Promise<void> => Promise.resolve(void ended.push(name));
  const context = { ...deps, starter: { terminate } } as unknown as OperatorContext;
  for (const name of reservedClaims(context)) await followReservation(context, name);
  return { ended };
}
const within: Made = {
  CapacityReservationId: 'cr-1',
  CapacityReservationSpecification: { CapacityReservationPreference: 'capacity-reservations-only' },
};
const outside: Made = { CapacityReservationSpecification: within.CapacityReservationSpecification };
const labelsOf = ({ kube }: Place): readonly unknown[] =>
  (['NodeClaim', 'Node'] as const).flatMap((kind) => kube.objects(kind).map(({ metadata }) => metadata.labels));
const join = ({ kube }: Place): unknown =>
  kube.put('Node', { metadata: { name: 'n', labels: reserved }, spec: { providerID: providerIdOf('i-c') } });

/** pkg/controllers/capacityreservation/capacitytype/suite_test.go */
export const turnedOnDemandCases: readonly ConformanceCase[] = about('a reserved instance that becomes on-demand', [
  same(
    122,
    'is labelled on-demand on claim and node',
    inPlace(
      async (place) => {
        place.ec2.put('i-c', within);
        put(place, 'c', reserved);
        join(place);
        await place.synced();
        await follow(place);
        const before = labelsOf(place);
        place.ec2.put('i-c', outside);
        await follow(place);
        return [before, labelsOf(place)];
      },
      [
        [reserved, reserved],
        [onDemand, onDemand],
      ],
    ),
  ),
  same(
    152,
    'is labelled on the node where the claim already is',
    inPlace(
      async (place) => {
        place.ec2.put('i-c', outside);
        put(place, 'c', reserved);
        await place.synced();
        await follow(place);
        const before = labelsOf(place);
        join(place);
        await place.synced();
        await follow(place);
        return [before, labelsOf(place)];
      },
      [[onDemand], [onDemand, onDemand]],
    ),
  ),
]);

/** Which claims are ended of those that are in these reservations, which no node class selects. */
const block = (id: string, minutes: number, of: Partial<CapacityReservation> = {}): CapacityReservation => ({
  ...{ CapacityReservationId: id, State: 'active', EndDate: new Date(now + minutes * 60_000) },
  ...{ ReservationType: 'capacity-block', ...of },
});
const leaves = (
  at: number,
  title: string,
  all: readonly CapacityReservation[],
  expected: readonly string[],
): ConformanceCase =>
  same(
    at,
    title,
    inPlace(
      async (place) => {
        for (const { CapacityReservationId: id = '' } of all) {
          place.ec2.put(`i-${id}`, { ...within, CapacityReservationId: id });
          put(place, id, { ...reserved, [awsLabels.capacityReservationId]: id });
        }
        await place.synced();
        return (await follow(place)).ended;
      },
      expected,
      {
        calls: {
          describeCapacityReservations: ({ CapacityReservationIds: ids }: { CapacityReservationIds?: string[] }) =>
            Promise.resolve({
              CapacityReservations: all.filter(({ CapacityReservationId: id = '' }) => ids?.includes(id) !== false),
            }),
        },
      },
    ),
  );
const usual = { ReservationType: 'default' } as const;

/** pkg/controllers/capacityreservation/expiration/suite_test.go */
export const endingBlockCases: readonly ConformanceCase[] = about('the end of a capacity block', [
  leaves(93, 'terminates its nodes before it', [block('ending', 39), block('active', 60)], ['ending']),
  leaves(
    127,
    'of another reservation terminates nothing',
    [block('usual', 39, usual), block('interruptible', 39, { ...usual, Interruptible: true })],
    [],
  ),
]);
