import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';

/** What sets a machine apart; the rest is as m5.large has it. */
interface Machine {
  readonly cpus?: number;
  readonly mib?: number;
  readonly enis?: number;
  readonly addresses?: number;
  readonly arm?: true;
  readonly maker?: string;
  readonly gigahertz?: number;
  readonly ebsMbps?: number;
  readonly gbps?: number;
  readonly hypervisor?: string;
  readonly nvmeGb?: number;
  /** Of network cards, the first of which has `enis` interfaces and each other as many as it says, or one. */
  readonly cards?: number;
  readonly others?: number;
  readonly efas?: number;
  readonly gpus?: readonly [maker: string, name: string, count: number, mib: number];
  readonly neurons?: readonly [name: string, count: number, cores: number];
  readonly more?: Partial<InstanceTypeInfo>;
}

/** An instance type as EC2 describes it. */
export function machine(name: string, given: Machine = {}): InstanceTypeInfo {
  const { cpus = 2, mib = 8192, maker = 'Intel', gigahertz = 3.1, ebsMbps = 4750, hypervisor = 'nitro' } = given;
  return {
    InstanceType: name as never,
    Hypervisor: hypervisor as never,
    SupportedUsageClasses: ['on-demand', 'spot'],
    ProcessorInfo: {
      Manufacturer: maker,
      SupportedArchitectures: [given.arm === true ? 'arm64' : 'x86_64'],
      SustainedClockSpeedInGhz: gigahertz,
    },
    VCpuInfo: { DefaultVCpus: cpus },
    MemoryInfo: { SizeInMiB: mib },
    EbsInfo: { EbsOptimizedSupport: 'default', EbsOptimizedInfo: { MaximumBandwidthInMbps: ebsMbps } },
    NetworkInfo: networkOf(given),
    ...devicesOf(given),
    ...given.more,
  };
}

function networkOf({
  enis = 3,
  addresses = 10,
  cards = 1,
  others = 1,
  gbps = 0.75,
  efas,
}: Machine): InstanceTypeInfo['NetworkInfo'] {
  return {
    EnaSupport: 'required',
    EncryptionInTransitSupported: true,
    MaximumNetworkInterfaces: enis,
    Ipv4AddressesPerInterface: addresses,
    DefaultNetworkCardIndex: 0,
    NetworkCards: Array.from({ length: cards }, (_, i) => ({
      NetworkCardIndex: i,
      MaximumNetworkInterfaces: i === 0 ? enis : others,
      BaselineBandwidthInGbps: gbps / cards,
    })),
    ...(efas === undefined ? {} : { EfaSupported: true, EfaInfo: { MaximumEfaInterfaces: efas } }),
  };
}

const devicesOf = ({ nvmeGb, gpus, neurons }: Machine): Partial<InstanceTypeInfo> => ({
  ...(nvmeGb === undefined ? {} : { InstanceStorageInfo: { TotalSizeInGB: nvmeGb, NvmeSupport: 'required' } }),
  ...(gpus === undefined ? {} : { GpuInfo: { Gpus: [gpuOf(gpus)] } }),
  ...(neurons === undefined
    ? {}
    : { NeuronInfo: { NeuronDevices: [{ Name: neurons[0], Count: neurons[1], CoreInfo: { Count: neurons[2] } }] } }),
});

const gpuOf = ([Manufacturer, Name, Count, SizeInMiB]: NonNullable<Machine['gpus']>) => ({
  ...{ Manufacturer, Name, Count },
  MemoryInfo: { SizeInMiB },
});

const m6idn = { cpus: 128, mib: 524_288, enis: 8, addresses: 50, cards: 2, others: 7, efas: 2, nvmeGb: 7600 };

/** The machines that the cases buy from, each with its price on demand by the hour; spot is 30% of it. */
export const machines: Readonly<Record<string, readonly [price: number, machine: Machine]>> = {
  't3.large': [0.083, { addresses: 12, more: { BurstablePerformanceSupported: true } }],
  'm5.large': [0.096, {}],
  'c6g.large': [0.068, { mib: 4096, arm: true, maker: 'AWS', gigahertz: 2.5 }],
  'm7i-flex.large': [0.0958, { gigahertz: 3.2 }],
  'm5.xlarge': [0.192, { cpus: 4, mib: 16_384, enis: 4, addresses: 15 }],
  'inf2.xlarge': [
    0.758,
    {
      ...{ cpus: 4, mib: 16_384, enis: 4, addresses: 15, maker: 'AMD', gigahertz: 3.6 },
      ...{ ebsMbps: 10_000, gbps: 2.083, neurons: ['Inferentia2', 1, 2] },
    },
  ],
  'trn1.2xlarge': [1.3438, { cpus: 8, mib: 32_768, enis: 4, addresses: 15, neurons: ['Trainium', 1, 2] }],
  'g4dn.8xlarge': [
    2.176,
    {
      ...{ cpus: 32, mib: 131_072, enis: 4, addresses: 15, gigahertz: 2.5, ebsMbps: 9500, gbps: 50 },
      ...{ nvmeGb: 900, efas: 1, gpus: ['NVIDIA', 'T4', 1, 16_384] },
    },
  ],
  'g4ad.16xlarge': [3.468, { cpus: 64, mib: 262_144, enis: 8, addresses: 30, gpus: ['AMD', 'V520', 4, 8192] }],
  'm5.metal': [4.608, { cpus: 96, mib: 393_216, enis: 15, addresses: 50, hypervisor: '', more: { BareMetal: true } }],
  'inf2.24xlarge': [6.49063, { cpus: 96, mib: 393_216, enis: 15, addresses: 50, neurons: ['Inferentia2', 6, 2] }],
  'm6idn.32xlarge': [10.18368, m6idn],
  'p5.48xlarge': [
    98.32,
    {
      ...{ cpus: 192, mib: 2_097_152, enis: 2, addresses: 50, maker: 'AMD', cards: 32, others: 2, efas: 32 },
      gpus: ['NVIDIA', 'H100', 8, 81_920],
    },
  ],
};

/** The machine of a name of the table. */
export const known = (name: string): InstanceTypeInfo => machine(name, machines[name]![1]);
