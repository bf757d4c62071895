import { readFile, rename, writeFile } from 'node:fs/promises';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { hasPricingApi, listPrices, type ListPrices } from './list-prices.js';
import { allPages } from './pages.js';
import { messageOf } from '../../core/error-message.js';
import { lookUp } from '../../core/own.js';
import { DomainError } from '../../core/failures.js';

/** Dollars per hour, and the time of the prices (milliseconds since the epoch). */
export interface PriceTable {
  readonly onDemand: Readonly<Record<string, number>>;
  /** By type, then zone. */
  readonly spot: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly onDemandAt: number;
  readonly spotAt: number;
}

/** Source of on-demand prices: AWS, the price store, or the built-in list, which may be of another region. */
type PriceSource = 'api' | 'store' | 'built-in' | 'estimate';

/** Ages of the prices, source of on-demand prices, and whether a refresh failed. */
interface PriceStatus extends Pick<PriceTable, 'onDemandAt' | 'spotAt'> {
  readonly source: PriceSource;
  readonly stale: boolean;
}

/** Stores the last known prices across restarts. */
export interface PriceStore {
  /** The text that was saved last. */
  load(): Promise<string | undefined>;
  save(text: string): Promise<void>;
}

export interface PricesOptions {
  readonly calls: Pick<AwsCalls, 'getProducts' | 'describeSpotPriceHistory'>;
  readonly region: string;
  readonly clock: Clock;
  readonly store?: PriceStore;
  /**
   * The Pricing API cannot be reached: on-demand prices come from the store, where they do not expire, or are built in.
   */
  readonly isolated?: boolean;
  readonly refreshMs?: number;
  /** Called when prices could not be refreshed, with the replacement in use. */
  readonly onProblem?: (message: string) => void;
}

const hour = 3_600_000;
const retryMs = 60_000;
/** Older prices are not used: list prices change rarely, spot prices daily. */
const onDemandLimitMs = 30 * 24 * hour;
const spotLimitMs = 48 * hour;

/** Current prices: refreshed every 12 hours (instance-types/prices); old ones are used up to an age limit. */
export class Prices {
  private table: PriceTable = { onDemand: {}, spot: {}, onDemandAt: 0, spotAt: 0 };
  private triedAt = Number.NEGATIVE_INFINITY;
  /** By this process. */
  private readonly readAt = { onDemand: Number.NEGATIVE_INFINITY, spot: Number.NEGATIVE_INFINITY };
  private loading: Promise<void> | undefined;
  private restored = false;
  private list: ListPrices | undefined;
  private source: PriceSource = 'store';
  /** What could not be read, so that it is reported once and not at every attempt. */
  private readonly failing = new Set<string>();

  constructor(private readonly options: PricesOptions) {}

  /** The prices to use now; built-in list prices if no others are known (instance-types/built-in-prices). */
  async current(): Promise<PriceTable> {
    const { onDemand, spot } = this.due;
    if ((onDemand || spot) && this.isOver(this.triedAt, Math.min(retryMs, this.refreshMs))) await this.refresh();
    return this.usable();
  }

  private get due(): { readonly onDemand: boolean; readonly spot: boolean } {
    const { onDemand, spot } = this.readAt;
    return { onDemand: this.asks && this.isOver(onDemand, this.refreshMs), spot: this.isOver(spot, this.refreshMs) };
  }

  /** If the clock was set back, the age is unknown. */
  private isOver(at: number, ms: number): boolean {
    const age = this.options.clock.now() - at;
    return age < 0 || age >= ms;
  }

  /** Undefined before the first reading. */
  get status(): PriceStatus | undefined {
    if (this.triedAt === Number.NEGATIVE_INFINITY) return undefined;
    const { onDemandAt, spotAt } = this.usable();
    const missed = this.options.clock.now() - 2 * this.refreshMs;
    return { onDemandAt, spotAt, source: this.source, stale: spotAt < missed || (onDemandAt < missed && this.asks) };
  }

  /** Reads what is due, since each has many pages; never throws. Concurrent callers share one run. */
  private refresh(): Promise<void> {
    this.loading ??= this.load().finally(() => {
      this.loading = undefined;
    });
    return this.loading;
  }

  private get refreshMs(): number {
    return this.options.refreshMs ?? 12 * hour;
  }

  /** Whether there is a Pricing API to call. */
  private get asks(): boolean {
    return this.options.isolated !== true && hasPricingApi(this.options.region);
  }

  private async load(): Promise<void> {
    if (!this.restored) await this.restore();
    const { due } = this;
    const [onDemand, spot] = await Promise.all([
      due.onDemand ? this.attempt('on-demand prices', () => onDemandPrices(this.options)) : undefined,
      due.spot ? this.attempt('spot prices', () => spotPrices(this.options)) : undefined,
    ]);
    const now = this.options.clock.now();
    const known = this.table;
    // A price missing in the response stays: a type no longer sold is not in the catalogue.
    if (onDemand !== undefined) {
      const before = now - known.onDemandAt <= onDemandLimitMs ? known.onDemand : {};
      this.table = { ...this.table, onDemand: { ...before, ...onDemand }, onDemandAt: now };
      this.source = 'api';
      this.readAt.onDemand = now;
    }
    if (spot !== undefined) {
      const before = now - known.spotAt <= spotLimitMs ? known.spot : {};
      this.table = { ...this.table, spot: zonesJoined(before, spot), spotAt: now };
      this.readAt.spot = now;
    }
    this.triedAt = now;
    if (onDemand !== undefined || spot !== undefined) {
      await this.attempt('saving prices', async () => this.options.store?.save(JSON.stringify(this.table)));
    }
  }

  private async restore(): Promise<void> {
    await this.attempt('stored prices', async () => {
      const text = await this.options.store?.load();
      if (text !== undefined) {
        this.table = parsePrices(text);
        this.source = 'store';
      }
      this.restored = true;
    });
  }

  private usable(): PriceTable {
    const now = this.options.clock.now();
    const { onDemand, onDemandAt, spotAt } = this.table;
    const spot = now - spotAt <= spotLimitMs ? this.table.spot : {};
    const fresh = !this.asks || now - onDemandAt <= onDemandLimitMs;
    if (fresh && Object.keys(onDemand).length > 0) return { onDemand, spot, onDemandAt, spotAt };
    return { ...this.builtIn(), spot, spotAt };
  }

  /** The built-in list; reports when its use begins. */
  private builtIn(): Pick<PriceTable, 'onDemand' | 'onDemandAt'> {
    const { region, onProblem } = this.options;
    const list = (this.list ??= listPrices(region));
    const source = list.region === region ? 'built-in' : 'estimate';
    if (this.source !== source) {
      this.source = source;
      const estimated = `, an estimate: those of ${list.region} times ${list.ratio}`;
      const date = new Date(list.asOf).toISOString().slice(0, 10);
      onProblem?.(
        `on-demand prices: none are known of ${region}${this.asks ? '' : ', where no Pricing API can be asked'}; ` +
          `list prices of ${date} that are built in are used${source === 'estimate' ? estimated : ''}`,
      );
    }
    return { onDemand: list.prices, onDemandAt: list.asOf };
  }

  private async attempt<T>(what: string, action: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await action();
      this.failing.delete(what);
      return result;
    } catch (error) {
      const why = messageOf(error);
      if (!this.failing.has(what)) this.options.onProblem?.(`${what}: ${why}; the last known prices stay in use`);
      this.failing.add(what);
      return undefined;
    }
  }
}

function zonesJoined(before: PriceTable['spot'], after: PriceTable['spot']): PriceTable['spot'] {
  const types = Object.entries(after).map(([type, zones]) => [type, { ...lookUp(before, type), ...zones }] as const);
  return { ...before, ...Object.fromEntries(types) };
}

/** A price file that cannot be used. */
export class PriceFileError extends Error {
  override readonly name = 'PriceFileError';
}

/** Reads a price table: `{onDemand: {type: dollars}, spot: {type: {zone: dollars}}, onDemandAt?, spotAt?}`. */
export function parsePrices(text: string): PriceTable {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new PriceFileError(`no JSON: ${messageOf(error)}`);
  }
  const { onDemand = {}, spot = {}, onDemandAt = 0, spotAt = 0 } = (file ?? {}) as Partial<PriceTable>;
  checkPrices('onDemand', onDemand);
  for (const [type, zones] of Object.entries(spot)) checkPrices(`spot.${type}`, zones);
  return { onDemand, spot, onDemandAt, spotAt };
}

function checkPrices(field: string, prices: unknown): void {
  if (prices === null || typeof prices !== 'object') throw new PriceFileError(`${field}: expected an object of prices`);
  for (const [name, price] of Object.entries(prices)) {
    if (typeof price === 'number' && price >= 0) continue;
    throw new PriceFileError(`${field}.${name}: expected a number ≥ 0, found ${JSON.stringify(price)}`);
  }
}

async function spotPrices(options: PricesOptions): Promise<Record<string, Record<string, number>>> {
  // A page token belongs to its request: the start must not change from page to page.
  const start = new Date(options.clock.now());
  const history = await allPages(
    'ec2:DescribeSpotPriceHistory',
    (token) =>
      options.calls.describeSpotPriceHistory({
        ProductDescriptions: ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'],
        StartTime: start,
        MaxResults: 1000,
        NextToken: token,
      }),
    (page) => page.SpotPriceHistory,
  );
  const prices: Record<string, Record<string, number>> = {};
  const newest = new Map<string, number>();
  for (const { InstanceType: type, AvailabilityZone: zone, SpotPrice: price, Timestamp: at } of history) {
    if (type === undefined || zone === undefined || !(Number(price) > 0)) continue;
    const time = at?.getTime() ?? 0;
    const key = `${type}/${zone}`;
    if (time < (newest.get(key) ?? Number.NEGATIVE_INFINITY)) continue;
    newest.set(key, time);
    (prices[type] ??= {})[zone] = Number(price);
  }
  if (newest.size === 0) throw new DomainError('Unavailable', 'ec2:DescribeSpotPriceHistory: EC2 lists no prices');
  return prices;
}

/**
 * Stores prices in a file: `{onDemand: {type: dollars}, spot: {type: {zone: dollars}}, onDemandAt, spotAt}`. In an
 * isolated network the file may be written by hand and mounted; a read-only file is only read.
 */
export function priceFile(path: string): PriceStore {
  return {
    load: async () => {
      try {
        return await readFile(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    save: async (text) => {
      // Written atomically: a crash leaves the old prices.
      const next = `${path}.${process.pid}.tmp`;
      await writeFile(next, text);
      await rename(next, path);
    },
  };
}

interface Asked {
  readonly calls: Pick<AwsCalls, 'getProducts'>;
  readonly region: string;
}

/** List prices of shared machines with Linux, and of bare metal. */
async function onDemandPrices(options: Asked): Promise<Record<string, number>> {
  const common = {
    regionCode: options.region,
    serviceCode: 'AmazonEC2',
    preInstalledSw: 'NA',
    operatingSystem: 'Linux',
    capacitystatus: 'Used',
    marketoption: 'OnDemand',
  };
  const [shared, metal] = await Promise.all([
    products(options, { ...common, tenancy: 'Shared', productFamily: 'Compute Instance' }),
    products(options, { ...common, tenancy: 'Dedicated', productFamily: 'Compute Instance (bare metal)' }),
  ]);
  const prices = Object.fromEntries([...metal, ...shared]);
  if (Object.keys(prices).length === 0) {
    throw new DomainError('Unavailable', `pricing:GetProducts: no prices for region ${options.region}`);
  }
  return prices;
}

async function products(options: Asked, fields: Record<string, string>): Promise<(readonly [string, number])[]> {
  const lists = await allPages(
    'pricing:GetProducts',
    (token) =>
      options.calls.getProducts({
        ServiceCode: 'AmazonEC2',
        MaxResults: 100,
        NextToken: token,
        Filters: Object.entries(fields).map(([Field, Value]) => ({ Type: 'TERM_MATCH', Field, Value })),
      }),
    (page) => page.PriceList as readonly string[] | undefined,
  );
  return lists.flatMap((item) => {
    const price = onDemandPrice(itemOf(item));
    return price === undefined ? [] : [price];
  });
}

/** An item that cannot be parsed has no price. */
function itemOf(text: string): PriceListItem {
  try {
    return (JSON.parse(text) ?? {}) as PriceListItem;
  } catch {
    return {};
  }
}

interface PriceListItem {
  readonly product?: { readonly attributes?: Readonly<Record<string, string>> };
  readonly terms?: {
    readonly OnDemand?: Readonly<
      Record<
        string,
        {
          readonly priceDimensions?: Readonly<
            Record<string, { readonly pricePerUnit?: Readonly<Record<string, string>> }>
          >;
        }
      >
    >;
  };
}

function onDemandPrice(item: PriceListItem): readonly [string, number] | undefined {
  const type = item.product?.attributes?.instanceType;
  for (const term of Object.values(item.terms?.OnDemand ?? {})) {
    for (const dimension of Object.values(term.priceDimensions ?? {})) {
      // Regions in China are priced in yuan; prices are only compared with each other.
      const price = Number(dimension.pricePerUnit?.USD ?? dimension.pricePerUnit?.CNY);
      if (type !== undefined && price > 0) return [type, price];
    }
  }
  return undefined;
}
