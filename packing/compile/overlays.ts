import type { NodeOverlay } from '../../api/karpenter/node-overlay.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { machinePrice } from './commitments.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { parseResource } from '../../core/quantities.js';
import { join, readLabels, readNodeRequirements, type Requirements } from '../requirements/requirements.js';
import { OverlayMatcher, type Match } from './overlay-matches.js';
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
    .map((overlay) => ({ overlay, name: nameOf(overlay), weight: overlay.spec.weight ?? 0 }))
    .sort((a, b) => b.weight - a.weight || compareText(b.name, a.name));
  const all = new Overlaying(nodePools, catalogues);
  const conflicts = new Map<string, string>();
  for (const { overlay, name, weight } of ordered) {
    const conflict = all.apply(overlay, name, weight);
    if (conflict !== undefined) conflicts.set(name, conflict);
  }
  return { conflicts, typesOf: (nodePool) => all.typesOf(nodePool) };
}

/** The overlay that set a value, and its weight. */
interface Decision {
  readonly weight: number;
  readonly by: string;
}

interface Price extends Decision {
  readonly price: number;
  /** Whether the overlay names instance types and sets a price, so that types without a price become available. */
  readonly prices: boolean;
}

interface Amount extends Decision {
  readonly amount: number;
}

/** NodePools of one catalogue for which all overlays so far had the same result, and that result. */
interface Group {
  readonly matcher: OverlayMatcher;
  /** By index of the offering. */
  readonly prices: (Price | undefined)[];
  /** By index of the type, then by resource. */
  readonly capacity: ReadonlyMap<string, Amount>[];
  /** The maps that belong only to this group and may be modified, by index of the type. */
  readonly own: (Map<string, Amount> | undefined)[];
  /** Number of offerings without a price from an overlay. */
  unpriced: number;
  /**
   * Weights of the last overlays that set a price and an amount. Overlays come by descending weight, so only an equal
   * weight can conflict.
   */
  lastPrice: number | undefined;
  lastAmount: number | undefined;
}

interface Member {
  readonly name: string;
  readonly requirements: Requirements;
  group: Group;
}

/** An overlay while it is applied. */
interface Applied extends Decision {
  readonly capacity: ReadonlyMap<string, number>;
  readonly spec: NodeOverlay['spec'];
}

class Overlaying {
  private readonly members: readonly Member[];
  private readonly byName: ReadonlyMap<string, Member>;
  /** One matcher for each catalogue. */
  private readonly matchers: readonly OverlayMatcher[];
  private readonly finished = new Map<Group, readonly InstanceType[]>();
  private readonly variants: Variants = new Map();

  constructor(nodePools: readonly NodePool[], catalogues: Catalogues) {
    const groups = new Map<readonly InstanceType[], Group>();
    const groupOf = (types: readonly InstanceType[]): Group => {
      let group = groups.get(types);
      if (group === undefined) {
        group = groupOver(new OverlayMatcher(types));
        groups.set(types, group);
      }
      return group;
    };
    this.members = nodePools.map((pool) => {
      const name = nameOf(pool);
      const requirements = join(templateRequirements(pool), readLabels(pool.spec.template.metadata?.labels));
      return { name, requirements, group: groupOf(catalogues.get(name) ?? noTypes) };
    });
    this.matchers = [...groups.values()].map(({ matcher }) => matcher);
    this.byName = new Map(this.members.map((member) => [member.name, member]));
  }

  /** Applies an overlay; returns the conflict if it is refused. */
  apply({ spec }: NodeOverlay, by: string, weight: number): string | undefined {
    const capacity = new Map(
      Object.entries(spec.capacity ?? {}).map(([name, each]) => [name, parseResource(name, each)]),
    );
    const decidesPrices = spec.price !== undefined || spec.priceAdjustment !== undefined;
    if (capacity.size === 0 && !decidesPrices) return undefined;
    const asked = readNodeRequirements(spec.requirements);
    if (!this.matchers.some((matcher) => matcher.mayMatch(asked))) return undefined;
    const applied: Applied = { by, weight, capacity, spec };
    const changes = new Map<Group, Map<Match, Member[]>>();
    for (const member of this.members) {
      const { group } = member;
      let byMatch = changes.get(group);
      if (byMatch === undefined) changes.set(group, (byMatch = new Map<Match, Member[]>()));
      const match = group.matcher.match(asked, member.requirements);
      const alike = byMatch.get(match);
      if (alike !== undefined) {
        alike.push(member);
        continue;
      }
      byMatch.set(match, [member]);
      const clash = clashIn(group, match, applied);
      if (clash !== undefined) return `${clash.what} in ${member.name} is decided by ${clash.by} of equal weight`;
    }
    for (const [group, byMatch] of changes) {
      for (const [match, members] of byMatch) {
        const own = byMatch.size === 1 ? group : copyOf(group);
        change(own, match, applied);
        for (const member of members) member.group = own;
      }
    }
    return undefined;
  }

  typesOf(nodePool: string): readonly InstanceType[] {
    const group = this.byName.get(nodePool)?.group;
    if (group === undefined) return noTypes;
    let types = this.finished.get(group);
    if (types === undefined) this.finished.set(group, (types = finish(group, this.variants)));
    return types;
  }
}

const noTypes: readonly InstanceType[] = [];
const noCapacity: ReadonlyMap<string, Amount> = new Map();

const groupOver = (matcher: OverlayMatcher): Group => ({
  matcher,
  prices: [],
  capacity: matcher.types.map(() => noCapacity),
  own: [],
  unpriced: matcher.offerings.length,
  lastPrice: undefined,
  lastAmount: undefined,
});

const copyOf = (group: Group): Group => ({
  ...group,
  prices: [...group.prices],
  capacity: [...group.capacity],
  own: [],
});

const decidesPrice = ({ price, priceAdjustment }: NodeOverlay['spec']): boolean =>
  price !== undefined || priceAdjustment !== undefined;

/** The first value that another overlay of the same weight has set already. */
function clashIn(
  { matcher, prices, capacity, lastPrice, lastAmount }: Group,
  match: Match,
  { weight, spec, capacity: amounts }: Applied,
): { readonly what: string; readonly by: string } | undefined {
  const matched = lastPrice === weight && decidesPrice(spec) ? match.offerings : [];
  if (matched.length === 0 && (lastAmount !== weight || amounts.size === 0)) return undefined;
  let next = 0;
  for (const t of match.types) {
    const { name, offerings } = matcher.types[t]!;
    for (const resource of amounts.keys()) {
      const known = capacity[t]!.get(resource);
      if (known?.weight === weight) return { what: `${resource} of ${name}`, by: known.by };
    }
    const end = matcher.from(t) + offerings.length;
    for (; next < matched.length && matched[next]! < end; next++) {
      const known = prices[matched[next]!];
      if (known?.weight === weight) return { what: `the price of ${name}`, by: known.by };
    }
  }
  return undefined;
}

/** Sets the values that no overlay has set yet. */
function change(group: Group, match: Match, { by, weight, spec, capacity: amounts }: Applied): void {
  const { matcher, prices, capacity } = group;
  if (amounts.size > 0) {
    for (const t of match.types) {
      const known = capacity[t]!;
      const fresh = [...amounts].filter(([resource]) => !known.has(resource));
      if (fresh.length === 0) continue;
      const own = (group.own[t] ??= new Map(known));
      for (const [resource, amount] of fresh) own.set(resource, { by, weight, amount });
      group.lastAmount = weight;
      capacity[t] = own;
    }
  }
  if (!decidesPrice(spec) || group.unpriced === 0) return;
  const namesPrice = spec.price !== undefined && namesTypes(spec.requirements);
  for (const at of match.offerings) {
    if (prices[at] !== undefined) continue;
    group.unpriced -= 1;
    group.lastPrice = weight;
    const { price } = matcher.offerings[at]!;
    prices[at] = { by, weight, price: adjusted(price, spec.price, spec.priceAdjustment), prices: namesPrice };
  }
}

/** The price after a replacement or an adjustment, at least zero. */
export function adjusted(price: number, replacement: string | undefined, adjustment: string | undefined): number {
  if (replacement !== undefined) return Number(replacement);
  if (adjustment === undefined) return price;
  if (!adjustment.endsWith('%')) return Math.max(0, price + Number(adjustment));
  return Math.max(0, price * (1 + Number(adjustment.slice(0, -1)) / 100));
}

/** Types with overlays applied, by what was set: NodePools with equal results share them. */
type Variants = Map<InstanceType, Map<string, InstanceType>>;

function finish({ matcher, prices, capacity }: Group, variants: Variants): readonly InstanceType[] {
  return matcher.types.map((type, t) => {
    const amounts = capacity[t]!;
    const from = matcher.from(t);
    const own = type.offerings.map((_, o) => prices[from + o]);
    if (amounts.size === 0 && own.every((price) => price === undefined)) return type;
    const text = JSON.stringify([
      own.map((each) => (each === undefined ? null : [each.price, each.prices])),
      [...amounts].map(([resource, { amount }]) => [resource, amount]),
    ]);
    let known = variants.get(type);
    if (known === undefined) variants.set(type, (known = new Map<string, InstanceType>()));
    let made = known.get(text);
    if (made === undefined) known.set(text, (made = overlaid(type, own, amounts)));
    return made;
  });
}

function overlaid(
  type: InstanceType,
  prices: readonly (Price | undefined)[],
  capacity: ReadonlyMap<string, Amount>,
): InstanceType {
  const more = Object.fromEntries([...capacity].map(([name, { amount }]) => [name, amount]));
  return {
    ...type,
    offerings: type.offerings.map((offering, o) => {
      const decided = prices[o];
      return decided === undefined ? offering : repriced(offering, decided);
    }),
    capacity: { ...type.capacity, ...more },
    ...(capacity.size > 0 ? { capacityOverlayApplied: true } : {}),
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
