import type { BoundFor, PlacedClass, BoundContext, Placed } from './context.js';
import { compile, type Compiled } from '../../packing/compile/compiled.js';
import type { PodClass } from '../../packing/compile/classes.js';
import { withoutUnreadable } from '../../packing/exclude-objects.js';
import { explainedAbove } from '../../packing/solve/solve.js';
import { nearEnough, WorkingPlan } from '../../packing/solve/working-plan.js';
import type { PackingInput, Plan } from '../../packing/types.js';
import { hostAffinityText, minValuesTexts, rulesByPods, ruleText } from '../../packing/place/ignored-by-bound.js';
import type { Part, Member } from '../../packing/place/part.js';
import type { RuleBook, Rules } from '../../packing/topology/rules.js';
import { type ForcedByRules, podsOfPart, forcedByTopology } from './forced.js';
import { fullName } from '../../core/names.js';
import type { Content } from './market.js';
import type { Level } from '../../packing/compile/relaxation-levels.js';
import { Choices } from './choices.js';
import { marketProblem } from './market-problem.js';
import { holdsOne } from '../../packing/compile/offers.js';
import type { Group } from '../../packing/topology/groups.js';

/**
 * Work for one bound of one plan: about a second, which few plans need. Twice as much improved one of ten large plans.
 */
const usualUnits = 20_000_000;
/** The same for comparable plans: for 1,000 to 3,000 pods more raises the bound by less than a percent. */
const comparableUnits = 10_000_000;

/** Maximum relative rounding error of a bound. */
const safety = 1e-9;

/**
 * The plan with bounds that take into account what rules force and how pods fit into whole nodes (cli/bound/README.md).
 * They take about as long as planning itself, so they are computed only for users who ask how good a plan is. The plan
 * must belong to the input.
 */
export function withProvenBounds(input: PackingInput, plan: Plan): Plan {
  const any = boundForAny(input, plan, usualUnits);
  return withBounds(plan, any, boundForComparable(input, { ...plan, lowerBoundPerHour: any.bound }));
}

/** The plan with the bound for all plans that place the same pods. `units`: the work limit. */
export function withProvenBound(input: PackingInput, plan: Plan, units: number): Plan {
  return withBounds(plan, boundForAny(input, plan, units));
}

/** A bound of a plan. `leavesOut`: constraints that it ignores, if it is not the plan's bound. */
type Bound = Pick<Proof, 'bound'> & Partial<Proof>;

function boundForAny(input: PackingInput, plan: Plan, units: number): Bound {
  const { lowerBoundPerHour } = plan;
  const proof = isBelowPrice(plan) ? proofFor(input, plan, (each) => proofOf(each, plan, units, 'any')) : undefined;
  return proof === undefined || proof.bound < lowerBoundPerHour ? { bound: lowerBoundPerHour } : proof;
}

/**
 * The bound for plans that keep the same preferences on at most as many nodes; undefined if it is not higher than that
 * for any plan.
 */
function boundForComparable(input: PackingInput, plan: Plan): Bound | undefined {
  const { pricePerHour, lowerBoundPerHour } = plan;
  if (pricePerHour <= lowerBoundPerHour * nearEnough) return undefined;
  const proof = proofFor(input, plan, (each) => proofOf(each, plan, comparableUnits, 'comparable'));
  return proof === undefined || proof.bound <= lowerBoundPerHour ? undefined : proof;
}

/**
 * A bound above the price of the plan is invalid: for example, pods that are placed later may violate what was assumed.
 */
function proofFor(
  input: PackingInput,
  { pricePerHour }: Plan,
  prove: (compiled: Compiled) => Proof,
): Proof | undefined {
  const { result } = withoutUnreadable(input, (each) => prove(compile(each)));
  if (result.bound > pricePerHour * (1 + 1e-6)) return undefined;
  return { ...result, bound: Math.min(result.bound, pricePerHour) };
}

const isBelowPrice = ({ pricePerHour, lowerBoundPerHour }: Plan): boolean =>
  pricePerHour > 0 && lowerBoundPerHour < pricePerHour * (1 - safety);

function withBounds(plan: Plan, any: Bound, comparable?: Bound): Plan {
  const { boundLeavesOut, ...rest } = plan;
  const highest = comparable ?? any;
  const leftOut = highest.leavesOut ?? boundLeavesOut;
  const isFar = plan.pricePerHour > highest.bound * explainedAbove;
  return {
    ...rest,
    lowerBoundPerHour: any.bound,
    ...(comparable !== undefined && { comparableLowerBoundPerHour: comparable.bound }),
    ...(isFar && leftOut !== undefined && { boundLeavesOut: leftOut }),
  };
}

interface Proof {
  readonly bound: number;
  readonly leavesOut: readonly string[];
}

/** Lower bound for the pods that the plan places; it does not use the plan's price. `units`: the work limit. */
export function proofOf(compiled: Compiled, plan: Plan, units: number, boundFor: BoundFor): Proof {
  const working = new WorkingPlan(compiled);
  const placedClassOf = placedClasses(compiled, plan, boundFor);
  const countOf = (pods: readonly string[]): Map<PlacedClass, number> => {
    const counts = new Map<PlacedClass, number>();
    for (const name of pods) {
      const placedClass = placedClassOf.get(name);
      if (placedClass !== undefined) counts.set(placedClass, (counts.get(placedClass) ?? 0) + 1);
    }
    return counts;
  };
  const claims = plan.newNodeClaims.map(({ pods }) => countOf(pods));
  const placed = new Map<PlacedClass, number>();
  for (const counts of [...claims, ...plan.existingNodes.map(({ pods }) => countOf(pods))]) {
    for (const [placedClass, pods] of counts) placed.set(placedClass, (placed.get(placedClass) ?? 0) + pods);
  }
  const { bound, parts, forced } = leastPriceOfPlaced(working, placed, claims, {
    units,
    price: plan.pricePerHour,
    otherBound: plan.lowerBoundPerHour,
    mostNodes: boundFor === 'any' ? Infinity : plan.newNodeClaims.length,
  });
  const leavesOut = rulesIgnoredByProof(compiled, working.book, { parts, forced, boundFor });
  return { bound: bound * (1 - safety), leavesOut };
}

/** By pod (`namespace/name`): its class at the relaxation level that counts for the bound. */
function placedClasses(compiled: Compiled, plan: Plan, boundFor: BoundFor): Map<string, PlacedClass> {
  const levelOf = new Map(plan.relaxed?.map(({ pod, level }) => [pod, level]));
  const found = new Map<string, PlacedClass>();
  for (const podClass of compiled.queue) {
    const byLevel = levelsOf(compiled, podClass).map((level): PlacedClass => ({ podClass, level }));
    for (const pod of podClass.pods) {
      const name = fullName(pod);
      found.set(name, boundFor === 'any' ? byLevel.at(-1)! : byLevel[levelOf.get(name) ?? 0]!);
    }
  }
  return found;
}

const levelsOf = ({ levelsByShape }: Compiled, { shape }: PodClass): Compiled['levelsByShape'][number] =>
  levelsByShape[shape.index]!;

/**
 * Constraints of a plan that `leastPriceOfPlaced` ignores, in words: rules of pods, in order of their number, then
 * those of NodePools and nodes.
 */
function rulesIgnoredByProof(
  compiled: Compiled,
  book: RuleBook,
  {
    parts,
    forced,
    boundFor,
  }: { readonly parts: readonly Part[]; readonly forced: ForcedByRules; readonly boundFor: BoundFor },
): string[] {
  const pods = new Map<string, number>();
  for (const part of parts) {
    const ignored = new Set<string>();
    for (const { podClass, level } of part.members) {
      const { spread, affinity, antiAffinity, hostAffinity } = book.of(podClass.shape, level);
      for (const group of [...spread, ...affinity, ...antiAffinity])
        if (!forced.counted.has(group)) ignored.add(ruleText(group));
      if (hostAffinity.length > 0 && !part.together) ignored.add(hostAffinityText);
      if (boundFor === 'any' && compiled.levelsByShape[podClass.shape.index]!.length > 1) ignored.add('preferences');
    }
    for (const rule of ignored) pods.set(rule, (pods.get(rule) ?? 0) + podsOfPart(part));
  }
  return [
    ...rulesByPods(pods),
    ...minValuesTexts(compiled),
    ...(compiled.nodes.length > 0 ? ['rules by hostname on existing nodes'] : []),
    'rounding up to whole nodes',
  ];
}

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
function leastPriceOfPlaced(
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
