import type { CatalogueEntry } from '../checker/types.js';
import { capacityTypeKey, inValues, zoneKey } from './objects.js';
import type { Random } from './random.js';

type Offering = CatalogueEntry['offerings'][number];

export const offering = (zone: string, capacityType: string, Price: number, Available = true): Offering => ({
  Price,
  Available,
  Requirements: [inValues(capacityTypeKey, capacityType), inValues(zoneKey, zone)],
});

const round = (price: number): number => Math.round(price * 1e5) / 1e5;

/**
 * The types that Karpenter's scheduling benchmark uses: the n-th has n CPUs, 2n GiB and room for 10n pods, is priced
 * by its CPUs and bytes alike under both capacity types, and has no spot in the third zone.
 */
export function benchmarkCatalogue(count = 400): CatalogueEntry[] {
  return Array.from({ length: count }, (_, i) => {
    const size = i + 1;
    const price = round(0.1 * size + (0.1 * size * 2 * 2 ** 30) / 1e9);
    return {
      name: `fake-it-${i}`,
      architecture: 'amd64',
      operatingSystems: ['darwin', 'linux', 'windows'],
      resources: { cpu: String(size), memory: `${2 * size}Gi`, pods: String(10 * size) },
      offerings: [
        offering('test-zone-1', 'spot', price),
        offering('test-zone-2', 'spot', price),
        offering('test-zone-1', 'on-demand', price),
        offering('test-zone-2', 'on-demand', price),
        offering('test-zone-3', 'on-demand', price),
      ],
    };
  });
}

interface Family {
  readonly name: string;
  /** GiB for each vCPU. */
  readonly ratio: number;
  /** Dollars an hour for each vCPU. */
  readonly price: number;
  readonly arm?: boolean;
  readonly gpu?: { readonly perCpu: number; readonly resource: string };
  readonly least: number;
  readonly most: number;
}

const sizes: readonly (readonly [name: string, cpus: number])[] = [
  ['medium', 1],
  ['large', 2],
  ['xlarge', 4],
  ['2xlarge', 8],
  ['3xlarge', 12],
  ['4xlarge', 16],
  ['6xlarge', 24],
  ['8xlarge', 32],
  ['9xlarge', 36],
  ['12xlarge', 48],
  ['16xlarge', 64],
  ['18xlarge', 72],
  ['24xlarge', 96],
  ['32xlarge', 128],
  ['48xlarge', 192],
];

const bases = [
  { letter: 'c', ratio: 2, price: 0.0425 },
  { letter: 'm', ratio: 4, price: 0.048 },
  { letter: 'r', ratio: 8, price: 0.063 },
];
const variants: readonly (readonly [suffix: string, factor: number, arm: boolean])[] = [
  ['', 1, false],
  ['a', 0.9, false],
  ['d', 1.17, false],
  ['n', 1.22, false],
  ['i', 1, false],
  ['id', 1.18, false],
  ['in', 1.3, false],
  ['g', 0.8, true],
  ['gd', 0.94, true],
  ['gn', 1.02, true],
];

/** Families in the manner of EC2: letters for the ratio of memory, generations, makers, and what is built in. */
function families(): Family[] {
  const all: Family[] = [];
  for (const base of bases) {
    for (const generation of [5, 6, 7]) {
      for (const [suffix, factor, arm] of variants) {
        if ((generation === 5) === (suffix.startsWith('i') || suffix.startsWith('g'))) continue;
        if (generation > 5 && ['', 'd', 'n'].includes(suffix)) continue;
        const price = base.price * factor * (1 + 0.025 * (generation - 5));
        all.push({
          name: `${base.letter}${generation}${suffix}`,
          ratio: base.ratio,
          price,
          arm,
          least: arm ? 1 : 2,
          most: 192,
        });
      }
    }
  }
  for (const [name, price, arm] of [
    ['t3', 0.0416, false],
    ['t3a', 0.0376, false],
    ['t4g', 0.0336, true],
  ] as const) {
    all.push({ name, ratio: 4, price, arm, least: 2, most: 8 });
  }
  for (const name of ['x1', 'x2idn', 'x2gd']) {
    all.push({ name, ratio: 16, price: 0.104, arm: name.endsWith('gd'), least: 2, most: 128 });
  }
  for (const [name, perCpu, price] of [
    ['g4dn', 0.25, 0.13],
    ['g5', 0.25, 0.25],
    ['p3', 0.125, 0.38],
    ['g6', 0.25, 0.2],
  ] as const) {
    all.push({ name, ratio: 4, price, gpu: { perCpu, resource: 'nvidia.com/gpu' }, least: 4, most: 96 });
  }
  return all;
}

export const ec2Zones = ['us-west-2a', 'us-west-2b', 'us-west-2c'];

/**
 * A catalogue in the manner of EC2: families, sizes, GPUs, two architectures; spot at 25 to 75% of on-demand, zone by
 * zone; a few offerings missing or out of capacity. Up to about 800 types.
 */
export function ec2Catalogue(random: Random, count = 800): CatalogueEntry[] {
  const all: CatalogueEntry[] = [];
  for (const family of families()) {
    const missing = random.chance(0.1) ? random.pick(ec2Zones) : undefined;
    for (const [size, cpus] of sizes) {
      if (cpus < family.least || cpus > family.most) continue;
      all.push(ec2Type(random, family, size, cpus, missing));
    }
  }
  while (all.length > count) all.splice(random.int(0, all.length - 1), 1);
  return all;
}

function ec2Type(random: Random, family: Family, size: string, cpus: number, missing?: string): CatalogueEntry {
  const onDemand = family.price * cpus;
  const offerings = ec2Zones
    .filter((zone) => zone !== missing)
    .flatMap((zone) => [
      offering(zone, 'on-demand', round(onDemand), !random.chance(0.01)),
      offering(zone, 'spot', round(onDemand * (0.25 + 0.5 * random.next())), !random.chance(0.04)),
    ]);
  const gpus = family.gpu === undefined ? 0 : Math.max(1, Math.round(cpus * family.gpu.perCpu));
  return {
    name: `${family.name}.${size}`,
    architecture: family.arm === true ? 'arm64' : 'amd64',
    operatingSystems: ['linux'],
    resources: {
      cpu: String(cpus),
      // What a kubelet finds: the hypervisor and the system keep a share.
      memory: `${Math.floor(cpus * family.ratio * 1024 * 0.92)}Mi`,
      pods: String(cpus <= 1 ? 8 : cpus <= 2 ? 29 : cpus <= 8 ? 58 : cpus <= 48 ? 234 : 737),
      'ephemeral-storage': '20Gi',
      ...(family.gpu !== undefined && { [family.gpu.resource]: String(gpus) }),
    },
    offerings,
  };
}

/** A few types of odd shapes, for cases where the choice is narrow. */
export function smallCatalogue(random: Random, zones: readonly string[], count: number): CatalogueEntry[] {
  return Array.from({ length: count }, (_, i) => {
    const cpus = random.pick([1, 2, 4, 8, 16, 32]);
    const ratio = random.pick([1, 2, 4, 8]);
    const price = 0.03 * cpus + 0.004 * cpus * ratio;
    const offerings = zones.flatMap((zone) => [
      ...(random.chance(0.9) ? [offering(zone, 'on-demand', round(price), !random.chance(0.05))] : []),
      ...(random.chance(0.7) ? [offering(zone, 'spot', round(price * (0.3 + 0.9 * random.next())))] : []),
    ]);
    return {
      name: `${random.pick(['c', 's', 'm'])}${i}-${cpus}x`,
      architecture: random.chance(0.8) ? 'amd64' : 'arm64',
      operatingSystems: random.chance(0.85) ? ['linux'] : ['windows'],
      resources: { cpu: String(cpus), memory: `${cpus * ratio}Gi`, pods: String(random.pick([8, 16, 29, 58, 110])) },
      offerings: offerings.length > 0 ? offerings : [offering(zones[0] ?? 'zone-1', 'on-demand', round(price))],
    };
  });
}
