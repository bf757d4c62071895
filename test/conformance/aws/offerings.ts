import { awsLabels } from '../../../api/aws/labels.js';
import { labels } from '../../../api/labels.js';
import { pinnedValue } from '../../../core/launch-options.js';
import { about, differs, gives, notApplicable, same, type ConformanceCase } from '../conformance-case.js';
import { oneOf, zone1 } from '../world.js';
import { account, launched, outcomeOf, type Account, type Given } from './account.js';
import { reserving } from './interfaces.js';
import { alias, custom, saying } from './launch-templates.js';
import { machine } from './machines.js';

const snapshot = (deviceName: string): object => ({
  blockDeviceMappings: [{ deviceName, ebs: { snapshotID: 'snap-12345678', volumeInitializationRate: 100 } }],
});
/** The GiB that pods have, and the disk, where the node class says no size. */
const unsized = (at: number, title: string, spec: object, device: string): ConformanceCase =>
  same(
    at,
    `a disk without a size: ${title}`,
    gives(async () => {
      const given = { types: ['m5.large'], spec: { ...spec, ...snapshot(device) } };
      const { templates, instance } = await launched(given);
      const disks = templates.flatMap(({ LaunchTemplateData: body }) => body?.BlockDeviceMappings ?? []);
      return [
        (instance.capacity['ephemeral-storage'] ?? 0) / 2 ** 30,
        disks.map(({ DeviceName, Ebs }) => [DeviceName, Ebs?.SnapshotId, Ebs?.VolumeInitializationRate]),
      ];
    }, [20, [[device, 'snap-12345678', 100]]]),
  );
const metadata = {
  httpEndpoint: 'disabled',
  httpProtocolIPv6: 'enabled',
  httpPutResponseHopLimit: 1,
  httpTokens: 'optional',
};

const templateCases: readonly ConformanceCase[] = about('disks and metadata in launch templates', [
  unsized(2512, 'Custom', custom, '/dev/xvda'),
  unsized(2534, 'AL2', alias('al2'), '/dev/xvda'),
  unsized(2548, 'AL2023', alias('al2023'), '/dev/xvda'),
  unsized(2563, 'Bottlerocket', alias('bottlerocket'), '/dev/xvdb'),
  same(
    2582,
    'instance metadata by default',
    saying({}, (body) => [body.MetadataOptions?.HttpEndpoint, body.MetadataOptions?.HttpTokens], [
      'enabled',
      'required',
    ]),
  ),
  same(
    2595,
    'instance metadata of the node class',
    saying({ spec: { metadataOptions: metadata } }, (body) => body.MetadataOptions, {
      ...{ HttpEndpoint: 'disabled', HttpProtocolIpv6: 'enabled', HttpPutResponseHopLimit: 1, HttpTokens: 'optional' },
      InstanceMetadataTags: 'disabled',
    }),
  ),
]);

const typeOf = async (world: Account, name: string) => (await world.types()).find((each) => each.name === name);
const open = async (world: Account, name: string): Promise<number> =>
  (await typeOf(world, name))?.offerings.filter(({ available }) => available).length ?? 0;

const tenancy = (at: number, title: string, values: readonly string[], expected: string): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const needs = values.length === 0 ? [] : [oneOf(awsLabels.instanceTenancy, ...values)];
      return (await launched({ types: ['m5.large'] }, { needs })).instance.labels[awsLabels.instanceTenancy];
    }, expected),
  );
const block = { id: 'cr-123', type: 'm5.large', zone: zone1, kind: 'capacity-block' } as const;
const ofBlock = (at: number, state: string, available: boolean): ConformanceCase =>
  same(
    at,
    `the offering of a capacity block that is ${state}`,
    gives(async () => {
      const given = reserving([[block, 1]]);
      const reservations = (given.status as { capacityReservations: readonly object[] }).capacityReservations;
      const status = { capacityReservations: reservations.map((each) => ({ ...each, state })) };
      const type = await typeOf(account({ ...given, status }), 'm5.large');
      return type?.offerings
        .filter(({ requirements }) => pinnedValue(requirements, labels.capacityType) === 'reserved')
        .map(({ requirements, ...offering }) => [
          pinnedValue(requirements, labels.zone),
          pinnedValue(requirements, awsLabels.capacityReservationType),
          pinnedValue(requirements, awsLabels.capacityReservationId),
          offering.available,
          offering.reservationCapacity,
        ]);
    }, [[zone1, 'capacity-block', 'cr-123', available, 1]]),
  );
const a1: Given = { types: [machine('a1.medium', { cpus: 1, mib: 2048, arm: true })], prices: { 'a1.medium': 0.0255 } };
const list = (...places: readonly (readonly [number, number, string])[]): object => ({
  networkInterfaces: places.map(([networkCardIndex, deviceIndex, interfaceType]) => ({
    ...{ networkCardIndex, deviceIndex, interfaceType },
  })),
});
const first = [0, 0, 'interface'] as const;
const pods = (at: number, title: string, spec: object, expected: number): ConformanceCase =>
  same(
    at,
    title,
    gives(
      async () => (await typeOf(account({ types: ['m6idn.32xlarge'], spec }), 'm6idn.32xlarge'))?.capacity.pods,
      expected,
    ),
  );

const offeringCases: readonly ConformanceCase[] = about('offerings of instance types', [
  same(
    2616,
    'one for each type, zone and capacity type',
    gives(async () => {
      const places = (await account().types()).flatMap(({ name, offerings }) =>
        offerings.map(({ requirements }) =>
          [name, pinnedValue(requirements, labels.zone), pinnedValue(requirements, labels.capacityType)].join('/'),
        ),
      );
      return places.length === new Set(places).size;
    }, true),
  ),
  notApplicable(
    [2831, 2859],
    'what of a list is kept for the next',
    'a list is made anew as a whole where something has changed',
  ),
  tenancy(2899, 'default tenancy', [], 'default'),
  tenancy(2906, 'default tenancy where both are allowed', ['default', 'dedicated'], 'default'),
  tenancy(2923, 'default tenancy that is required', ['default'], 'default'),
  tenancy(2934, 'dedicated tenancy', ['dedicated'], 'dedicated'),
  notApplicable(2968, 'lists at the same time', 'lists are not shared between threads'),
  ofBlock(3053, 'active', true),
  ofBlock(3054, 'expiring', false),
  same(
    3183,
    'a1 is not offered on AL2023',
    gives(() => open(account(a1), 'a1.medium'), 0),
  ),
  same(
    3184,
    'a1 is offered on Bottlerocket',
    gives(async () => (await open(account({ ...a1, spec: alias('bottlerocket') }), 'a1.medium')) > 0, true),
  ),
  same(
    3188,
    "a type that has the node class's interfaces",
    gives(() => open(account({ types: ['p5.48xlarge'], spec: list(first, [0, 1, 'efa-only']) }), 'p5.48xlarge'), 6),
  ),
  same(
    3214,
    'a type that has fewer interfaces is not offered',
    gives(
      () =>
        open(
          account({
            types: ['m6idn.32xlarge'],
            spec: list(first, [0, 1, 'efa-only'], [1, 0, 'efa-only'], [2, 0, 'efa-only']),
          }),
          'm6idn.32xlarge',
        ),
      0,
    ),
  ),
  pods(3240, 'pods of a type with EFA on another card', list(first, [1, 0, 'efa-only']), 394),
  pods(3258, 'pods of a type with EFA on the first card', list(first, [0, 1, 'efa-only']), 345),
  ...([3377, 3404] as const).map((at) =>
    same(
      at,
      at === 3377 ? 'no offering of a type without a price' : 'nor where overlays are switched off',
      gives(() => open(account({ types: ['p5.48xlarge'], prices: { 'm5.large': 0.1 } }), 'p5.48xlarge'), 0),
    ),
  ),
  notApplicable(3536, 'offerings by registered code', 'NodeOverlays say what else types have'),
]);

const gate = { options: { kubeletExpressions: true }, types: ['m5.large', 'm5.xlarge'] };
const expression = (settings: object): Given => ({ ...gate, spec: { kubelet: settings } });
const noTypes = (at: number, maxPods: string): ConformanceCase =>
  same(
    at,
    `no type where pods do not work out: ${maxPods}`,
    gives(() => outcomeOf(account(expression({ maxPods })).launch()), 'InsufficientCapacity'),
  );
/** CPU and memory that kubelet keeps of m5.large, in millicores and MiB without the 100 before eviction. */
const kept = (
  at: number,
  title: string,
  settings: object,
  expected: readonly [cpu: number, mib: number, pods: number],
): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const type = await typeOf(account(expression(settings)), 'm5.large');
      return [type?.overhead.cpu, (type?.overhead.memory ?? 0) / 2 ** 20 - 100, type?.capacity.pods];
    }, expected),
  );
const byCpus = { cpu: 'vcpus * 30', memory: 'memory_mib / 100' };
const unready = 'such a node class is not ready under either, and nothing is planned for it';

const expressionCases: readonly ConformanceCase[] = about('overhead by kubelet expressions', [
  notApplicable([3590, 3595, 3725], 'settings that are refused', unready),
  differs(
    [3632, 3645],
    'a type for which an expression fails is not offered',
    'node-classes/kubelet-expressions',
    'it is left out alone, until the node class is mended',
    gives(
      async () =>
        (await account(expression({ kubeReserved: { cpu: '60 / (vcpus - 2)' } })).types()).map(({ name }) => name),
      ['m5.xlarge'],
    ),
  ),
  same(
    [3600, 3667],
    'every type is offered where all expressions give values',
    gives(
      async () => (await account(expression({ clusterDNS: ['10.0.0.10'], maxPods: 'vcpus * 8' })).types()).length,
      2,
    ),
  ),
  noTypes(3703, '0 - 1'),
  noTypes(3704, '2147483647 + 1'),
  noTypes(3705, '1 / (vcpus - vcpus)'),
  kept(3707, 'number of pods', { maxPods: 'min(110, vcpus * 8)' }, [70, 574, 16]),
  kept(3747, 'kubeReserved', { kubeReserved: byCpus }, [60, 96, 29]),
  kept(
    3777,
    'amounts by number of pods',
    { maxPods: 'min(110, vcpus * 8)', kubeReserved: { memory: 'max_pods * 11' } },
    [70, 176, 16],
  ),
  kept(3804, 'systemReserved', { systemReserved: byCpus }, [130, 670, 29]),
]);

/** pkg/providers/instancetype/suite_test.go, offerings, disks and expressions. */
export const offeringCasesOfTypes: readonly ConformanceCase[] = [
  ...templateCases,
  ...offeringCases,
  ...expressionCases,
];
