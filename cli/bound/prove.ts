import type { BoundFor, PlacedClass } from './context.js';
import { leastPriceOfPlaced } from './least-price.js';
import { compile, type Compiled } from '../../packing/compile/compiled.js';
import type { PodClass } from '../../packing/compile/classes.js';
import { withoutUnreadable } from '../../packing/exclude-objects.js';
import { explainedAbove } from '../../packing/solve/solve.js';
import { nearEnough, WorkingPlan } from '../../packing/solve/working-plan.js';
import type { PackingInput, Plan } from '../../packing/types.js';
import { hostAffinityText, minValuesTexts, rulesByPods, ruleText } from '../../packing/place/ignored-by-bound.js';
import type { Part } from '../../packing/place/part.js';
import type { RuleBook } from '../../packing/topology/rules.js';
import { type ForcedByRules, podsOfPart } from './forced.js';
import { fullName } from '../../core/names.js';

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
