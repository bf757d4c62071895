import type { LaunchTemplateInstanceNetworkInterfaceSpecificationRequest as Interface } from '@aws-sdk/client-ec2';
import { labels } from '../../../api/labels.js';
import { about, differs, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { oneOf, zone1, zone2 } from '../world.js';
import { account, launched, outcomeOf, overridesOf, templatesOf, type Asked, type Given } from './account.js';
import { custom, saying } from './launch-templates.js';

const efa: Asked = { requests: { 'vpc.amazonaws.com/efa': '2' } };
const efaTypes = ['p5.48xlarge'];
/** What the interfaces of a launch are, each by `look`. */
const interfaces = (given: Given, look: (of: Interface) => unknown, expected: unknown, asked?: Asked): Check =>
  saying(
    { ...(asked === efa ? { types: efaTypes } : {}), ...given },
    (body) => body.NetworkInterfaces?.map(look),
    expected,
    asked,
  );
const first = (given: Given, look: (of: Interface) => unknown, expected: unknown, asked?: Asked): Check =>
  saying(
    { ...(asked === efa ? { types: efaTypes } : {}), ...given },
    (body) => look(body.NetworkInterfaces?.[0] ?? {}),
    expected,
    asked,
  );
const listed = (...places: readonly (readonly [card: number, device: number, type: string])[]): object => ({
  networkInterfaces: places.map(([networkCardIndex, deviceIndex, interfaceType]) => ({
    ...{ networkCardIndex, deviceIndex, interfaceType },
  })),
});
const four = listed([0, 0, 'interface'], [0, 1, 'efa-only'], [1, 0, 'efa-only'], [1, 1, 'interface']);
const ipv6 = { options: { serviceCidr: 'fd00::/108', clusterDns: () => Promise.resolve('fd01:99f0:d47b::a') } };

const publicly = (at: number, value: boolean, asked?: Asked): ConformanceCase =>
  same(
    at,
    `${value ? 'a' : 'no'} public address${asked === undefined ? '' : ', with EFA'}`,
    first({ spec: { associatePublicIPAddress: value } }, (of) => of.AssociatePublicIpAddress, value, asked),
  );
const prefixes = (at: number, count: number, six: boolean): ConformanceCase =>
  same(
    at,
    `${count} prefixes of IPv${six ? 6 : 4}`,
    first(
      { ...(six ? ipv6 : {}), spec: { ipPrefixCount: count } },
      (of) => (six ? of.Ipv6PrefixCount : of.Ipv4PrefixCount),
      count,
    ),
  );
const six = (at: number, title: string, spec: object, expected: readonly unknown[], asked?: Asked): ConformanceCase =>
  same(
    at,
    `IPv6: ${title}`,
    first(
      { ...ipv6, spec },
      (of) => [of.Ipv6AddressCount, of.PrimaryIpv6, of.AssociatePublicIpAddress ?? null, of.InterfaceType ?? null],
      expected,
      asked,
    ),
  );

const tracking = { tcpEstablishedTimeout: 86_400, udpStreamTimeout: 120, udpTimeout: 45 };
const tracked = { TcpEstablishedTimeout: 86_400, UdpStreamTimeout: 120, UdpTimeout: 45 };
const onCards = { types: efaTypes };
const kinds = (of: Interface): unknown => [of.NetworkCardIndex, of.DeviceIndex, of.InterfaceType];
const fourPlaces = [
  [0, 0, 'interface'],
  [0, 1, 'efa-only'],
  [1, 0, 'efa-only'],
  [1, 1, 'interface'],
];

const interfaceCases: readonly ConformanceCase[] = about('network interfaces in launch templates', [
  publicly(2648, true),
  publicly(2649, false),
  publicly(2650, true, efa),
  publicly(2651, false, efa),
  ...[0, 1, 10, 100].map((count, i) => prefixes(2667 + i, count, false)),
  ...[0, 1, 10, 100].map((count, i) => prefixes(2684 + i, count, true)),
  same(
    2844,
    'an IPv4 DNS service',
    first({}, (of) => of.Ipv6AddressCount ?? null, null),
  ),
  same(
    2845,
    'an IPv6 DNS service',
    first(ipv6, (of) => of.Ipv6AddressCount, 1),
  ),
  six(2879, 'no public address setting by default', {}, [1, true, null, null]),
  six(2880, 'no public address setting with EFA', {}, [1, true, null, 'efa'], efa),
  six(2881, 'a public address with EFA', { associatePublicIPAddress: true }, [1, true, true, 'efa'], efa),
  six(2882, 'no public address', { associatePublicIPAddress: false }, [1, true, false, null]),
  same(
    2897,
    'connection tracking by default',
    first({}, (of) => of.ConnectionTrackingSpecification ?? null, null),
  ),
  same(
    2898,
    'connection tracking with given timeouts',
    first(
      { spec: { connectionTracking: { tcpEstablishedTimeout: 432_000, udpStreamTimeout: 180, udpTimeout: 30 } } },
      (of) => of.ConnectionTrackingSpecification,
      { TcpEstablishedTimeout: 432_000, UdpStreamTimeout: 180, UdpTimeout: 30 },
    ),
  ),
  same(
    2910,
    'connection tracking with one timeout',
    first(
      { spec: { connectionTracking: { tcpEstablishedTimeout: 86_400 } } },
      (of) => of.ConnectionTrackingSpecification,
      {
        TcpEstablishedTimeout: 86_400,
      },
    ),
  ),
  same(
    2933,
    'connection tracking on every EFA interface',
    interfaces(
      { spec: { connectionTracking: tracking } },
      (of) => [of.InterfaceType, of.ConnectionTrackingSpecification],
      Array.from({ length: 32 }, () => ['efa', tracked]),
      efa,
    ),
  ),
  same(
    2950,
    'connection tracking on every IP interface',
    interfaces(
      { ...onCards, spec: { ...four, connectionTracking: tracking } },
      (of) => of.ConnectionTrackingSpecification ?? null,
      [tracked, null, null, tracked],
    ),
  ),
  same(3002, 'interfaces of the node class', interfaces({ ...onCards, spec: four }, kinds, fourPlaces)),
  same(
    3003,
    'interfaces of the node class where pods request EFA too',
    interfaces({ ...onCards, spec: four }, kinds, fourPlaces, efa),
  ),
  same(
    3010,
    'no prefixes on EFA-only interfaces',
    interfaces(
      {
        ...onCards,
        spec: { ...listed([0, 0, 'interface'], [0, 1, 'efa-only'], [1, 1, 'interface']), ipPrefixCount: 2 },
      },
      (of) => of.Ipv4PrefixCount ?? null,
      [2, null, 2],
    ),
  ),
  same(
    3035,
    'no IPv6 address on EFA-only interfaces',
    interfaces(
      { ...onCards, ...ipv6, spec: listed([0, 0, 'interface'], [0, 1, 'efa-only']) },
      (of) => [of.PrimaryIpv6 ?? false, of.Ipv6AddressCount ?? null],
      [
        [true, 1],
        [false, null],
      ],
    ),
  ),
]);

const image = (id: string, arch: string): object => ({ id, name: id, requirements: [oneOf(labels.arch, arch)] });
/** The images that a launch's templates name. */
const images = (
  at: number,
  title: string,
  amis: readonly object[],
  expected: readonly string[],
  asked?: Asked,
): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const made = await templatesOf({ types: ['m5.large', 'c6g.large'], spec: custom, status: { amis } }, asked);
      return [...new Set(made.map(({ ImageId = '' }) => ImageId))].sort();
    }, expected),
  );
const refused = (at: number, title: string, amis: readonly object[]): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const world = account({ types: ['m5.large'], spec: custom, status: { amis } });
      return [await outcomeOf(world.launch()), world.sent.templates.length];
    }, ['InsufficientCapacity', 0]),
  );

const imageCases: readonly ConformanceCase[] = about('images in launch templates', [
  images(2422, 'the image of the node class', [image('ami-123', 'amd64')], ['ami-123']),
  images(2460, 'images by id', [image('ami-123', 'amd64'), image('ami-456', 'arm64')], ['ami-123', 'ami-456']),
  images(
    2501,
    'an image for each architecture',
    [image('ami-123', 'amd64'), image('ami-456', 'arm64')],
    ['ami-123', 'ami-456'],
  ),
  images(
    2530,
    'the newest image that fits',
    [image('ami-789', 'arm64'), image('ami-456', 'amd64'), image('ami-123', 'amd64')],
    ['ami-456'],
    { needs: [oneOf(labels.arch, 'amd64')] },
  ),
  refused(2579, 'no launch without an image', []),
  refused(2590, 'no launch without an image that fits', [image('ami-123', 'newnew')]),
  images(2609, 'an image of a parameter', [image('test-ami-123', 'amd64')], ['test-ami-123']),
]);

interface Reservation {
  readonly id: string;
  readonly type: string;
  readonly zone: string;
  readonly kind?: 'default' | 'capacity-block';
  readonly interruptible?: boolean;
}
/** A node class with these reservations, each with room for as many instances. */
export const reserving = (room: readonly (readonly [Reservation, number])[], more: Given = {}): Given => ({
  types: ['m5.large', 'm5.xlarge'],
  reserved: Object.fromEntries(room.map(([{ id }, count]) => [id, count])),
  ...more,
  status: {
    ...more.status,
    capacityReservations: room.map(([{ id, type, zone, kind = 'default', interruptible = false }]) => ({
      ...{ id, instanceType: type, availabilityZone: zone, reservationType: kind, interruptible },
      ...{ instanceMatchCriteria: 'targeted', ownerID: '012345678901', state: 'active' },
    })),
  },
});
const onlyReserved: Asked = { capacityTypes: ['reserved'] };
const rooms = [
  [{ id: 'cr-1', type: 'm5.large', zone: zone1 }, 10],
  [{ id: 'cr-2', type: 'm5.large', zone: zone1 }, 15],
  [{ id: 'cr-3', type: 'm5.large', zone: zone2 }, 10],
  [{ id: 'cr-4', type: 'm5.xlarge', zone: zone2 }, 15],
] as const;
const market = (at: number, title: string, of: Partial<Reservation>, expected: string): ConformanceCase =>
  same(
    at,
    title,
    saying(
      reserving([[{ id: 'cr-1', type: 'm5.large', zone: zone1, ...of }, 10]]),
      (body) => body.InstanceMarketOptions?.MarketType,
      expected,
      onlyReserved,
    ),
  );
const preference = (options: object): Check =>
  saying({ options }, (body) => body.CapacityReservationSpecification, { CapacityReservationPreference: 'none' });

const reservationCases: readonly ConformanceCase[] = about('capacity reservations in launch templates', [
  same(
    3081,
    'one template per reservation, that with most capacity of a type and zone',
    gives(async () => {
      const { templates, fleets } = await launched(reserving(rooms), onlyReserved);
      return [
        templates
          .map(({ LaunchTemplateData: body }) => body?.CapacityReservationSpecification)
          .map((of) => [of?.CapacityReservationTarget?.CapacityReservationId, of?.CapacityReservationPreference])
          .sort(),
        overridesOf(fleets)
          .map(({ InstanceType, AvailabilityZone }) => `${InstanceType ?? ''}/${AvailabilityZone ?? ''}`)
          .sort(),
        fleets.map(({ LaunchTemplateConfigs }) => LaunchTemplateConfigs?.length),
      ];
    }, [
      ['cr-2', 'cr-3', 'cr-4'].map((id) => [id, 'capacity-reservations-only']),
      [`m5.large/${zone1}`, `m5.large/${zone2}`, `m5.xlarge/${zone2}`],
      [3],
    ]),
  ),
  market(
    3209,
    'the market type of an interruptible reservation',
    { interruptible: true },
    'interruptible-capacity-reservation',
  ),
  market(3223, 'the market type of a capacity block', { kind: 'capacity-block' }, 'capacity-block'),
  same(3263, 'open reservations are not used', preference({ reservedCapacity: true })),
  differs(
    3264,
    'open reservations without the gate',
    'reserved-capacity/gate-off',
    'EC2 would use up any open reservation that matches',
    preference({ reservedCapacity: false }),
  ),
]);

/** pkg/providers/launchtemplate/suite_test.go, interfaces, images and reservations. */
export const interfaceTemplateCases: readonly ConformanceCase[] = [
  ...interfaceCases,
  ...imageCases,
  ...reservationCases,
];
