import type { BlockDeviceMapping } from '../../api/aws/block-devices.js';
import type { EC2NodeClassSpec } from '../../api/aws/ec2-node-class.js';
import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import { parseQuantity } from '../../core/quantities.js';
import { families } from './families.js';
import { priceLevel } from './list-prices.js';

/** Cost of a node in addition to its machine, dollars per hour (instance-types/whole-price). */
export interface NodeExtras {
  readonly volumes: number;
  /** Price of one public IPv4 address. */
  readonly publicAddress: number;
}

const hoursAMonth = 730;
const gib = 2 ** 30;

/** List prices of EBS in us-east-1, dollars per month; a zero price means that the size includes it. */
interface VolumePrices {
  readonly perGib: number;
  readonly perIops: readonly (readonly [upTo: number, price: number])[];
  readonly freeIops: number;
  /** Price per MiB/s. */
  readonly perThroughput: number;
  readonly freeThroughput: number;
}

const plain = (perGib: number): VolumePrices => ({
  perGib,
  perIops: [],
  freeIops: 0,
  perThroughput: 0,
  freeThroughput: 0,
});

const volumePrices: Readonly<Record<string, VolumePrices>> = {
  gp3: {
    perGib: 0.08,
    perIops: [[Infinity, 0.005]],
    freeIops: 3_000,
    perThroughput: 0.04,
    freeThroughput: 125,
  },
  gp2: plain(0.1),
  io1: { ...plain(0.125), perIops: [[Infinity, 0.065]] },
  io2: {
    ...plain(0.125),
    perIops: [
      [32_000, 0.065],
      [64_000, 0.046],
      [Infinity, 0.032],
    ],
  },
  st1: plain(0.045),
  sc1: plain(0.015),
  standard: plain(0.05),
};

/** Public IPv4 addresses cost the same in every region, dollars per hour. */
const publicAddressPrice = 0.005;

/**
 * Cost of the volumes that a node class defines for each node, and of one public address, by list prices of us-east-1
 * scaled to the region. A volume with the size of its snapshot counts nothing, since its size is unknown here.
 */
export function nodeExtras(
  spec: Pick<EC2NodeClassSpec, 'blockDeviceMappings' | 'amiFamily' | 'amiSelectorTerms'>,
  region: string,
): NodeExtras {
  const own = spec.blockDeviceMappings ?? [];
  const devices = own.length > 0 ? own : families[resolvedAmiFamily(spec)].blockDevices;
  const month = devices.reduce((sum, device) => sum + volumePrice(device), 0);
  const level = priceLevel(region);
  return {
    volumes: (month / hoursAMonth) * level.ratio,
    publicAddress: publicAddressPrice * level.currency,
  };
}

/** Dollars per month in us-east-1. */
function volumePrice({ ebs }: BlockDeviceMapping): number {
  if (ebs?.volumeSize === undefined) return 0;
  const { perGib, perIops, freeIops, perThroughput, freeThroughput } = volumePrices[ebs.volumeType ?? 'gp2']!;
  const size = Math.ceil(parseQuantity(ebs.volumeSize) / gib);
  const throughput = Math.max(0, (ebs.throughput ?? 0) - freeThroughput);
  return size * perGib + tiered(Math.max(0, (ebs.iops ?? 0) - freeIops), perIops) + throughput * perThroughput;
}

function tiered(amount: number, tiers: VolumePrices['perIops']): number {
  let below = 0;
  let sum = 0;
  for (const [upTo, price] of tiers) {
    sum += Math.max(0, Math.min(amount, upTo) - below) * price;
    below = upTo;
  }
  return sum;
}
