import { readFileSync } from 'node:fs';
import { lookUp } from '../../core/own.js';

/** Built-in on-demand list prices of a region. */
export interface ListPrices {
  /** Per hour by instance type, in the currency of the region. */
  readonly prices: Readonly<Record<string, number>>;
  /** The time of these prices, milliseconds since the epoch. */
  readonly asOf: number;
  /** The region of the prices: those of another region, times `ratio`, are an estimate. */
  readonly region: string;
  readonly ratio: number;
}

interface Partition {
  readonly currency: string;
  readonly asOf: string;
  readonly regions: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/**
 * Ratio of a region's list prices to those of the built-in region of its partition, by m5.large on demand. One ratio
 * for all types keeps their order, so that estimates are wrong only in absolute terms.
 */
const ratios: Readonly<Record<string, number>> = {
  'us-east-2': 1,
  'us-west-1': 1.167,
  'us-west-2': 1,
  'ca-central-1': 1.115,
  'sa-east-1': 1.594,
  'eu-central-1': 1.198,
  'eu-north-1': 1.063,
  'eu-south-1': 1.167,
  'eu-west-1': 1.115,
  'eu-west-2': 1.156,
  'eu-west-3': 1.167,
  'ap-east-1': 1.375,
  'ap-northeast-1': 1.292,
  'ap-northeast-2': 1.229,
  'ap-northeast-3': 1.292,
  'ap-south-1': 1.052,
  'ap-southeast-1': 1.25,
  'ap-southeast-2': 1.25,
  'me-south-1': 1.229,
  'af-south-1': 1.323,
  'cn-northwest-1': 0.7,
};
/** The median ratio, for unknown regions. */
const usualRatio = 1.17;

let read: Readonly<Record<string, Partition>> | undefined;

function partitions(): Readonly<Record<string, Partition>> {
  read ??= JSON.parse(readFileSync(new URL('./list-prices.json', import.meta.url), 'utf8')) as Record<
    string,
    Partition
  >;
  return read;
}

/**
 * The built-in prices for a region: that region's if they exist, otherwise those of the first region of its partition.
 */
export function listPrices(region: string): ListPrices {
  const { regions, asOf } = partitions()[partitionOf(region)]!;
  const known = lookUp(regions, region);
  if (known !== undefined) return { prices: known, asOf: Date.parse(asOf), region, ratio: 1 };
  const [from, prices] = Object.entries(regions)[0]!;
  const ratio = lookUp(ratios, region) ?? usualRatio;
  const estimated = Object.fromEntries(
    Object.entries(prices).map(([type, price]) => [type, Number((price * ratio).toPrecision(6))]),
  );
  return { prices: estimated, asOf: Date.parse(asOf), region: from, ratio };
}

/** Ratio of a region's prices to us-east-1 (by m5.large), and the exchange rate to its currency. */
export function priceLevel(region: string): { readonly ratio: number; readonly currency: number } {
  const of = (where: string): number => listPrices(where).prices['m5.large']!;
  return { ratio: of(region) / of('us-east-1'), currency: partitionOf(region) === 'aws-cn' ? yuanPerDollar : 1 };
}

/** Only for items that cost the same everywhere: prices of machines are never converted. */
const yuanPerDollar = 7;

function partitionOf(region: string): 'aws' | 'aws-cn' | 'aws-us-gov' {
  if (region.startsWith('cn-')) return 'aws-cn';
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws';
}

/** Whether the region's partition has a Pricing API that accepts its credentials. */
export function hasPricingApi(region: string): boolean {
  return !/^(us-gov|us-iso|eu-isoe)/.test(region);
}
