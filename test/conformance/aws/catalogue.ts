import { awsLabels } from '../../../api/aws/labels.js';
import { labels } from '../../../api/labels.js';
import type { Offering } from '../../../core/instance-type.js';
import { pinnedValue } from '../../../core/launch-options.js';
import { about, differs, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { all, oneOf, op, pod, zone1, zone2, zone3, type PodOptions } from '../world.js';
import { account, launched, outcomeOf, overridesOf, type Asked, type Given } from './account.js';
import { alias } from './launch-templates.js';
import { known, machine } from './machines.js';
import { onDemandPool, plansOn, type Outcome } from './plans.js';

const selected = (
  at: number,
  title: string,
  given: Given,
  pods: readonly PodOptions[],
  expected: Partial<Outcome>,
): ConformanceCase =>
  same(
    at,
    title,
    plansOn(
      given,
      pods.map((options, i) => pod(`p-${i}`, options)),
      expected,
    ),
  );
const asks = (name: string, ...counts: readonly number[]): PodOptions[] =>
  counts.map((count) => ({ requests: { [name]: String(count) } }));
const of = (type: string): PodOptions => ({ nodeSelector: { [labels.instanceType]: type } });

const everyNode = {
  [labels.nodePool]: 'default',
  [labels.region]: 'us-west-2',
  [labels.zone]: zone1,
  [labels.os]: 'linux',
  [labels.arch]: 'amd64',
  [labels.capacityType]: 'on-demand',
  [awsLabels.instanceTenancy]: 'default',
  [awsLabels.instanceHypervisor]: 'nitro',
  [awsLabels.instanceEncryptionInTransitSupported]: 'true',
  [awsLabels.instanceCapabilityFlex]: 'false',
  [labels.zoneId]: 'tz1-az1',
  'failure-domain.beta.kubernetes.io/region': 'us-west-2',
  'failure-domain.beta.kubernetes.io/zone': zone1,
  'beta.kubernetes.io/arch': 'amd64',
  'beta.kubernetes.io/os': 'linux',
  'topology.ebs.csi.aws.com/zone': zone1,
};
const g4dn = {
  ...everyNode,
  [labels.instanceType]: 'g4dn.8xlarge',
  'beta.kubernetes.io/instance-type': 'g4dn.8xlarge',
  [awsLabels.instanceCategory]: 'g',
  [awsLabels.instanceGeneration]: '4',
  [awsLabels.instanceFamily]: 'g4dn',
  [awsLabels.instanceSize]: '8xlarge',
  [awsLabels.instanceCpu]: '32',
  [awsLabels.instanceCpuManufacturer]: 'intel',
  [awsLabels.instanceCpuSustainedClockSpeedMhz]: '2500',
  [awsLabels.instanceMemory]: '131072',
  [awsLabels.instanceEbsBandwidth]: '9500',
  [awsLabels.instanceNetworkBandwidth]: '50000',
  [awsLabels.instanceGpuName]: 't4',
  [awsLabels.instanceGpuManufacturer]: 'nvidia',
  [awsLabels.instanceGpuCount]: '1',
  [awsLabels.instanceGpuMemory]: '16384',
  [awsLabels.instanceLocalNvme]: '900',
};
const inf2 = {
  ...everyNode,
  [labels.instanceType]: 'inf2.xlarge',
  'beta.kubernetes.io/instance-type': 'inf2.xlarge',
  [awsLabels.instanceCategory]: 'inf',
  [awsLabels.instanceGeneration]: '2',
  [awsLabels.instanceFamily]: 'inf2',
  [awsLabels.instanceSize]: 'xlarge',
  [awsLabels.instanceCpu]: '4',
  [awsLabels.instanceCpuManufacturer]: 'amd',
  [awsLabels.instanceCpuSustainedClockSpeedMhz]: '3600',
  [awsLabels.instanceMemory]: '16384',
  [awsLabels.instanceEbsBandwidth]: '10000',
  [awsLabels.instanceNetworkBandwidth]: '2083',
  [awsLabels.instanceAcceleratorName]: 'inferentia2',
  [awsLabels.instanceAcceleratorManufacturer]: 'aws',
  [awsLabels.instanceAcceleratorCount]: '1',
};
const accelerator = Object.entries(inf2).filter(([key]) => key.includes('accelerator'));

const labelCases: readonly ConformanceCase[] = about('node selectors by AWS labels find a type', [
  selected(
    223,
    'for each label of a node by itself',
    {},
    [...Object.entries(g4dn), ...accelerator].map(([key, value]) => ({ nodeSelector: { [key]: value } })),
    { left: [] },
  ),
  selected(292, 'for all labels of a node with a GPU', {}, [{ nodeSelector: g4dn }], {
    left: [],
    types: ['g4dn.8xlarge'],
  }),
  selected(355, 'for all labels of a node with an accelerator', {}, [{ nodeSelector: inf2 }], {
    left: [],
    types: ['inf2.xlarge'],
  }),
  ...(
    [
      [3500, 'supported', 'true'],
      [3517, 'unsupported', 'false'],
    ] as const
  ).map(([at, NitroEnclavesSupport, value]) =>
    same(
      at,
      `the label of enclaves: ${NitroEnclavesSupport}`,
      gives(async () => {
        const [type] = await account({ types: [{ ...known('m5.large'), NitroEnclavesSupport }] }).types();
        return pinnedValue(type?.requirements ?? [], awsLabels.nitroSandbox);
      }, value),
    ),
  ),
]);

/** The types that a launch asks for. */
const asked = async (given: Given, ask: Asked = {}): Promise<string[]> => {
  const { fleets } = await launched(given, ask);
  return [...new Set(overridesOf(fleets).map(({ InstanceType }) => String(InstanceType)))];
};
const many = Array.from({ length: 100 }, (_, i) => `c9x.s${String(i).padStart(3, '0')}`);
const manyTypes: Given = {
  types: many.map((name) => machine(name)),
  prices: Object.fromEntries(many.map((name, i) => [name, 0.1 + i / 100])),
};
const flexible: Asked = { capacityTypes: ['spot', 'on-demand'] };
const flex = (at: number, title: string, value: string, expected: Partial<Outcome>): ConformanceCase =>
  selected(
    at,
    title,
    { types: ['m5.large', 'm7i-flex.large'] },
    [{ nodeSelector: { [awsLabels.instanceCapabilityFlex]: value } }],
    expected,
  );
const ip = 'vpc.amazonaws.com/PrivateIPv4Address';
const windows: Given = { spec: alias('windows2022') };
const two = (type: string): Partial<Outcome> => ({ left: [], types: [type, type] });

const choiceCases: readonly ConformanceCase[] = about('choice of instance types', [
  selected(417, 't3 has no pod ENIs', {}, [{ ...of('t3.large'), requests: { 'vpc.amazonaws.com/pod-eni': '1' } }], {
    left: ['p-0'],
  }),
  same(
    431,
    'a claim lists the sixty cheapest types',
    gives(async () => (await asked(manyTypes)).sort(), many.slice(0, 60)),
  ),
  same(
    476,
    'spot above the cheapest on-demand price is dropped',
    gives(
      async () => {
        const found = await asked(
          { ...manyTypes, spot: Object.fromEntries(many.map((name, i) => [name, { [zone1]: 0.05 + i / 100 }])) },
          flexible,
        );
        return found.sort();
      },
      many.slice(0, 6),
    ),
  ),
  same(
    546,
    'bare metal is listed where minValues requires it',
    gives(
      async () =>
        (
          await asked({}, { capacityTypes: ['spot'], needs: [{ ...op(labels.instanceType, 'Exists'), minValues: 1 }] })
        ).some((name) => name.includes('metal')),
      true,
    ),
  ),
  same(
    581,
    'bare metal is not listed otherwise',
    gives(async () => (await asked({})).some((name) => name.includes('metal')), false),
  ),
  same(
    600,
    'GPU types are not listed without a request',
    gives(async () => (await asked({})).some((name) => name.startsWith('g')), false),
  ),
  selected(
    619,
    'bare metal is used where a pod selects it',
    {},
    [{ nodeSelector: { [awsLabels.instanceSize]: 'metal' }, cpu: '1' }],
    {
      left: [],
      types: ['m5.metal'],
    },
  ),
  selected(
    638,
    'a pod that requests a pod ENI gets a type with one',
    { types: ['t3.large', 'm5.large'] },
    asks('vpc.amazonaws.com/pod-eni', 1),
    {
      left: [],
      types: ['m5.large'],
    },
  ),
  flex(655, 'flex types match their label', 'true', { left: [], types: ['m7i-flex.large'] }),
  same(
    667,
    "flex types are excluded by the NodePool's requirement",
    plansOn(
      {},
      [
        {
          ...onDemandPool,
          spec: {
            template: {
              spec: {
                nodeClassRef: { group: 'g', kind: 'K', name: 'n' },
                requirements: [op(awsLabels.instanceCapabilityFlex, 'NotIn', 'true')],
              },
            },
          },
        } as never,
        pod('p', { nodeSelector: { [awsLabels.instanceCapabilityFlex]: 'true' } }),
      ],
      { left: ['p'] },
    ),
  ),
  flex(682, 'other types match the label for no flex', 'false', { left: [], types: ['m5.large'] }),
  selected(
    694,
    'a pod that requests a private IPv4 address on Windows gets a type with it',
    { ...windows, types: ['m5.large'] },
    asks(ip, 1),
    {
      left: [],
      types: ['m5.large'],
    },
  ),
  differs(
    710,
    'types that the VPC controller does not list have no private IPv4 addresses',
    'instance-types/capacity',
    "they are as EC2 reports them, also for types that the controller's release does not know",
    plansOn(
      { ...windows, types: [machine('test.large')], prices: { 'test.large': 0.1 } },
      [pod('p', { requests: { [ip]: '1' } })],
      {
        left: [],
      },
    ),
  ),
  selected(
    765,
    'a pod that requests NVIDIA GPUs gets a type with them',
    {},
    asks('nvidia.com/gpu', 5, 2, 5),
    two('p5.48xlarge'),
  ),
  selected(
    798,
    'a pod that requests AWS accelerators gets a type with them',
    {},
    asks('aws.amazon.com/neuron', 2, 2, 4),
    two('inf2.24xlarge'),
  ),
  selected(
    831,
    'a pod that requests accelerators of one type gets it',
    { types: ['trn1.2xlarge'] },
    asks('aws.amazon.com/neuron', 1),
    {
      left: [],
      types: ['trn1.2xlarge'],
    },
  ),
  selected(
    857,
    'a pod that requests accelerator cores gets a type with them',
    { types: ['inf2.xlarge'] },
    asks('aws.amazon.com/neuroncore', 2),
    {
      left: [],
      types: ['inf2.xlarge'],
    },
  ),
  selected(
    884,
    'a pod that requests EFA gets a type with it',
    { types: ['p5.48xlarge'] },
    asks('vpc.amazonaws.com/efa', 1, 2),
    {
      left: [],
      types: ['p5.48xlarge'],
    },
  ),
  selected(
    916,
    'a pod that requests AMD GPUs gets a type with them',
    {},
    asks('amd.com/gpu', 1, 2, 4),
    two('g4ad.16xlarge'),
  ),
  selected(949, 'unused local disks are not ephemeral storage', {}, asks('ephemeral-storage', 5e12), { left: ['p-0'] }),
  selected(
    959,
    'RAID0 local disks are ephemeral storage',
    { spec: { instanceStorePolicy: 'RAID0' } },
    asks('ephemeral-storage', 5e12),
    {
      left: [],
      types: ['m6idn.32xlarge'],
    },
  ),
  notApplicable([1025, 1039], 'metrics of types', 'metrics are those of docs/metrics.md'),
  selected(
    1054,
    'local zones are offered where the subnets are there',
    { types: ['m5.large'], soldIn: ['local-1a'], status: { subnets: [{ id: 'subnet-1', zone: 'local-1a' }] } },
    [{ needs: [oneOf(labels.zone, 'local-1a')] }],
    { left: [] },
  ),
]);

const placeOf = ({ requirements }: Offering): string =>
  `${pinnedValue(requirements, labels.capacityType) ?? ''}/${pinnedValue(requirements, labels.zone) ?? ''}`;
/** Where a type can be had. */
const available = async (world: ReturnType<typeof account>, name = 'm5.large'): Promise<string[]> => {
  const type = (await world.types()).find((each) => each.name === name);
  return (type?.offerings ?? []).filter((offering) => offering.available).map(placeOf);
};
const onlyType = (name: string): Asked => ({ needs: [oneOf(labels.instanceType, name)] });
const inZone = (name: string, zone: string): Asked => ({
  needs: [oneOf(labels.instanceType, name), oneOf(labels.zone, zone)],
});

/** Launches one after the other, and what became of each. */
const inTurn = (given: Given, asks: readonly Asked[], expected: readonly string[]): Check =>
  gives(async () => {
    const world = account(given);
    const outcomes: string[] = [];
    for (const ask of asks) outcomes.push(await outcomeOf(world.launch(ask)));
    return outcomes;
  }, expected);
const none = 'InsufficientCapacity';
const refused = (name: string, zone: string, capacityType = 'on-demand') => ({
  ...{ instanceType: name, zone, capacityType },
  reason: 'test',
});
const neuron: Asked = { needs: [oneOf(labels.zone, zone1)], requests: { 'aws.amazon.com/neuron': '1' } };

const capacityCases: readonly ConformanceCase[] = about('insufficient capacity and capacity types', [
  same(
    2081,
    'another type is launched where the first has no capacity',
    inTurn(
      { types: ['inf2.xlarge', 'inf2.24xlarge'], empty: [`inf2.24xlarge/${zone1}/on-demand`] },
      [inZone('inf2.24xlarge', zone1), neuron],
      [none, 'inf2.xlarge'],
    ),
  ),
  ...([2114, 2192] as const).map((at, i) =>
    same(
      at,
      `another zone where the first has none: ${['g4dn.8xlarge', 'p5.48xlarge'][i]!}`,
      gives(async () => {
        const name = ['g4dn.8xlarge', 'p5.48xlarge'][i]!;
        const world = account({ types: [name], empty: [`${name}/${zone1}/on-demand`] });
        const first = await outcomeOf(world.launch(inZone(name, zone1)));
        const next = await world.launch(onlyType(name));
        return [first, next.ok ? next.value.zone !== zone1 : next.error.kind];
      }, [none, true]),
    ),
  ),
  same(
    2141,
    'smaller types are launched where the larger has none',
    inTurn(
      { types: ['m5.large', 'm5.xlarge'], empty: [`m5.xlarge/${zone1}/on-demand`] },
      [inZone('m5.xlarge', zone1), { needs: [oneOf(labels.zone, zone1)] }],
      [none, 'm5.large'],
    ),
  ),
  same(
    2173,
    'the type is launched again once it is available',
    gives(async () => {
      const world = account({ types: ['inf2.24xlarge'] });
      world.provider.markUnavailable([refused('inf2.24xlarge', zone1)]);
      const before = await outcomeOf(world.launch(inZone('inf2.24xlarge', zone1)));
      world.clock.time += 60 * 60_000;
      return [before, await outcomeOf(world.launch(inZone('inf2.24xlarge', zone1)))];
    }, [none, 'inf2.24xlarge']),
  ),
  same(
    2219,
    'on-demand is launched where there is no spot',
    gives(async () => {
      const world = account({ types: ['m5.large'], empty: all.map((zone) => `m5.large/${zone}/spot`) });
      const result = await world.launch(flexible);
      return result.ok ? result.value.capacityType : result.error.kind;
    }, 'on-demand'),
  ),
  same(
    2255,
    'a type without capacity stays in the list',
    gives(async () => {
      const world = account({ types: ['m5.large', 'm5.xlarge'] });
      world.provider.markUnavailable(
        all.flatMap((zone) => ['spot', 'on-demand'].map((capacityType) => refused('m5.xlarge', zone, capacityType))),
      );
      return [(await world.types()).map(({ name }) => name), await available(world, 'm5.xlarge')];
    }, [['m5.large', 'm5.xlarge'], []]),
  ),
  same(
    2303,
    'only the refused offerings are unavailable',
    gives(async () => {
      const world = account({ types: ['m5.large', 'm5.xlarge'] });
      const counts = [(await available(world)).length];
      world.provider.markUnavailable([refused('m5.xlarge', zone1, 'spot'), refused('m5.xlarge', zone2, 'spot')]);
      counts.push((await available(world)).length);
      world.provider.markUnavailable([refused('m5.large', zone1, 'spot')]);
      counts.push((await available(world)).length);
      world.provider.markUnavailable([refused('m5.large', zone2), refused('m5.large', zone3)]);
      return [...counts, (await available(world)).sort()];
    }, [6, 6, 5, [`on-demand/${zone1}`, `spot/${zone2}`, `spot/${zone3}`]]),
  ),
  same(
    2364,
    'a capacity type refused as a whole is unavailable',
    gives(
      async () => {
        const world = account({ types: ['m5.large'] });
        world.provider.markUnavailable([refused('*', '*', 'spot')]);
        return (await available(world)).sort();
      },
      all.map((zone) => `on-demand/${zone}`),
    ),
  ),
  same(
    2395,
    'a zone whose subnets have no addresses is unavailable',
    gives(async () => {
      const Overrides = { InstanceType: 'm5.large', AvailabilityZone: zone1, SubnetId: 'subnet-1' } as const;
      const error = { ErrorCode: 'InsufficientFreeAddressesInSubnet', ErrorMessage: 'none' };
      const world = account({ types: ['m5.large'], errors: [{ ...error, LaunchTemplateAndOverrides: { Overrides } }] });
      await world.launch();
      return (await available(world)).filter((place) => place.endsWith(zone1));
    }, []),
  ),
  same(
    2430,
    'on-demand is launched where it is required',
    gives(async () => (await launched({ types: ['m5.large'] })).instance.capacityType, 'on-demand'),
  ),
  same(
    2437,
    'spot is launched before on-demand',
    gives(async () => (await launched({ types: ['m5.large'] }, flexible)).instance.capacityType, 'spot'),
  ),
  same(
    2446,
    'a zone without a spot price has no spot',
    inTurn(
      { types: ['m5.large'], spot: { 'm5.large': { [zone1]: 0.004 } } },
      [{ ...inZone('m5.large', zone2), capacityTypes: ['spot'] }],
      [none],
    ),
  ),
  same(
    2472,
    'a zone with a spot price has spot',
    inTurn(
      { types: ['m5.large'], spot: { 'm5.large': { [zone1]: 0.004 } } },
      [{ capacityTypes: ['spot'] }],
      ['m5.large'],
    ),
  ),
]);

/** pkg/providers/instancetype/suite_test.go, which types there are and which are chosen. */
export const catalogueCases: readonly ConformanceCase[] = [...labelCases, ...choiceCases, ...capacityCases];
