import type { CapacityReservation, DescribeCapacityReservationsCommandInput } from '@aws-sdk/client-ec2';
import type { EC2NodeClassStatus, ResolvedCapacityReservation } from '../../../api/aws/ec2-node-class.js';
import { Reservations } from '../../../cloud/aws/reservations.js';
import { conditionOf } from '../../../core/conditions.js';
import { passes, tagValues } from '../../../tools/stack/cloud-proxy/filters.js';
import { steppingClock } from '../../builders/aws-world.js';
import { about, differs, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { account, now } from './account.js';
import { plenty } from './validation.js';

type Tags = Readonly<Record<string, string>>;
const discovery = { 'karpenter.sh/discovery': 'test' };
const ofBlocks = { blocks: 'yes' };
const ofInterruptible = { interruptible: 'yes' };
const own = '012345678901';
const other = '109876543210';
const made = (id: string, tags: Tags = {}, of: Partial<CapacityReservation> = {}): CapacityReservation => ({
  ...{ CapacityReservationId: id, AvailabilityZone: 'test-zone-1a', InstanceType: 'm5.large', OwnerId: own },
  ...{ InstanceMatchCriteria: 'targeted', AvailableInstanceCount: 10, State: 'active', ReservationType: 'default' },
  Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
  ...of,
});
const inMinutes = (minutes: number): Date => new Date(now + minutes * 60_000);
const usual: readonly CapacityReservation[] = [
  made('cr-1', {}, { Interruptible: false }),
  made('cr-2', discovery),
  made('cr-3', discovery, { OwnerId: other }),
  made('cr-block', ofBlocks, { ReservationType: 'capacity-block', OwnerId: other, EndDate: inMinutes(24 * 60) }),
  made('cr-open', {}, { InstanceMatchCriteria: 'open' }),
  made('cr-i', ofInterruptible, { InstanceMatchCriteria: 'open', Interruptible: true }),
];

const valuesOf =
  ({ State = 'active', OwnerId = '', InstanceMatchCriteria: criteria = 'targeted', Tags = [] }: CapacityReservation) =>
  (name: string): readonly string[] | undefined => {
    const known: Readonly<Record<string, string>> = {
      ...{ state: State, 'owner-id': OwnerId, 'instance-match-criteria': criteria },
    };
    const value = known[name];
    return value === undefined
      ? tagValues(name, new Map(Tags.map(({ Key = '', Value = '' }) => [Key, Value])))
      : [value];
  };
const answering =
  (all: readonly CapacityReservation[]) =>
  ({ CapacityReservationIds: ids, Filters = [] }: DescribeCapacityReservationsCommandInput): Promise<object> => {
    const filters = new Map(Filters.map(({ Name = '', Values = [] }) => [Name, Values]));
    const named = all.filter(({ CapacityReservationId: id = '' }) => ids?.includes(id) !== false);
    return Promise.resolve({ CapacityReservations: named.filter((each) => passes(filters, valuesOf(each))) });
  };

interface Step {
  readonly laterMs?: number;
}
/** What a node class selects, now and later. */
async function resolve(
  terms: readonly object[],
  all: readonly CapacityReservation[] = usual,
  { laterMs = 0, isOff = false }: Step & { readonly isOff?: boolean } = {},
): Promise<EC2NodeClassStatus> {
  const world = account({
    types: ['m5.large'],
    spec: { role: undefined, instanceProfile: 'own' },
    options: { disableDryRun: true, reservedCapacity: !isOff },
    calls: { ...plenty, describeCapacityReservations: answering(all), getParameter: ofAlias },
  });
  world.clock.time += laterMs;
  const spec = { ...world.nodeClass.spec, capacityReservationSelectorTerms: terms } as typeof world.nodeClass.spec;
  const { status } = await world.provider.resolveNodeClass({ ...world.nodeClass, spec, status: {} });
  return status;
}
const ofAlias = (): Promise<object> => Promise.resolve({ Parameter: { Value: 'ami-1' } });
const finds = (
  terms: readonly object[],
  look: (found: ResolvedCapacityReservation) => unknown,
  expected: readonly unknown[],
  all?: readonly CapacityReservation[],
  step?: Step,
): Check =>
  gives(async () => {
    const { capacityReservations = [], conditions } = await resolve(terms, all, step);
    return [capacityReservations.map(look), conditionOf(conditions, 'CapacityReservationsReady')?.status];
  }, [expected, 'True']);
const id = (found: ResolvedCapacityReservation): string => found.id;
const ending = [made('cr-1', {}, { EndDate: inMinutes(60) })];
const states = ['expired', 'cancelled', 'pending', 'failed', 'scheduled'] as const;
const readiness = (at: number, isOff: boolean): ConformanceCase =>
  same(
    at,
    `ready with the gate ${isOff ? 'off' : 'on'}`,
    gives(async () => {
      const { conditions } = await resolve([], usual, { isOff });
      return [conditionOf(conditions, 'Ready')?.status, conditionOf(conditions, 'CapacityReservationsReady')?.status];
    }, ['True', isOff ? undefined : 'True']),
  );

/** pkg/controllers/nodeclass/capacityreservation_test.go */
export const reservationStatusCases: readonly ConformanceCase[] = about(
  'capacity reservations in the status of a node class',
  [
    same(
      149,
      'interruptible by default is unknown',
      finds([{ id: 'cr-2' }], ({ interruptible }) => interruptible === true, [false]),
    ),
    same(
      161,
      'selected by id',
      finds([{ id: 'cr-1' }], (found) => found, [
        {
          ...{ id: 'cr-1', availabilityZone: 'test-zone-1a', instanceType: 'm5.large', ownerID: own },
          ...{ instanceMatchCriteria: 'targeted', reservationType: 'default', state: 'active' },
        },
      ]),
    ),
    same(182, 'selected by tags', finds([{ tags: discovery }], id, ['cr-2', 'cr-3'])),
    same(195, 'selected by tags and owner', finds([{ tags: discovery, ownerID: own }], id, ['cr-2'])),
    same(209, 'open ones', finds([{ instanceMatchCriteria: 'open' }], id, ['cr-i', 'cr-open'])),
    same(
      225,
      'targeted ones',
      finds([{ instanceMatchCriteria: 'targeted' }], id, ['cr-1', 'cr-2', 'cr-3', 'cr-block']),
    ),
    same(
      241,
      'targeted ones by tags',
      finds([{ instanceMatchCriteria: 'targeted', tags: discovery }], id, ['cr-2', 'cr-3']),
    ),
    same(
      258,
      'targeted ones by tags and owner',
      finds([{ instanceMatchCriteria: 'targeted', tags: discovery, ownerID: own }], id, ['cr-2']),
    ),
    same(
      273,
      'expired ones are dropped',
      gives(
        async () => [
          (await resolve([{ id: 'cr-1' }], ending)).capacityReservations?.map(id),
          (await resolve([{ id: 'cr-1' }], ending, { laterMs: 2 * 3_600_000 })).capacityReservations,
        ],
        [['cr-1'], []],
      ),
    ),
    same(
      [],
      'inactive ones are dropped',
      finds(
        [{ tags: discovery }],
        id,
        [],
        states.map((State, i) => made(`cr-${i}`, discovery, { State })),
      ),
    ),
    same(
      318,
      'a capacity block',
      finds([{ tags: ofBlocks }], ({ reservationType, state, endTime }) => [reservationType, state, endTime], [
        ['capacity-block', 'active', '2026-06-02T00:00:00Z'],
      ]),
    ),
    same(
      332,
      'a capacity block that ends in 40 minutes is expiring',
      finds(
        [{ tags: ofBlocks }],
        ({ state }) => state,
        ['expiring'],
        [made('cr-block', ofBlocks, { ReservationType: 'capacity-block', EndDate: inMinutes(40) })],
      ),
    ),
    same(
      354,
      'another reservation that ends in 40 minutes is not',
      finds([{ id: 'cr-1' }], ({ state }) => state, ['active'], [made('cr-1', {}, { EndDate: inMinutes(40) })]),
    ),
    readiness(383, false),
    readiness(384, true),
    same(
      386,
      'interruptible ones',
      finds([{ tags: ofInterruptible }], ({ id: found, interruptible, state }) => [found, interruptible, state], [
        ['cr-i', true, 'active'],
      ]),
    ),
  ],
);

const counted = (): Reservations =>
  new Reservations({ describeCapacityReservations: answering(usual) as never }, steppingClock(now));
const counts = (play: (reservations: Reservations) => Promise<void> | void, expected: readonly number[]): Check =>
  gives(async () => {
    const reservations = counted();
    await reservations.find([{ tags: discovery }]);
    await play(reservations);
    return ['cr-2', 'cr-3'].map((each) => reservations.available(each));
  }, expected);

/** pkg/providers/capacityreservation/suite_test.go */
export const reservationCountCases: readonly ConformanceCase[] = about('free capacity of a reservation', [
  same(
    99,
    'is read with the reservations',
    counts(() => undefined, [10, 10]),
  ),
  same(
    109,
    'is reduced by a launch',
    counts((reservations) => reservations.used('cr-2'), [9, 10]),
  ),
  differs(
    116,
    'is returned by a termination',
    'reserved-capacity/counters',
    'what becomes free counts once EC2 says so, within a minute',
    counts(
      async (reservations) => {
        reservations.used('cr-2');
        await reservations.find([{ tags: discovery }]);
      },
      [10, 10],
    ),
  ),
]);
