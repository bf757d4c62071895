import { createHash } from 'node:crypto';
import type { MachineType } from './catalogue.js';
import { matches } from './pools.js';
import { onDemandPrice } from './prices.js';

export interface SpotPrice {
  /** Dollars per hour. */
  price: number;
  /** Milliseconds of the epoch. */
  since: number;
}

/** A scripted price or depth for the pools that match; `*` matches any text. */
export interface SpotOverride {
  instanceType?: string;
  zone?: string;
  /** Dollars per hour. */
  price?: number;
  /** Times the on-demand price. */
  ratio?: number;
  /** 1 (shallow) to 10; default 5. */
  depth?: number;
}

/** A number in [0, 1) that depends on the text alone. */
function fraction(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
}

const historyKept = 30;

/**
 * Spot prices of a region. A pool starts at 26% to 46% of the on-demand price, the same on every machine; prices
 * change only by calls: set, or walked with a seed.
 */
export class SpotMarket {
  readonly #history = new Map<string, SpotPrice[]>();
  readonly #depths: SpotOverride[] = [];
  readonly #startedAt: number;

  constructor(
    private readonly region: string,
    private readonly now: () => number,
  ) {
    this.#startedAt = now();
  }

  /** The price of a pool and those before it, newest first. */
  history(machine: MachineType, zone: string): readonly SpotPrice[] {
    const known = this.#history.get(`${machine.name}/${zone}`);
    if (known !== undefined) return known;
    // Families of one generation move together; zones differ by a few points.
    const family = machine.name.split('.')[0]!;
    const ratio =
      0.26 + 0.14 * fraction(family) + 0.04 * fraction(machine.name) + 0.02 * fraction(`${machine.name}/${zone}`);
    const first = [{ price: round(onDemandPrice(machine, this.region) * ratio), since: this.#startedAt - 86_400_000 }];
    // Each page of a list of prices goes through all pools.
    this.#history.set(`${machine.name}/${zone}`, first);
    return first;
  }

  price(machine: MachineType, zone: string): number {
    return this.history(machine, zone)[0]!.price;
  }

  depth(instanceType: string, zone: string): number {
    const override = this.#depths.find((each) => matches(each.instanceType, instanceType) && matches(each.zone, zone));
    return override?.depth ?? 5;
  }

  /** Sets prices and depths of all matching pools of the catalogue. Returns how many pools got another price. */
  set(override: SpotOverride, pools: Iterable<{ machine: MachineType; zone: string }>): number {
    if (override.depth !== undefined) this.#depths.unshift(override);
    let changed = 0;
    for (const { machine, zone } of pools) {
      if (!matches(override.instanceType, machine.name) || !matches(override.zone, zone)) continue;
      const { price, ratio } = override;
      const next = price ?? (ratio === undefined ? undefined : onDemandPrice(machine, this.region) * ratio);
      if (next === undefined) continue;
      this.#record(machine, zone, round(next));
      changed++;
    }
    return changed;
  }

  /** One step of a random walk of every pool: each price changes by up to `volatility` of itself, between 10% and 100% of on-demand. */
  walk(seed: string, volatility: number, pools: Iterable<{ machine: MachineType; zone: string }>): void {
    for (const { machine, zone } of pools) {
      const onDemand = onDemandPrice(machine, this.region);
      const step = 1 + volatility * (2 * fraction(`${seed}/${machine.name}/${zone}`) - 1);
      const price = Math.min(onDemand, Math.max(onDemand * 0.1, this.price(machine, zone) * step));
      this.#record(machine, zone, round(price));
    }
  }

  reset(): void {
    this.#history.clear();
    this.#depths.length = 0;
  }

  #record(machine: MachineType, zone: string, price: number): void {
    const history = [{ price, since: this.now() }, ...this.history(machine, zone)];
    this.#history.set(`${machine.name}/${zone}`, history.slice(0, historyKept));
  }
}

const round = (dollars: number): number => Number(dollars.toPrecision(4));
