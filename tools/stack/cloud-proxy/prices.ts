import type { MachineType } from './catalogue.js';

/**
 * On-demand Linux prices in dollars per hour, for us-east-1 and us-west-2 (their lists agree).
 *
 * Source: written for this project from general knowledge of the public price list of 2025; not fetched from AWS
 * and not for paying by. Most families cost the same per vCPU in every size, so one figure states a family; the
 * accelerated families are stated size by size. A family that is missing is priced by the model below, whose
 * coefficients reproduce the families c5, m5 and r5 (2, 4 and 8 GiB per vCPU) within 3%.
 */
const perVcpu: Readonly<Record<string, number>> = {
  // general purpose
  m4: 0.05, m5: 0.048, m5a: 0.043, m5ad: 0.0515, m5d: 0.0565, m5dn: 0.068, m5n: 0.0595, m5zn: 0.0826,
  m6a: 0.0432, m6g: 0.0385, m6gd: 0.0452, m6i: 0.048, m6id: 0.0593, m6idn: 0.0796, m6in: 0.0696,
  m7a: 0.05796, m7g: 0.0408, m7gd: 0.0534, m7i: 0.0504, 'm7i-flex': 0.04788, m8g: 0.04488, m8gd: 0.05873, a1: 0.0255,
  // compute optimised
  c4: 0.05, c5: 0.0425, c5a: 0.0385, c5ad: 0.043, c5d: 0.048, c5n: 0.054,
  c6a: 0.03825, c6g: 0.034, c6gd: 0.0384, c6gn: 0.0432, c6i: 0.0425, c6id: 0.0504, c6in: 0.0567,
  c7a: 0.05132, c7g: 0.03625, c7gd: 0.04535, c7gn: 0.0624, c7i: 0.044625, 'c7i-flex': 0.0424, c8g: 0.03988, c8gd: 0.04992,
  // memory optimised
  r4: 0.0665, r5: 0.063, r5a: 0.0565, r5ad: 0.0655, r5b: 0.0745, r5d: 0.072, r5dn: 0.0835, r5n: 0.0745,
  r6a: 0.0567, r6g: 0.0504, r6gd: 0.0576, r6i: 0.063, r6id: 0.0756, r6idn: 0.0977, r6in: 0.0872,
  r7a: 0.07608, r7g: 0.05355, r7gd: 0.06805, r7i: 0.06615, r7iz: 0.093, r8g: 0.05891, r8gd: 0.07366,
  x1: 0.1042, x1e: 0.2086, x2gd: 0.0835, x2idn: 0.1042, x2iedn: 0.2084, x2iezn: 0.2085, z1d: 0.093,
  // storage optimised
  d3: 0.1249, i3en: 0.113, i4g: 0.0773, i4i: 0.0858, i7ie: 0.12995, im4gn: 0.0909, is4gen: 0.144,
}; // prettier-ignore

/** Burstable sizes are not proportional to their vCPUs: dollars of the nano size, doubling from size to size. */
const burstable: Readonly<Record<string, number>> = { t2: 0.0058, t3: 0.0052, t3a: 0.0047, t4g: 0.0042 };
const burstableSizes = ['nano', 'micro', 'small', 'medium', 'large', 'xlarge', '2xlarge'];

const bySize: Readonly<Record<string, number>> = {
  'g4dn.xlarge': 0.526, 'g4dn.2xlarge': 0.752, 'g4dn.4xlarge': 1.204, 'g4dn.8xlarge': 2.176,
  'g4dn.12xlarge': 3.912, 'g4dn.16xlarge': 4.352, 'g4dn.metal': 7.824,
  'g5.xlarge': 1.006, 'g5.2xlarge': 1.212, 'g5.4xlarge': 1.624, 'g5.8xlarge': 2.448,
  'g5.12xlarge': 5.672, 'g5.16xlarge': 4.096, 'g5.24xlarge': 8.144, 'g5.48xlarge': 16.288,
  'g5g.xlarge': 0.42, 'g5g.2xlarge': 0.556, 'g5g.4xlarge': 0.828, 'g5g.8xlarge': 1.372, 'g5g.16xlarge': 2.744,
  'g6.xlarge': 0.8048, 'g6.2xlarge': 0.9776, 'g6.4xlarge': 1.3232, 'g6.8xlarge': 2.0144,
  'g6.12xlarge': 4.6016, 'g6.16xlarge': 3.3968, 'g6.24xlarge': 6.6752, 'g6.48xlarge': 13.3504,
  'g6e.xlarge': 1.861, 'g6e.2xlarge': 2.24208, 'g6e.4xlarge': 3.00424, 'g6e.8xlarge': 4.52856,
  'g6e.12xlarge': 10.49264, 'g6e.16xlarge': 7.57719, 'g6e.24xlarge': 15.06559, 'g6e.48xlarge': 30.13118,
  'p3.2xlarge': 3.06, 'p3.8xlarge': 12.24, 'p3.16xlarge': 24.48, 'p3dn.24xlarge': 31.212,
  'p4d.24xlarge': 21.96, 'p4de.24xlarge': 27.45, 'p5.4xlarge': 6.88, 'p5.48xlarge': 55.04, 'p5en.48xlarge': 63.3,
  'inf1.xlarge': 0.228, 'inf1.2xlarge': 0.362, 'inf1.6xlarge': 1.18, 'inf1.24xlarge': 4.721,
  'inf2.xlarge': 0.7582, 'inf2.8xlarge': 1.96786, 'inf2.24xlarge': 6.49063, 'inf2.48xlarge': 12.98127,
  'trn1.2xlarge': 1.34375, 'trn1.32xlarge': 21.5, 'trn1n.32xlarge': 24.78,
  'dl1.24xlarge': 13.10904, 'dl2q.24xlarge': 8.9194, 'vt1.3xlarge': 0.65, 'vt1.6xlarge': 1.3, 'vt1.24xlarge': 5.2,
  'f2.6xlarge': 1.98, 'f2.12xlarge': 3.96, 'f2.48xlarge': 15.84,
}; // prettier-ignore

/** What a region's list adds to that of us-east-1. */
const regionFactor: Readonly<Record<string, number>> = {
  'us-east-1': 1, 'us-east-2': 1, 'us-west-2': 1, 'us-west-1': 1.17, 'ca-central-1': 1.11, 'eu-west-1': 1.115,
  'eu-central-1': 1.2, 'eu-north-1': 1.06, 'ap-southeast-1': 1.25, 'ap-northeast-1': 1.29, 'ap-south-1': 1.05, 'sa-east-1': 1.59,
}; // prettier-ignore

const round = (dollars: number): number => Number(dollars.toPrecision(5));

function modelled(machine: MachineType): number {
  const gib = machine.memoryMiB / 1024;
  const family = machine.name.split('.')[0]!;
  const suffix = /\d([a-z]*)/.exec(family)?.[1] ?? '';
  const processor = suffix.startsWith('g') ? 0.82 : suffix.startsWith('a') ? 0.9 : 1;
  const base = (machine.vcpus * 0.036 + gib * 0.0034) * processor;
  const disks = machine.localDiskGB * 0.00009;
  const network = suffix.includes('n') ? 1.2 : 1;
  const accelerators = machine.gpuCount * 0.35 + machine.acceleratorCount * 0.3 + (machine.gpuMemoryMiB / 1024) * 0.022;
  return base * network + disks + accelerators;
}

/** The on-demand price of a machine in dollars per hour. */
export function onDemandPrice(machine: MachineType, region: string): number {
  const [family, size] = machine.name.split('.') as [string, string];
  const nano = burstable[family];
  const step = burstableSizes.indexOf(size);
  const rate = perVcpu[family];
  let dollars = bySize[machine.name];
  if (dollars === undefined && nano !== undefined && step >= 0) dollars = nano * 2 ** step;
  if (dollars === undefined && rate !== undefined) dollars = rate * machine.vcpus;
  return round((dollars ?? modelled(machine)) * (regionFactor[region] ?? 1.15));
}
