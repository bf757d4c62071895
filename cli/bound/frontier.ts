import { compareText } from '../../core/text.js';
import { plan } from '../../packing/plan.js';
import { withProvenBound } from './prove.js';
import type { PackingInput, Plan } from '../../packing/types.js';

/** A plan such that no other found has fewer nodes at this price, or a lower price with this number of nodes. */
export interface FrontierPoint {
  readonly plan: Plan;
  /** Number of nodes to launch. */
  readonly nodes: number;
  /** Dollars per hour. */
  readonly pricePerHour: number;
  /**
   * From this additional cost of a node on, dollars per hour, this is the cheapest plan; absent if it is the cheapest
   * without additional cost.
   */
  readonly nodeCost?: number;
  /** Lower bound of the price of plans with at most this number of nodes, dollars per hour. */
  readonly lowerBoundPerHour: number;
}

export interface Frontier {
  /** The default plan (provisioning/fewest-nodes). */
  readonly taken: Plan;
  /** By price ascending; each has fewer nodes than the previous one. */
  readonly points: readonly FrontierPoint[];
}

/** Maximum number of plans for one frontier. */
const mostPlans = 14;
/** Work for the lower bound of each plan: less than for a single plan. */
const boundUnits = 5_000_000;

type Found = Pick<FrontierPoint, 'plan' | 'nodes' | 'pricePerHour'>;

/** With `nodeCost` added to each node, no plan costs less than `leastPrice`, dollars per hour. */
interface Bound {
  readonly nodeCost: number;
  readonly leastPrice: number;
}

/**
 * Price against number of nodes (provisioning/frontier): plans for different additional costs of a node. Between two
 * neighbours, the cost at which both are equal is tried next, starting where most may be gained.
 */
export function frontierOf(input: PackingInput): Frontier {
  const taken = plan(input);
  const found = [foundAs(taken)];
  const bounds: Bound[] = [{ nodeCost: 0, leastPrice: taken.lowerBoundPerHour }];
  const at = (nodeCost: number): void => {
    const { made, leastPrice } = planAt(input, nodeCost);
    if (!sameLeft(made.plan, taken)) return;
    found.push(made);
    if (leftOut(made.plan) === leftOut(taken)) bounds.push({ nodeCost, leastPrice });
  };
  at(0);
  // Saving one node is worth the price of the whole plan.
  at(Math.max(taken.pricePerHour, least));
  const tried = new Map<string, number>();
  for (let plans = 3; plans < mostPlans; plans++) {
    const gap = widest(undominated(found), tried);
    if (gap === undefined) break;
    tried.set(gap.text, (tried.get(gap.text) ?? 0) + 1);
    at(gap.nodeCost);
  }
  const points = withNodeCosts(undominated(found)).map((point) => ({
    ...point,
    lowerBoundPerHour: lowerBoundOf(point, bounds),
  }));
  return { taken: { ...taken, lowerBoundPerHour: lowerBoundAtAnyNumber(bounds, taken) }, points };
}

/**
 * Lower bound of the price of a plan with at most this number of nodes: with `nodeCost` added to each node, it would
 * cost at most `nodes * nodeCost` more, and at least the bound for that cost.
 */
function lowerBoundOf({ nodes, pricePerHour }: Found, bounds: readonly Bound[]): number {
  const most = Math.max(0, ...bounds.map(({ nodeCost, leastPrice }) => leastPrice - nodeCost * nodes));
  return Math.min(most, pricePerHour);
}

/** Dollars per hour, if the plan is free. */
const least = 1e-6;

const foundAs = (made: Plan): Found => ({
  plan: made,
  nodes: made.newNodeClaims.length,
  pricePerHour: made.pricePerHour,
});

/** Lower bound of the price of a plan with any number of nodes. */
function lowerBoundAtAnyNumber(bounds: readonly Bound[], { pricePerHour }: Plan): number {
  const unchanged = bounds.filter(({ nodeCost }) => nodeCost === 0);
  return Math.min(pricePerHour, Math.max(...unchanged.map(({ leastPrice }) => leastPrice)));
}

/** The cheapest plan if each node costs this much more, with its price without that; and the lower bound with it. */
function planAt(input: PackingInput, nodeCost: number): { made: Found; leastPrice: number } {
  const settings = { ...input.settings, nodeCost: (input.settings.nodeCost ?? 0) + nodeCost, isCheapest: true };
  const dearer = { ...input, settings };
  const made = withProvenBound(dearer, plan(dearer), boundUnits);
  const newNodeClaims = made.newNodeClaims.map((claim) => ({
    ...claim,
    cheapest: { ...claim.cheapest, pricePerHour: claim.cheapest.pricePerHour - nodeCost },
  }));
  const pricePerHour = newNodeClaims.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
  const lowerBoundPerHour = nodeCost === 0 ? made.lowerBoundPerHour : 0;
  return {
    made: foundAs({ ...made, newNodeClaims, pricePerHour, lowerBoundPerHour }),
    leastPrice: made.lowerBoundPerHour,
  };
}

/** Whether both plans leave the same number of pods unschedulable; otherwise they are not comparable. */
const sameLeft = (a: Plan, b: Plan): boolean => a.unschedulable.length === b.unschedulable.length;

/** Key of the unschedulable pods: a bound of a plan for other pods is not valid. */
const leftOut = ({ unschedulable }: Plan): string =>
  unschedulable
    .map(({ pod }) => pod)
    .sort(compareText)
    .join();

/** By price ascending, each with fewer nodes than all before. */
function undominated(found: readonly Found[]): Found[] {
  const sorted = [...found].sort((a, b) => a.pricePerHour - b.pricePerHour || a.nodes - b.nodes);
  const kept: Found[] = [];
  for (const each of sorted) if (each.nodes < (kept.at(-1)?.nodes ?? Infinity)) kept.push(each);
  return kept;
}

/**
 * Costs to try between two neighbours, as multiples of the cost at which they are equal, since plans are not always
 * optimal.
 */
const multiples = [1, 1 / 3, 3];

/** The neighbours furthest apart between which more plans may exist, with the cost of a node to try next. */
function widest(
  points: readonly Found[],
  tried: ReadonlyMap<string, number>,
): { nodeCost: number; text: string } | undefined {
  let best: { nodeCost: number; text: string; size: number } | undefined;
  for (let i = 1; i < points.length; i++) {
    const [many, few] = [points[i - 1]!, points[i]!];
    const text = `${many.nodes}-${few.nodes}`;
    const multiple = multiples[tried.get(text) ?? 0];
    if (many.nodes - few.nodes < 2 || multiple === undefined) continue;
    const size = (many.nodes - few.nodes) * (few.pricePerHour - many.pricePerHour);
    if (best === undefined || size > best.size) best = { nodeCost: slope(many, few) * multiple, text, size };
  }
  return best;
}

/**
 * Adds to each plan the additional cost of a node from which it is the cheapest; none for the cheapest without cost.
 */
function withNodeCosts(points: readonly Found[]): Omit<FrontierPoint, 'lowerBoundPerHour'>[] {
  return points.map((point, i) => {
    const from = Math.max(0, ...points.slice(0, i).map((many) => slope(many, point)));
    const to = Math.min(...points.slice(i + 1).map((few) => slope(point, few)));
    return from <= to ? { ...point, nodeCost: from } : point;
  });
}

/** The additional cost of a node at which the two plans cost the same. */
const slope = (many: Found, few: Found): number => (few.pricePerHour - many.pricePerHour) / (many.nodes - few.nodes);
