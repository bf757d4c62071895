import type { Content } from './market.js';
import type { Member, Part } from '../../packing/place/part.js';
import type { PodClass } from '../../packing/compile/classes.js';
import type { Level } from '../../packing/compile/relaxation-levels.js';
import type { BoundContext, Placed, PlacedClass } from './context.js';
import { type ForcedByRules, forcedByTopology } from './forced.js';
import { Choices } from './choices.js';
import { marketProblem } from './market-problem.js';
import type { Compiled } from '../../packing/compile/compiled.js';
import { holdsOne } from '../../packing/compile/offers.js';
import type { Group } from '../../packing/topology/groups.js';
import type { Rules } from '../../packing/topology/rules.js';

/** A part, and the number of pods in one unit of it. */
type Mutable = Part & { count: number; members: Member[] };

/**
 * The placed pods as parts: classes that no rule and no offer distinguishes form one part, and pods that must share a
 * node by mutual affinity form a part of one unit.
 */
function partsToBound(context: BoundContext, placed: Placed): Part[] {
  const { compiled, feasibility, book } = context;
  const bundleOf = bundles(context, placed);
  const parts: Mutable[] = [];
  const known = new Map<string, Mutable>();
  for (const [placedClass, count] of placed) {
    const { podClass, level } = placedClass;
    const member = { podClass, level, pods: podClass.pods.slice(0, count) };
    const bundle = bundleOf.get(placedClass);
    const rules = book.of(podClass.shape, level);
    const profiles = feasibility.holding(podClass, level);
    const nodes = compiled.nodes.length > 0 ? ` n${podClass.shape.index}.${levelIndex(compiled, placedClass)}` : '';
    const text =
      bundle === undefined
        ? `${podClass.demand.index} ${indexes(profiles)} ${rulesText(rules, podClass)}${nodes}`
        : `bundle ${bundle}`;
    const part = known.get(text);
    if (part === undefined) {
      const together = bundle !== undefined;
      const demand = feasibility.demand(podClass).map((amount) => (together ? amount * count : amount));
      const made = { members: [member], together, profiles, pinnedKeys: [], demand, count: together ? 1 : count };
      known.set(text, made);
      parts.push(made);
      continue;
    }
    part.members.push(member);
    if (bundle === undefined) part.count += count;
    else join(part, feasibility.demand(podClass), count, profiles);
  }
  return parts.map((part) => (part.together ? onWhatHolds(part, context) : part));
}

const levelIndex = ({ levelsByShape }: Compiled, { podClass, level }: PlacedClass): number =>
  levelsByShape[podClass.shape.index]!.indexOf(level);

function join(part: Mutable, demand: Float64Array, count: number, profiles: Part['profiles']): void {
  demand.forEach((amount, d) => (part.demand[d] = part.demand[d]! + amount * count));
  const both = new Set(profiles);
  Object.assign(part, { profiles: part.profiles.filter((profile) => both.has(profile)) });
}

function onWhatHolds(part: Part, { compiled, feasibility }: BoundContext): Part {
  const holds = part.profiles.filter((profile) => holdsOne(compiled.offers.of(profile), part.demand));
  return { ...part, profiles: feasibility.intern(holds) };
}

const indexes = (list: readonly { readonly index: number }[]): string => list.map(({ index }) => index).join();

function rulesText(rules: Rules, { shape }: PodClass): string {
  const { spread, affinity, antiAffinity, hostSpread, hostAffinity, hostAntiAffinity, matched } = rules;
  const lists = [spread, affinity, antiAffinity, hostSpread, hostAffinity, hostAntiAffinity, matched].map(indexes);
  return `${lists.join(' ')} ${shape.hostPorts.length > 0 ? `p${shape.index}` : ''}`;
}

/**
 * The classes whose pods must all share one node with those of their bundle: they have mutual affinity by host name,
 * and no other running or placed pod satisfies it. Of several such rules the first counts.
 */
function bundles({ book, topologyCounts }: BoundContext, placed: Placed): Map<PlacedClass, number> {
  const owners = new Map<Group, PlacedClass[]>();
  const open = new Set<Group>();
  for (const placedClass of placed.keys()) {
    const { hostAffinity, matched } = book.of(placedClass.podClass.shape, placedClass.level);
    for (const group of hostAffinity) {
      if (!matched.includes(group)) open.add(group);
      owners.set(group, [...(owners.get(group) ?? []), placedClass]);
    }
    for (const group of matched) {
      if (group.hostname && group.kind === 'affinity' && !hostAffinity.includes(group)) open.add(group);
    }
  }
  const found = new Map<PlacedClass, number>();
  for (const [group, classes] of owners) {
    if (open.has(group) || topologyCounts.total(group) > 0 || classes.some((each) => found.has(each))) continue;
    for (const placedClass of classes) found.set(placedClass, group.index);
  }
  return found;
}

/**
 * With more offers nothing is proven, since reading them would take seconds. No catalogue has as many in a few
 * NodePools.
 */
const mostOffers = 20_000;

interface PriceBound {
  /** Lower bound of the price of plans that place the pods, dollars per hour. */
  readonly bound: number;
  /** The parts, and the rules between them that the bound takes into account. */
  readonly parts: readonly Part[];
  readonly forced: ForcedByRules;
}

interface BoundEffort {
  readonly units: number;
  readonly price: number;
  readonly otherBound: number;
  /** Maximum number of nodes of the plans; Infinity: any. */
  readonly mostNodes: number;
}

/**
 * A lower bound for the price of the placed pods, from contents of whole nodes and the constraints that rules force
 * (cli/bound/README.md). `claims`: the pods by class and level of each new node of a known plan, which costs `price`.
 * The work is limited by `units`, and stops early if the bound stays below `otherBound`.
 */
export function leastPriceOfPlaced(
  context: BoundContext,
  placed: Placed,
  claims: readonly Placed[],
  { units, price, otherBound, mostNodes }: BoundEffort,
): PriceBound {
  const parts = partsToBound(context, placed);
  const forced = forcedByTopology(context, parts);
  if (offersOf(context, parts) > mostOffers) return { bound: 0, parts, forced };
  const problem = { parts, forced, mostNodes };
  const choices = new Choices((pinned) => marketProblem(context, problem, pinned), forced.together, {
    units,
    packed: contentsOf(parts, claims),
    otherBound,
  });
  choices.decide(price);
  for (const { group } of forced.together.slice(0, choices.rulesDecided)) forced.counted.add(group);
  return { bound: Math.max(0, choices.bound), parts, forced };
}

function offersOf({ compiled }: BoundContext, parts: readonly Part[]): number {
  const used = new Set(parts.flatMap(({ profiles }) => profiles));
  return [...used].reduce((sum, profile) => sum + compiled.offers.of(profile).rows.length, 0);
}

/** The contents of the plan's new nodes, by part. */
function contentsOf(parts: readonly Part[], claims: readonly Placed[]): Content[] {
  const partOf = new Map<PodClass, Map<Level, number>>();
  parts.forEach(({ members }, part) => {
    for (const { podClass, level } of members) {
      const byLevel = partOf.get(podClass) ?? new Map<Level, number>();
      partOf.set(podClass, byLevel.set(level, part));
    }
  });
  return claims.map((claim) => {
    const content = new Map<number, number>();
    for (const [{ podClass, level }, pods] of claim) {
      const part = partOf.get(podClass)!.get(level)!;
      content.set(part, parts[part]!.together ? 1 : (content.get(part) ?? 0) + pods);
    }
    return content;
  });
}
