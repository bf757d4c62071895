import type { CreateFleetError } from '@aws-sdk/client-ec2';
import { annotations, labels } from '../../../api/labels.js';
import { pinnedValue } from '../../../core/launch-options.js';
import { measuredCloud } from '../../../process/measured-cloud.js';
import { refusal } from '../../builders/aws-world.js';
import { about, differs, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { all, oneOf, op, zone1, zone2, zone3 } from '../world.js';
import { account, launched, outcomeOf, overridesOf, requestOf, type Account, type Asked } from './account.js';
import { InstancesOfAccount, providerIdOf, without, type Made } from './instances-of-account.js';
import { reserving } from './interfaces.js';
import { having } from './launching.js';

const types = ['m5.large', 'm5.xlarge'];
const only = (name: string): Asked => ({ needs: [oneOf(labels.instanceType, name)] });
const flexible: Asked = { ...only('m5.xlarge'), capacityTypes: ['spot', 'on-demand'] };
/** Offerings of a type that are not available, as `capacity type/zone`. */
async function closed(world: Account, name: string): Promise<readonly string[]> {
  const found = (await world.types()).find((type) => type.name === name);
  return (found?.offerings ?? [])
    .filter(({ available }) => !available)
    .map(({ requirements }) =>
      [labels.capacityType, labels.zone].map((key) => pinnedValue(requirements, key) ?? '').join('/'),
    )
    .sort();
}
const fails = (ErrorCode: string, of: { type?: string; zone?: string; subnet?: string } = {}): CreateFleetError => ({
  ...{ ErrorCode, ErrorMessage: 'words' },
  LaunchTemplateAndOverrides: {
    Overrides: {
      InstanceType: (of.type ?? 'm5.xlarge') as 'm5.xlarge',
      AvailabilityZone: of.zone ?? zone1,
      ...(of.subnet === undefined ? {} : { SubnetId: of.subnet }),
    },
  },
});
const none = 'InsufficientCapacity';
const room = async (world: Account): Promise<number | undefined> => {
  const type = (await world.types()).find(({ name }) => name === 'm5.large');
  return type?.offerings.find(({ requirements }) => pinnedValue(requirements, labels.capacityType) === 'reserved')
    ?.reservationCapacity;
};
const cr1 = { id: 'cr-1', type: 'm5.large', zone: zone1 } as const;
const inReservation: Asked = { capacityTypes: ['reserved'] };
const roleMissing = 'AuthFailure.ServiceLinkedRoleCreationNotPermitted';

const refusalCases: readonly ConformanceCase[] = about('refused launches', [
  same(
    137,
    'minValues that no types satisfy',
    gives(
      () => outcomeOf(account({ types }).launch({ needs: [{ ...op(labels.zone, 'Exists'), minValues: 50 }] })),
      none,
    ),
  ),
  differs(
    157,
    'no capacity of either capacity type',
    'launch/capacity-type-order',
    'one launch finds both out, where Karpenter needs a second claim',
    gives(async () => {
      const empty = [zone1, zone2].flatMap((zone) => ['spot', 'on-demand'].map((of) => `m5.xlarge/${zone}/${of}`));
      const world = account({ types, empty });
      const asked = { ...flexible, needs: [...flexible.needs!, oneOf(labels.zone, zone1, zone2)] };
      return [await outcomeOf(world.launch(asked)), await closed(world, 'm5.xlarge')];
    }, [none, [zone1, zone2].flatMap((zone) => [`on-demand/${zone}`, `spot/${zone}`]).sort()]),
  ),
  same(
    206,
    'the service-linked role of spot is missing',
    gives(async () => {
      const world = account({ types, errors: [fails(roleMissing), fails(roleMissing, { zone: zone2 })] });
      const result = await world.launch({ ...only('m5.xlarge'), capacityTypes: ['spot'] });
      const spot = all.map((zone) => `spot/${zone}`);
      return [
        result.ok ? '' : result.error.kind,
        result.ok ? [] : result.error.events?.map(({ reason }) => reason),
        JSON.stringify([await closed(world, 'm5.xlarge'), await closed(world, 'm5.large')]) ===
          JSON.stringify([spot, spot]),
      ];
    }, [none, ['SpotServiceLinkedRoleCreationFailure'], true]),
  ),
  same(
    267,
    'the limit of fleets is exceeded',
    gives(async () => {
      const world = account({ types, errors: [fails('MaxFleetCountExceeded')] });
      const outcome = await outcomeOf(world.launch({ ...only('m5.xlarge'), capacityTypes: ['spot'] }));
      return [outcome, await closed(world, 'm5.xlarge')];
    }, [none, [`spot/${zone1}`]]),
  ),
  same(
    308,
    'a reservation turns out to be full',
    gives(async () => {
      const given = reserving([[cr1, 1]], {
        types,
        errors: [fails('ReservationCapacityExceeded', { type: 'm5.large' })],
      });
      const world = account(given);
      return [await outcomeOf(world.launch(inReservation)), await room(world)];
    }, [none, 0]),
  ),
  same(
    354,
    'throttling does not count against a reservation',
    gives(async () => {
      const world = account(
        reserving([[cr1, 1]], { types, errors: [fails('RequestLimitExceeded', { type: 'm5.large' })] }),
      );
      return [await outcomeOf(world.launch(inReservation)), await room(world)];
    }, ['Throttled', 1]),
  ),
]);

const launchFailures = 'cloudprovider_instance_launch_failures_total';
/** What is counted of a launch whose attempts all fail. */
const failing = (
  at: number,
  title: string,
  errors: readonly CreateFleetError[],
  expected: readonly unknown[],
): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const world = account({ types, errors });
      const counted: unknown[] = [];
      const metrics = {
        count: (name: string, own: object, by = 1) => {
          if (name === launchFailures) counted.push([own, by]);
        },
        observe: () => undefined,
      };
      const cloud = measuredCloud(world.provider, metrics, () => 0);
      await cloud.instanceTypes({} as never, world.nodeClass);
      await cloud.launch(requestOf({}, world.nodeClass)).catch(() => undefined);
      return counted;
    }, expected),
  );
const ofZone = (zone: string, zone_id: string, reason: string): object => ({
  ...{ zone, zone_id, reason },
  capacity_type: 'on-demand',
});
const metricCases: readonly ConformanceCase[] = about('metric of failed launches', [
  failing(
    430,
    'each failed attempt counts, by zone',
    [fails('RequestLimitExceeded'), fails('RequestLimitExceeded', { type: 'm5.large' })],
    [[ofZone(zone1, 'tz1-az1', 'RequestLimitExceeded'), 2]],
  ),
  failing(
    485,
    'an unknown error code and zone count',
    [fails('SomeBrandNewEC2ErrorCode', { zone: 'unknown-zone' })],
    [[ofZone('unknown-zone', '', 'LaunchFailed'), 1]],
  ),
]);

const found = (at: number, title: string, made: Made, expected: unknown): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const ec2 = new InstancesOfAccount();
      ec2.put('i-0', made);
      const { provider } = account({ types, calls: ec2.calls, options: { reservedCapacity: false } });
      return (await provider.list()).map(({ instanceId, capacityType }) => [instanceId, capacityType]);
    }, expected),
  );
const listCases: readonly ConformanceCase[] = about('listing instances', [
  found(529, 'an instance in an open reservation is on-demand', { CapacityReservationId: 'cr-foo' }, [
    ['i-0', 'on-demand'],
  ]),
  same(
    553,
    'only instances of NodePools are listed',
    gives(async () => {
      const ec2 = new InstancesOfAccount();
      for (let i = 0; i < 20; i++) {
        ec2.put(`i-own${i}`);
        ec2.put(`i-other${i}`, { tags: {} });
      }
      ec2.put('i-classless', { tags: without(labels.ec2NodeClass) });
      const { provider } = account({ types, calls: ec2.calls });
      const ids = (await provider.list()).map(({ instanceId }) => instanceId);
      return [ids.length, ids.every((id) => id.startsWith('i-own'))];
    }, [20, true]),
  ),
]);

const noAddresses = 'InsufficientFreeAddressesInSubnet';
/** Zones with their subnets, some of which have no addresses left, and the zones that are closed by it. */
const exhausted = (
  at: number,
  title: string,
  zones: Readonly<Record<string, readonly string[]>>,
  gone: readonly string[],
  expected: readonly string[],
): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const subnets = Object.entries(zones).flatMap(([zone, ids]) => ids.map((id) => ({ id, zone })));
      const world = account({
        types,
        status: { subnets },
        errors: gone.map((subnet) =>
          fails(noAddresses, { subnet, zone: subnets.find(({ id }) => id === subnet)!.zone }),
        ),
      });
      const outcome = await outcomeOf(world.launch());
      const open = await closed(world, 'm5.large');
      return [outcome, open.filter((place) => place.startsWith('on-demand/')).map((place) => place.split('/')[1])];
    }, [none, expected]),
  );
const single = { [zone1]: ['a'], [zone2]: ['b'], [zone3]: ['c'] };
const several = { ...single, [zone1]: ['a', 'a2', 'a3'] };
const subnetCases: readonly ConformanceCase[] = about('subnets without free addresses', [
  exhausted(673, 'the only subnet of a zone: the zone is unavailable', single, ['a'], [zone1]),
  exhausted(686, 'one of several subnets: the zone stays available', several, ['a'], []),
  exhausted(699, 'all subnets of a zone: the zone is unavailable', several, ['a', 'a2', 'a3'], [zone1]),
  same(
    713,
    'another subnet of the zone is used next',
    gives(async () => {
      const asked: (string | undefined)[] = [];
      const world = account(
        having(
          { 'subnet-a': 50, 'subnet-b': 200 },
          {
            calls: {
              createFleet: (input: Parameters<typeof overridesOf>[0][number]) => {
                const [Overrides] = overridesOf([input]);
                asked.push(Overrides?.SubnetId);
                if (asked.length === 1)
                  return Promise.resolve({ Errors: [fails(noAddresses, { type: 'm5.large', subnet: 'subnet-b' })] });
                const made = { InstanceIds: ['i-1'], InstanceType: 'm5.large' };
                return Promise.resolve({ Instances: [{ ...made, LaunchTemplateAndOverrides: { Overrides } }] });
              },
            },
          },
        ),
      );
      return [await outcomeOf(world.launch()), await outcomeOf(world.launch()), asked];
    }, [none, 'm5.large', ['subnet-b', 'subnet-a']]),
  ),
]);

const strategy = (
  at: number,
  title: string,
  capacityType: string,
  isOverlaid: boolean,
  expected: string,
): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const own = isOverlaid ? { annotations: { [annotations.priceOverlayApplied]: 'true' } } : {};
      const { fleets } = await launched({ types }, { capacityTypes: [capacityType], ...own });
      return fleets.map(({ OnDemandOptions, SpotOptions }) => (OnDemandOptions ?? SpotOptions)?.AllocationStrategy);
    }, [expected]),
  );
const efa = 'vpc.amazonaws.com/efa';
const interfaces = (
  at: number,
  title: string,
  spec: object,
  asked: Asked,
  expected: number | undefined,
): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => (await launched({ types: ['g4dn.8xlarge'], spec }, asked)).instance.capacity[efa], expected),
  );
const network = (...list: readonly (readonly [number, number, string])[]): object => ({
  networkInterfaces: list.map(([networkCardIndex, deviceIndex, interfaceType]) => ({
    ...{ networkCardIndex, deviceIndex, interfaceType },
  })),
});
const requestCases: readonly ConformanceCase[] = about('the CreateFleet request', [
  strategy(795, 'on-demand strategy with overlaid prices', 'on-demand', true, 'prioritized'),
  strategy(819, 'on-demand strategy', 'on-demand', false, 'lowest-price'),
  strategy(842, 'spot strategy with overlaid prices', 'spot', true, 'capacity-optimized-prioritized'),
  strategy(866, 'spot strategy', 'spot', false, 'price-capacity-optimized'),
  interfaces(907, 'EFA interfaces of the node class', network([0, 0, 'interface'], [0, 1, 'efa-only']), {}, 1),
  interfaces(919, 'a node class without EFA', network([0, 0, 'interface']), {}, undefined),
  interfaces(926, 'EFA that the claim requests', {}, { requests: { [efa]: '1' } }, 1),
  interfaces(945, 'no EFA', {}, {}, undefined),
]);

/** The zone's shift, from when it is switched on. */
function shifting() {
  const ec2 = new InstancesOfAccount();
  let isShifted = false;
  const getManagedResource = (): Promise<object> =>
    Promise.resolve(
      isShifted ? { zonalShifts: [{ appliedStatus: 'APPLIED', awayFrom: 'test-zone-1a', expiryTime: 2 ** 40 }] } : {},
    );
  const describeCluster = (): Promise<object> => Promise.resolve({ cluster: { arn: 'arn:of-cluster' } });
  const world = account({
    types,
    calls: { ...ec2.calls, getManagedResource, describeCluster },
    options: { zonalShift: true },
  });
  const shift = (): void => {
    isShifted = true;
    world.clock.time += 31_000;
  };
  return { ec2, shift, ...world };
}
const refused = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (String(error).includes('zonal shift') ? 'withheld' : String(error)),
  );
const counts = ({ ec2 }: ReturnType<typeof shifting>): readonly number[] =>
  ['describeInstances', 'terminateInstances', 'createTags'].map((call) => ec2.asked[call] ?? 0);
/** What comes of a call for an instance in a zone that is shifted away from, and calls that EC2 hears of it. */
const shifted = (
  work: (world: ReturnType<typeof shifting>) => Promise<unknown>,
  expected: unknown,
  isKnown = true,
): Check =>
  gives(async () => {
    const world = shifting();
    world.ec2.put('i-0');
    if (isKnown) await world.provider.get(providerIdOf('i-0'));
    world.shift();
    const before = counts(world);
    const answer = await work(world);
    return [answer, counts(world).map((count, i) => count - before[i]!)];
  }, expected);
const isFound = async ({ provider }: ReturnType<typeof shifting>): Promise<boolean> =>
  (await provider.get(providerIdOf('i-0'))) !== undefined;
const failures = 'cloudprovider_instance_termination_failures_total';

const shiftCases: readonly ConformanceCase[] = about('instances in a shifted zone', [
  same(988, 'are not described', shifted(isFound, [true, [0, 0, 0]])),
  same(
    995,
    'are not terminated',
    shifted(({ provider }) => refused(provider.terminate(providerIdOf('i-0'))), ['withheld', [0, 0, 0]]),
  ),
  same(
    1010,
    'are not tagged',
    shifted(({ provider }) => refused(provider.tag(providerIdOf('i-0'), { key: 'value' })), ['withheld', [0, 0, 0]]),
  ),
  same(
    1016,
    'a failed termination counts once',
    gives(async () => {
      const ec2 = new InstancesOfAccount();
      ec2.put('i-0');
      const refuse = (): Promise<never> =>
        Promise.reject(refusal('RequestLimitExceeded', 'words', 'ec2:TerminateInstances', 503));
      const { provider } = account({ types, calls: { ...ec2.calls, terminateInstances: refuse } });
      const counted: unknown[] = [];
      const metrics = {
        count: (name: string, own: object) => {
          if (name === failures) counted.push(own);
        },
        observe: () => undefined,
      };
      await refused(measuredCloud(provider, metrics, () => 0).terminate(providerIdOf('i-0')));
      return counted;
    }, [{ zone: 'test-zone-1a', zone_id: '' }]),
  ),
  same(
    1067,
    'are not terminated where the zone is unknown',
    shifted(({ provider }) => refused(provider.terminate(providerIdOf('i-0'))), ['withheld', [0, 0, 0]], false),
  ),
  differs(
    1075,
    'tags of an instance that is not known yet',
    'zonal-shift/shifted-zone',
    'its provider id says the zone',
    shifted(
      ({ provider }) => refused(provider.tag(providerIdOf('i-0'), { key: 'value' })),
      ['withheld', [0, 0, 0]],
      false,
    ),
  ),
  same(
    1083,
    'an instance that is no longer listed is gone',
    gives(async () => {
      const world = shifting();
      world.ec2.put('i-0');
      const before = await isFound(world);
      world.ec2.remove('i-0');
      await world.provider.list();
      return [before, await isFound(world)];
    }, [true, false]),
  ),
  same(
    1116,
    'are terminated again after the shift',
    shifted(
      async (world) => {
        world.ec2.remove('i-0');
        await world.provider.list();
        return isFound(world);
      },
      [true, [1, 0, 0]],
    ),
  ),
]);

/** pkg/providers/instance/suite_test.go */
export const instanceCases: readonly ConformanceCase[] = [
  ...refusalCases,
  ...metricCases,
  ...listCases,
  ...subnetCases,
  ...requestCases,
  ...shiftCases,
];
