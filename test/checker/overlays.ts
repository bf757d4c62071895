import { parseResources } from '../../core/quantities.js';
import type { MachineType, Offer } from './catalogue.js';
import type { Cluster, Overlay, Pool } from './cluster.js';
import { normalKey, valueSatisfies } from './selectors.js';
import type { WrittenRequirement } from '../../api/karpenter/requirements.js';

type Values = (key: string) => readonly string[] | undefined;

/** What overlays make of one type: who decided what, so that a second of the same weight is noticed. */
interface Changed {
  readonly type: MachineType;
  readonly prices: Map<Offer, { weight: number; price: number }>;
  readonly amounts: Map<string, { weight: number; amount: number }>;
}

/** The types as a pool may launch them under the NodeOverlays: heaviest first, then by name descending, the first decides. */
export function overlaidTypes(
  { overlays }: Cluster,
  pool: Pool,
  types: readonly MachineType[],
  fixed: ReadonlyMap<string, readonly string[]>,
  refused: ReadonlySet<Overlay>,
): MachineType[] {
  const changed = types.map((type): Changed => ({ type, prices: new Map(), amounts: new Map() }));
  for (const overlay of inOrder(overlays)) {
    if (!refused.has(overlay)) for (const each of changed) apply(overlay, pool, fixed, each);
  }
  return changed.map(({ type, prices, amounts }) => ({
    ...type,
    resources: { ...type.resources, ...Object.fromEntries([...amounts].map(([name, { amount }]) => [name, amount])) },
    offers: type.offers.map((offer) => ({ ...offer, price: prices.get(offer)?.price ?? offer.price })),
  }));
}

/** Overlays that would decide again, in any pool, what another of their weight decides. */
export function refusedOverlays(
  { overlays, pools }: Cluster,
  types: readonly MachineType[],
  fixedOf: (pool: Pool) => ReadonlyMap<string, readonly string[]>,
): Set<Overlay> {
  const drafts = [...pools.values()].map((pool) => ({
    pool,
    fixed: fixedOf(pool),
    changed: types.map((type): Changed => ({ type, prices: new Map(), amounts: new Map() })),
  }));
  const refused = new Set<Overlay>();
  for (const overlay of inOrder(overlays)) {
    const clashes = drafts.some(({ pool, fixed, changed }) =>
      changed.some((each) => decides(overlay, pool, fixed, each).some(({ by }) => by === (overlay.spec.weight ?? 0))),
    );
    if (clashes) refused.add(overlay);
    else for (const { pool, fixed, changed } of drafts) for (const each of changed) apply(overlay, pool, fixed, each);
  }
  return refused;
}

const inOrder = (overlays: readonly Overlay[]): Overlay[] =>
  [...overlays].sort(
    (a, b) =>
      (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || ((b.metadata.name ?? '') < (a.metadata.name ?? '') ? -1 : 1),
  );

interface Decision {
  /** The weight of who has decided it already. */
  readonly by: number | undefined;
  readonly make: () => void;
}

function decides(
  { spec }: Overlay,
  pool: Pool,
  fixed: ReadonlyMap<string, readonly string[]>,
  { type, prices, amounts }: Changed,
): Decision[] {
  const { weight = 0, price, priceAdjustment } = spec;
  const asked = pool.spec.template.spec.requirements ?? [];
  const within = (key: string, values: readonly string[] | undefined): readonly string[] | undefined =>
    values?.filter((value) => asked.every((rule) => normalKey(rule.key) !== key || valueSatisfies(value, rule)));
  const ofOffers = (key: string): readonly string[] | undefined => {
    const values = type.offers.flatMap((offer) => offer.labels.get(key) ?? []);
    return values.length === 0 ? undefined : values;
  };
  const ofType: Values = (key) => within(key, type.labels.get(key) ?? ofOffers(key) ?? fixed.get(key));
  if (!spec.requirements.every((rule) => mayHold(ofType, rule))) return [];
  const found: Decision[] = Object.entries(parseResources(spec.capacity)).map(([name, amount]) => ({
    by: amounts.get(name)?.weight,
    make: () => {
      if (!amounts.has(name)) amounts.set(name, { weight, amount });
    },
  }));
  if (price === undefined && priceAdjustment === undefined) return found;
  for (const offer of type.offers) {
    const ofOffer: Values = (key) => within(key, offer.labels.get(key)) ?? ofType(key);
    if (!spec.requirements.every((rule) => mayHold(ofOffer, rule))) continue;
    const amount = price === undefined ? moved(offer.price, priceAdjustment ?? '') : Number(price);
    const make = (): void => {
      if (!prices.has(offer)) prices.set(offer, { weight, price: amount });
    };
    found.push({ by: prices.get(offer)?.weight, make });
  }
  return found;
}

function apply(overlay: Overlay, pool: Pool, fixed: ReadonlyMap<string, readonly string[]>, each: Changed): void {
  for (const { make } of decides(overlay, pool, fixed, each)) make();
}

function mayHold(values: Values, rule: WrittenRequirement): boolean {
  const own = values(normalKey(rule.key));
  return own === undefined ? valueSatisfies(undefined, rule) : own.some((value) => valueSatisfies(value, rule));
}

function moved(price: number, by: string): number {
  const change = parseFloat(by);
  return Math.max(0, by.endsWith('%') ? price + (price * change) / 100 : price + change);
}
