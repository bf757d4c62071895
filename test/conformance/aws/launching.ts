import type { Subnet } from '@aws-sdk/client-ec2';
import { awsLabels } from '../../../api/aws/labels.js';
import { annotations, labels } from '../../../api/labels.js';
import { pinnedValue } from '../../../core/launch-options.js';
import { addPool } from '../../simulation/cluster/world.js';
import { refusal } from '../../builders/aws-world.js';
import { running, second } from '../running/stage.js';
import { about, differs, gives, same, type ConformanceCase } from '../conformance-case.js';
import { all, oneOf, op, pod, pool, zone1 } from '../world.js';
import { account, launched, outcomeOf, overridesOf, resolved, type Asked, type Given } from './account.js';
import { providerIdOf } from './instances-of-account.js';
import { reserving } from './interfaces.js';
import { machine } from './machines.js';
import { planned } from './plans.js';

const types = ['m5.large'];
const ready = (status: string, more: object = {}): Given => ({
  types,
  status: { conditions: [{ type: 'Ready', status, reason: 'test', message: 'words', ...more }] },
});
const ends = (at: number, title: string, given: Given, expected: string, asked: Asked = {}): ConformanceCase =>
  same(
    at,
    title,
    gives(() => outcomeOf(account(given).launch(asked)), expected),
  );
const marks = { [annotations.ec2NodeClassHash]: 'hash', [annotations.ec2NodeClassHashVersion]: 'v4' };
const made = (
  at: number | readonly number[],
  title: string,
  look: (of: Awaited<ReturnType<typeof launched>>) => unknown,
  expected: unknown,
): ConformanceCase =>
  same(
    typeof at === 'number' ? at : [...at],
    title,
    gives(async () => look(await launched({ types, annotations: marks })), expected),
  );

const createCases: readonly ConformanceCase[] = about('launching a NodeClaim', [
  ends(236, 'fails for a node class without status', ready('Unknown'), 'LaunchFailed'),
  ends(243, 'fails for a node class that is not Ready', ready('False'), 'NodeClassNotReady'),
  same(
    250,
    'fails for a node class with restricted tags',
    gives(async () => {
      const world = account({ types });
      const spec = { ...world.nodeClass.spec, tags: { 'kubernetes.io/cluster/thewrongcluster': 'owned' } };
      Object.assign(world.nodeClass, { spec });
      return outcomeOf(world.launch());
    }, 'NodeClassNotReady'),
  ),
  ends(
    258,
    'fails for a node class that was changed since',
    ready('True', { observedGeneration: 0 }),
    'NodeClassNotReady',
  ),
  ends(267, 'fails where no type exists', { types }, 'InsufficientCapacity', {
    needs: [oneOf(labels.instanceType, 'test-type')],
  }),
  made(281, 'the claim has the image of the instance', ({ instance }) => instance.imageId, 'ami-amd64'),
  made(
    288,
    'the claim has the zone id',
    ({ instance }) => {
      const { zoneID } = resolved.subnets.find(({ zone }) => zone === instance.zone)!;
      return instance.labels[labels.zoneId] === zoneID;
    },
    true,
  ),
  made(303, 'the claim has annotations', ({ instance }) => instance.annotations, {
    ...marks,
    [annotations.instanceProfileName]: 'test-profile',
  }),
  made(
    [312, 320],
    'the claim has hash and version of the node class',
    ({ instance }) => Object.entries(marks).every(([key, value]) => instance.annotations[key] === value),
    true,
  ),
]);

const context = (
  at: number,
  title: string,
  spec: object,
  asked: Asked,
  expected: string | undefined,
): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => (await launched({ types, spec }, asked)).fleets.map(({ Context }) => Context), [expected]),
  );
const contextCases: readonly ConformanceCase[] = about('context of a launch', [
  context(331, 'of the node class', { context: 'context-1234' }, {}, 'context-1234'),
  context(
    341,
    'is left out where minValues were relaxed',
    { context: 'context-1234' },
    { annotations: { [annotations.minValuesRelaxed]: 'true' } },
    undefined,
  ),
  context(354, 'without a context', {}, {}, undefined),
]);

const sizes = { 'a1x.large': 1, 'b1x.large': 4, 'c1x.large': 8 };
const market = (...names: readonly (keyof typeof sizes)[]): Given => ({
  types: names.map((name) => machine(name, { cpus: sizes[name] })),
  prices: Object.fromEntries(names.map((name) => [name, sizes[name] / 100])),
  spot: Object.fromEntries(names.map((name) => [name, { [zone1]: sizes[name] / 1000 }])),
});
/** Two pods of which the larger types hold both: how many nodes there are, and what one of them may be launched as. */
const flexible = (
  at: number,
  title: string,
  given: Given,
  needs: NonNullable<Asked['needs']>,
  expected: number,
): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const two = ['p-1', 'p-2'].map((name) => pod(name, { requests: { cpu: '0.9' } }));
      const plan = await planned(given, [
        pool({ requirements: [oneOf(labels.capacityType, 'spot'), ...needs] as never }),
        ...two,
      ]);
      const { fleets } = await launched(given, { capacityTypes: ['spot'], needs, requests: { cpu: '900m' } });
      return [plan.left, plan.types.length, new Set(overridesOf(fleets).map(({ InstanceType }) => InstanceType)).size];
    }, [[], 2, expected]),
  );
const two = market('a1x.large', 'c1x.large');
const three = market('a1x.large', 'b1x.large', 'c1x.large');
const families = oneOf(awsLabels.instanceFamily, 'a1x', 'b1x', 'c1x');
const minValuesCases: readonly ConformanceCase[] = about('minValues in a launch', [
  flexible(365, 'of listed types', two, [{ ...oneOf(labels.instanceType, 'a1x.large', 'c1x.large'), minValues: 2 }], 2),
  flexible(
    463,
    'of any types',
    two,
    [
      { ...op(labels.instanceType, 'Exists'), minValues: 2 },
      { ...oneOf(labels.instanceType, 'a1x.large', 'c1x.large'), minValues: 1 },
    ],
    2,
  ),
  flexible(
    557,
    'of types and families',
    three,
    [
      { ...oneOf(labels.instanceType, ...Object.keys(sizes)), minValues: 2 },
      { ...families, minValues: 3 },
    ],
    3,
  ),
]);

const subnetsOf = (fleets: Parameters<typeof overridesOf>[0]): readonly (string | undefined)[] =>
  overridesOf(fleets).map(({ SubnetId }) => SubnetId);
/** Subnets of the first zone, by how many addresses they have free. */
export const having = (free: Readonly<Record<string, number>>, more: Given = {}): Given => ({
  types,
  ...more,
  status: { subnets: Object.keys(free).map((id) => ({ id, zone: zone1 })) },
  calls: {
    describeSubnets: (): Promise<{ Subnets: Subnet[] }> =>
      Promise.resolve({
        Subnets: Object.entries(free).map(([SubnetId, AvailableIpAddressCount]) => ({
          ...{ SubnetId, AvailableIpAddressCount },
          AvailabilityZone: zone1,
        })),
      }),
    ...more.calls,
  },
});
const onePod = { spec: { kubelet: { maxPods: 1 } } };

const subnetCases: readonly ConformanceCase[] = about('subnets of a launch', [
  same(
    1245,
    'one of each zone',
    gives(
      async () =>
        overridesOf((await launched({ types })).fleets)
          .map(({ SubnetId, AvailabilityZone }) => `${SubnetId ?? ''}/${AvailabilityZone ?? ''}`)
          .sort(),
      all.map((zone, i) => `subnet-${i + 1}/${zone}`),
    ),
  ),
  same(
    1270,
    'the one with most free addresses',
    gives(async () => subnetsOf((await launched(having({ a: 10, b: 100 }))).fleets), ['b']),
  ),
  same(
    1287,
    'less addresses of earlier launches',
    gives(async () => {
      const world = account(having({ a: 10, b: 11 }, onePod));
      for (let i = 0; i < 2; i++) await world.launch();
      return subnetsOf(world.sent.fleets);
    }, ['b', 'a']),
  ),
  same(
    1316,
    'a failed launch uses no addresses',
    gives(async () => {
      let failing = true;
      const asked: (string | undefined)[] = [];
      const world = account(
        having(
          { a: 10, b: 11 },
          {
            ...onePod,
            calls: {
              createFleet: (input: Parameters<typeof overridesOf>[0][number]) => {
                asked.push(...subnetsOf([input]));
                if (failing) return Promise.reject(refusal('InvalidParameterValue', 'words', 'ec2:CreateFleet'));
                const [Overrides] = overridesOf([input]);
                return Promise.resolve({
                  Instances: [
                    { InstanceIds: ['i-1'], InstanceType: 'm5.large', LaunchTemplateAndOverrides: { Overrides } },
                  ],
                });
              },
            },
          },
        ),
      );
      const first = await outcomeOf(world.launch());
      failing = false;
      return [first, await outcomeOf(world.launch()), asked];
    }, ['LaunchFailed', 'm5.large', ['b', 'b']]),
  ),
  same(
    1327,
    'those of its node class',
    gives(
      async () => [
        subnetsOf((await launched(having({ a: 10 }))).fleets),
        subnetsOf((await launched(having({ b: 100 }))).fleets),
      ],
      [['a'], ['b']],
    ),
  ),
  same(
    1395,
    'another NodePool where a node class has no subnets',
    running(
      ['default'],
      async (it) => {
        it.kube.put('Pod', pod('p', { requests: { cpu: '1' } }));
        await it.pass(40 * second);
        return it.kube.objects('NodeClaim').map(({ metadata }) => metadata.labels?.[labels.nodePool]);
      },
      {
        prepare: (it) => {
          it.cloud.setNotReady('broken', 'nothing selected');
          addPool(it.kube, 'a-broken', {
            weight: 100,
            template: {
              spec: {
                requirements: [],
                nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'broken' },
              },
            },
          });
          it.kube.put('EC2NodeClass', { metadata: { name: 'broken' }, spec: {} } as never);
        },
      },
    ),
  ),
]);

const efa = 'vpc.amazonaws.com/efa';
const p5: Given = { types: ['p5.48xlarge'] };
const network = (...list: readonly (readonly [number, number, string])[]): object => ({
  networkInterfaces: list.map(([networkCardIndex, deviceIndex, interfaceType]) => ({
    ...{ networkCardIndex, deviceIndex, interfaceType },
  })),
});
/** Whether the claim has EFA, and the kinds of interfaces that its templates have. */
const interfaces = (
  at: number,
  title: string,
  spec: object,
  requests: Asked['requests'],
  expected: unknown,
): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const { instance, templates } = await launched({ ...p5, spec }, requests === undefined ? {} : { requests });
      const used = templates.flatMap(({ LaunchTemplateData: body }) => body?.NetworkInterfaces ?? []);
      return [
        efa in instance.allocatable,
        [...new Set(used.map(({ InterfaceType }) => InterfaceType ?? 'none'))].sort(),
      ];
    }, expected),
  );
const efaCases: readonly ConformanceCase[] = about('EFA in a launch', [
  interfaces(1439, 'EFA that pods request', {}, { [efa]: '1' }, [true, ['efa']]),
  same(
    1456,
    'no EFA otherwise',
    gives(async () => efa in (await launched(p5)).instance.allocatable, false),
  ),
  interfaces(1469, 'EFA of the node class', network([0, 0, 'interface'], [0, 1, 'efa-only']), undefined, [
    true,
    ['efa-only', 'interface'],
  ]),
  interfaces(1497, 'a node class with other interfaces', network([0, 0, 'interface'], [1, 1, 'interface']), undefined, [
    false,
    ['interface'],
  ]),
]);

const cr1 = { id: 'cr-1', type: 'm5.large', zone: zone1 } as const;
/** Instances that a reservation has room for, as offerings say it. */
const room = async (world: ReturnType<typeof account>): Promise<number | undefined> => {
  const [type] = await world.types();
  return type?.offerings.find(({ requirements }) => pinnedValue(requirements, labels.capacityType) === 'reserved')
    ?.reservationCapacity;
};
const inReservation = { capacityTypes: ['reserved'] };
const labelled = (at: number, kind: 'default' | 'capacity-block', interruptible: boolean): ConformanceCase =>
  same(
    at,
    `labels of the reservation: ${interruptible ? 'interruptible' : kind}`,
    gives(async () => {
      const given = reserving([[{ ...cr1, kind, interruptible }, 10]], { types });
      const { labels: own } = (await launched(given, inReservation)).instance;
      return [
        labels.capacityType,
        awsLabels.capacityReservationId,
        awsLabels.capacityReservationType,
        awsLabels.capacityReservationInterruptible,
      ].map((key) => own[key]);
    }, ['reserved', 'cr-1', kind, String(interruptible)]),
  );
const reservationCases: readonly ConformanceCase[] = about('reservations in a launch', [
  same(
    1565,
    'a launch reduces the free capacity',
    gives(async () => {
      const world = account(reserving([[cr1, 10]], { types }));
      const before = await room(world);
      await world.launch(inReservation);
      return [before, await room(world)];
    }, [10, 9]),
  ),
  differs(
    1574,
    'a terminated instance returns its capacity',
    'reserved-capacity/counters',
    'what becomes free counts once EC2 says so, within a minute',
    gives(async () => {
      const reserved: Record<string, number> = { 'cr-1': 10 };
      const world = account({
        ...reserving([[cr1, 10]], { types }),
        reserved,
        calls: { terminateInstances: () => Promise.reject(refusal('InvalidInstanceID.NotFound')) },
      });
      await world.launch(inReservation);
      const gone = await world.provider.terminate(providerIdOf('i-0'));
      const then = await room(world);
      world.clock.time += 61_000;
      return [gone, then, await room(world)];
    }, ['gone', 9, 10]),
  ),
  labelled(1617, 'default', false),
  labelled(1618, 'default', true),
  labelled(1619, 'capacity-block', false),
]);

/** pkg/cloudprovider/suite_test.go, launches. */
export const launchCases: readonly ConformanceCase[] = [
  ...createCases,
  ...contextCases,
  ...minValuesCases,
  ...subnetCases,
  ...efaCases,
  ...reservationCases,
];
