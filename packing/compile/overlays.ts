import type { NodeOverlay } from '../../api/karpenter/node-overlay.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { machinePrice } from './commitments.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { parseResource } from '../../core/quantities.js';
import { describeRequirement, intersect, isImpossible, type Requirement } from '../requirements/requirement.js';
import {
  canonicalText,
  noRequirements,
  readNodeRequirements,
  readRequirements,
  type Requirements,
} from '../requirements/requirements.js';
import { templateRequirements } from './pools.js';
import { nameOf } from '../../core/names.js';

type Catalogues = ReadonlyMap<string, readonly InstanceType[]>;

interface Overlaid {
  readonly catalogues: Catalogues;
  /** Refused overlays by name: another overlay of the same weight sets the same value (node-overlays/conflicts). */
  readonly conflicts: ReadonlyMap<string, string>;
}

/**
 * Applies NodeOverlays to catalogues (node-overlays/heaviest-first): by weight, then by name descending. The first overlay that
 * sets the price of an offering or the amount of a resource wins; an overlay of equal weight that would set it again is refused
 * as a whole. NodePools for which all overlays have the same result share one catalogue.
 */
export function applyOverlays(
  nodePools: readonly NodePool[],
  catalogues: Catalogues,
  overlays: readonly NodeOverlay[] | undefined,
): Overlaid {
  if (overlays === undefined || overlays.length === 0) return { catalogues, conflicts: new Map() };
  const { conflicts, typesOf } = overlaying(nodePools, catalogues, overlays);
  return { catalogues: new Map(nodePools.map(({ metadata: { name = '' } }) => [name, typesOf(name)])), conflicts };
}

/** Like `applyOverlays`, but computes the catalogue of a NodePool on demand. */
export function overlaying(
  nodePools: readonly NodePool[],
  catalogues: Catalogues,
  overlays: readonly NodeOverlay[],
): Pick<Overlaid, 'conflicts'> & { readonly typesOf: (nodePool: string) => readonly InstanceType[] } {
  const ordered = overlays
    .map(({ metadata: { name = '' }, spec }) => ({ name, spec, weight: spec.weight ?? 0 }))
    .sort((a, b) => b.weight - a.weight || compareText(b.name, a.name))
    .map(readOverlay);
  const groups = poolsAlike(nodePools, catalogues, ordered);
  const conflicts = new Map<string, string>();
  for (const [o, overlay] of ordered.entries()) {
    const clash = firstClash(groups, overlay, o);
    if (clash !== undefined) conflicts.set(overlay.name, clash);
    else for (const group of groups) decide(group, overlay, group.matches[o]!);
  }
  const byPool = new Map(groups.flatMap((group) => group.pools.map((pool) => [pool, group] as const)));
  const finished = new Map<PoolsAlike, readonly InstanceType[]>();
  const typesOf = (nodePool: string): readonly InstanceType[] => {
    const group = byPool.get(nodePool);
    if (group === undefined) return noTypes;
    let types = finished.get(group);
    if (types === undefined) finished.set(group, (types = withDecided(group)));
    return types;
  };
  return { conflicts, typesOf };
}

const noTypes: readonly InstanceType[] = [];

interface Overlay {
  readonly name: string;
  readonly weight: number;
  readonly spec: NodeOverlay['spec'];
  readonly asked: Requirements;
  readonly amounts: ReadonlyMap<string, number>;
}

const readOverlay = ({ name, weight, spec }: Pick<Overlay, 'name' | 'weight' | 'spec'>): Overlay => ({
  name,
  weight,
  spec,
  asked: readNodeRequirements(spec.requirements),
  amounts: new Map(Object.entries(spec.capacity ?? {}).map(([name, each]) => [name, parseResource(name, each)])),
});

const decidesPrice = ({ price, priceAdjustment }: NodeOverlay['spec']): boolean =>
  price !== undefined || priceAdjustment !== undefined;

/** The overlay that set a value. */
type By = Pick<Overlay, 'name' | 'weight'>;

interface Price {
  readonly by: By;
  readonly price: number;
  /** Whether the overlay names instance types and sets a price, so that types without a price become available. */
  readonly prices: boolean;
}

/** What overlays have set for one type. */
interface Decided {
  /** By index of the offering. */
  readonly prices: (Price | undefined)[];
  readonly amounts: Map<string, { readonly by: By; readonly amount: number }>;
}

/** What an overlay selects in a catalogue: indices of types, each with those of its offerings. */
type Match = ReadonlyMap<number, readonly number[]>;

/** NodePools of one catalogue in which each overlay selects the same. */
interface PoolsAlike {
  readonly types: readonly InstanceType[];
  readonly pools: string[];
  /** By index of the overlay. */
  readonly matches: readonly Match[];
  /** By index of the type. */
  readonly decided: Map<number, Decided>;
}

function poolsAlike(
  nodePools: readonly NodePool[],
  catalogues: Catalogues,
  overlays: readonly Overlay[],
): PoolsAlike[] {
  const matchers = new Map<readonly InstanceType[], OverlayMatcher>();
  const groups = new Map<string, PoolsAlike>();
  for (const pool of nodePools) {
    const name = nameOf(pool);
    const types = catalogues.get(name) ?? noTypes;
    const matcher = matchers.get(types) ?? new OverlayMatcher(types, matchers.size);
    matchers.set(types, matcher);
    const requirements = templateRequirements(pool);
    const matches = overlays.map((overlay) => matcher.match(overlay, requirements));
    const text = `${matcher.index} ${matches.map((match) => matcher.numberOf(match)).join()}`;
    const known = groups.get(text);
    if (known === undefined) groups.set(text, { types, pools: [name], matches, decided: new Map() });
    else known.pools.push(name);
  }
  return [...groups.values()];
}

/** The first value that another overlay of the same weight has set already, as text. */
function firstClash(groups: readonly PoolsAlike[], { weight, spec, amounts }: Overlay, o: number): string | undefined {
  for (const { types, pools, matches, decided } of groups) {
    for (const [t, offerings] of matches[o]!) {
      const known = decided.get(t);
      if (known === undefined) continue;
      const text = (what: string, by: By): string =>
        `${what} of ${types[t]!.name} in ${pools[0]!} is decided by ${by.name} of equal weight`;
      for (const resource of amounts.keys()) {
        const by = known.amounts.get(resource)?.by;
        if (by?.weight === weight) return text(resource, by);
      }
      const priced = decidesPrice(spec) ? offerings.find((at) => known.prices[at]?.by.weight === weight) : undefined;
      if (priced !== undefined) return text('the price', known.prices[priced]!.by);
    }
  }
  return undefined;
}

/** Sets the values that no overlay has set yet. */
function decide({ types, decided }: PoolsAlike, by: Overlay, match: Match): void {
  const { spec, amounts } = by;
  const prices = spec.price !== undefined && namesTypes(spec.requirements);
  for (const [t, offerings] of match) {
    let known = decided.get(t);
    if (known === undefined) decided.set(t, (known = { prices: [], amounts: new Map() }));
    for (const [resource, amount] of amounts)
      if (!known.amounts.has(resource)) known.amounts.set(resource, { by, amount });
    if (!decidesPrice(spec)) continue;
    for (const at of offerings) {
      const { price } = types[t]!.offerings[at]!;
      known.prices[at] ??= { by, price: adjusted(price, spec.price, spec.priceAdjustment), prices };
    }
  }
}

/** The price after a replacement or an adjustment, at least zero. */
export function adjusted(price: number, replacement: string | undefined, adjustment: string | undefined): number {
  if (replacement !== undefined) return Number(replacement);
  if (adjustment === undefined) return price;
  if (!adjustment.endsWith('%')) return Math.max(0, price + Number(adjustment));
  return Math.max(0, price * (1 + Number(adjustment.slice(0, -1)) / 100));
}

function withDecided({ types, decided }: PoolsAlike): readonly InstanceType[] {
  if (decided.size === 0) return types;
  return types.map((type, t) => {
    const known = decided.get(t);
    return known === undefined ? type : overlaid(type, known);
  });
}

function overlaid(type: InstanceType, { prices, amounts }: Decided): InstanceType {
  const more = Object.fromEntries([...amounts].map(([name, { amount }]) => [name, amount]));
  return {
    ...type,
    offerings: type.offerings.map((offering, o) => {
      const decided = prices[o];
      return decided === undefined ? offering : repriced(offering, decided);
    }),
    capacity: { ...type.capacity, ...more },
    ...(amounts.size > 0 ? { capacityOverlayApplied: true } : {}),
  };
}

function repriced(offering: Offering, { price, prices }: Price): Offering {
  if (offering.unpriced === true && prices) {
    return { requirements: offering.requirements, price, available: true, priceOverlayApplied: true };
  }
  return { ...offering, price, machinePrice: machinePrice(offering), priceOverlayApplied: true };
}

/** Rule `node-overlays/price-for-the-unpriced`: exactly one requirement, of instance types by name. */
function namesTypes(requirements: NodeOverlay['spec']['requirements']): boolean {
  const [only, ...others] = requirements;
  return others.length === 0 && only?.key === labels.instanceType && only.operator === 'In';
}

interface ReadType {
  readonly requirements: Requirements;
  readonly offerings: readonly Requirements[];
}

/** Matches overlays with a catalogue, which is read once for all overlays and NodePools. */
class OverlayMatcher {
  private readonly read: readonly ReadType[];
  private readonly interned = new Map<string, Requirement>();
  /** Keys for which some type or offering has a requirement. */
  private readonly keys = new Set<string>();
  /** By overlay, then by the NodePool's requirements on its keys. */
  private readonly found = new Map<Overlay, Map<string, Match>>();
  private readonly byText = new Map<string, Match>();
  private readonly numbers = new Map<Match, number>([[nothing, 0]]);

  constructor(
    types: readonly InstanceType[],
    readonly index: number,
  ) {
    this.read = types.map(({ requirements, offerings }) => ({
      requirements: this.readOnce(requirements),
      offerings: offerings.map((offering) => this.readOnce(offering.requirements)),
    }));
  }

  /** Equal requirements are one object, so that results can be cached by identity. */
  private readOnce(list: InstanceType['requirements']): Requirements {
    const read = new Map<string, Requirement>();
    for (const [key, requirement] of readRequirements(list)) {
      this.keys.add(key);
      const text = describeRequirement(requirement);
      const known = this.interned.get(text) ?? requirement;
      this.interned.set(text, known);
      read.set(key, known);
    }
    return read;
  }

  /** What an overlay selects in a NodePool with these requirements; equal matches are one object. */
  match(overlay: Overlay, pool: Requirements): Match {
    const { asked, amounts, spec } = overlay;
    if (amounts.size === 0 && !decidesPrice(spec)) return nothing;
    const own = new Map<string, Requirement>();
    for (const [key, requirement] of asked) {
      const ofPool = pool.get(key);
      if (!this.keys.has(key) && !meets(requirement, ofPool)) return nothing;
      if (this.keys.has(key) && ofPool !== undefined) own.set(key, ofPool);
    }
    let byPool = this.found.get(overlay);
    if (byPool === undefined) this.found.set(overlay, (byPool = new Map<string, Match>()));
    const text = canonicalText(own);
    let match = byPool.get(text);
    if (match === undefined) byPool.set(text, (match = this.find(asked, own)));
    return match;
  }

  /** Equal for equal matches. */
  numberOf(match: Match): number {
    return this.numbers.get(match)!;
  }

  private find(asked: Requirements, pool: Requirements): Match {
    const tests = [...asked].filter(([key]) => this.keys.has(key)).map(([key, each]) => keyTest(key, each, pool));
    const found = new Map<number, readonly number[]>();
    this.read.forEach(({ requirements, offerings }, t) => {
      if (!tests.every((holds) => holds(requirements, noRequirements))) return;
      found.set(
        t,
        [...offerings.keys()].filter((o) => tests.every((holds) => holds(requirements, offerings[o]!))),
      );
    });
    const text = JSON.stringify([...found]);
    const match = found.size === 0 ? nothing : (this.byText.get(text) ?? found);
    this.byText.set(text, match);
    if (!this.numbers.has(match)) this.numbers.set(match, this.numbers.size);
    return match;
  }
}

const nothing: Match = new Map();

/** Whether a type and an offering satisfy an overlay's requirement on one key in a NodePool. */
function keyTest(
  key: string,
  asked: Requirement,
  pool: Requirements,
): (type: Requirements, offering: Requirements) => boolean {
  const results = new Map<Requirement | undefined, Map<Requirement | undefined, boolean>>();
  return (ofType, ofOffering) => {
    const type = ofType.get(key);
    const offering = ofOffering.get(key);
    let known = results.get(type);
    if (known === undefined) results.set(type, (known = new Map<Requirement | undefined, boolean>()));
    let verdict = known.get(offering);
    if (verdict === undefined) known.set(offering, (verdict = meets(asked, both(both(pool.get(key), type), offering))));
    return verdict;
  };
}

const both = (a: Requirement | undefined, b: Requirement | undefined): Requirement | undefined =>
  a === undefined ? b : b === undefined ? a : intersect(a, b);

const meets = (asked: Requirement, own: Requirement | undefined): boolean =>
  own === undefined ? asked.absent : !isImpossible(intersect(asked, own));
