import { compareText } from '../../core/text.js';
import { plan } from '../../packing/plan.js';
import { withProvenBound } from './prove.js';
import type { PackingInput, Plan } from '../../packing/types.js';

/** A plan of which no other that was found has fewer nodes at that price, nor a lower price with so many nodes. */
export interface FrontierPoint {
  readonly plan: Plan;
  /** Nodes to launch. */
  readonly nodes: number;
  /** Dollars per hour. */
  readonly pricePerHour: number;
  /** From what a node costs besides its price on, dollars per hour, this is the cheapest plan of all; absent where it is so at no cost. */
  readonly nodeCost?: number;
  /** No plan with at most so many nodes costs less, dollars per hour. */
  readonly lowerBoundPerHour: number;
}

export interface Frontier {
  /** The plan that is made without being asked for another (provisioning/fewest-nodes). */
  readonly taken: Plan;
  /** The cheapest first, each with fewer nodes than the one before. */
  readonly points: readonly FrontierPoint[];
}

/** Plans made for one frontier, at most. */
const mostPlans = 14;
/** Work for the lower bound of each of them: a share of what one plan gets. */
const boundUnits = 5_000_000;

type Found = Pick<FrontierPoint, 'plan' | 'nodes' | 'pricePerHour'>;

/** If each node cost `nodeCost` more, no plan would cost less than `leastPrice`, dollars per hour. */
interface Bound {
  readonly nodeCost: number;
  readonly leastPrice: number;
}

/**
 * Price against number of nodes (provisioning/frontier): plans for what a node might cost besides its price. Between two of them, what a
 * node must cost for both to be equal is tried next, where there is most left to find.
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
  // One node less is worth the price of the whole plan.
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
 * What a plan with at most as many nodes costs at least: if each node cost `nodeCost` more, it would cost at most `nodes * nodeCost` more, and no less than the bound for that cost.
 */
function lowerBoundOf({ nodes, pricePerHour }: Found, bounds: readonly Bound[]): number {
  const most = Math.max(0, ...bounds.map(({ nodeCost, leastPrice }) => leastPrice - nodeCost * nodes));
  return Math.min(most, pricePerHour);
}

/** Dollars per hour, where the plan costs nothing. */
const least = 1e-6;

const foundAs = (made: Plan): Found => ({
  plan: made,
  nodes: made.newNodeClaims.length,
  pricePerHour: made.pricePerHour,
});

/** What a plan costs at least, however many nodes it has. */
function lowerBoundAtAnyNumber(bounds: readonly Bound[], { pricePerHour }: Plan): number {
  const unchanged = bounds.filter(({ nodeCost }) => nodeCost === 0);
  return Math.min(pricePerHour, Math.max(...unchanged.map(({ leastPrice }) => leastPrice)));
}

/** The cheapest plan where each node costs so much more, at the prices that nodes have without that; and what a plan costs at least with that. */
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

/** Whether the plans leave as many pods out: others are no answer to the same question. */
const sameLeft = (a: Plan, b: Plan): boolean => a.unschedulable.length === b.unschedulable.length;

/** The pods that a plan leaves out: a bound of a plan for other pods says nothing about these. */
const leftOut = ({ unschedulable }: Plan): string =>
  unschedulable
    .map(({ pod }) => pod)
    .sort(compareText)
    .join();

/** The cheapest first, each with fewer nodes than all before. */
function undominated(found: readonly Found[]): Found[] {
  const sorted = [...found].sort((a, b) => a.pricePerHour - b.pricePerHour || a.nodes - b.nodes);
  const kept: Found[] = [];
  for (const each of sorted) if (each.nodes < (kept.at(-1)?.nodes ?? Infinity)) kept.push(each);
  return kept;
}

/** What is tried between two neighbours, in multiples of the cost of a node at which they are equal: plans are not always the best there are. */
const multiples = [1, 1 / 3, 3];

/**
 * Of neighbours with plans in between that were not looked for often enough, those that are furthest apart; with what a node is to cost
 * next.
 */
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

/** Each with what a node must cost besides for it to be the best of them; those that are the best at no cost without. */
function withNodeCosts(points: readonly Found[]): Omit<FrontierPoint, 'lowerBoundPerHour'>[] {
  return points.map((point, i) => {
    const from = Math.max(0, ...points.slice(0, i).map((many) => slope(many, point)));
    const to = Math.min(...points.slice(i + 1).map((few) => slope(point, few)));
    return from <= to ? { ...point, nodeCost: from } : point;
  });
}

/** What a node costs besides where the two plans cost the same. */
const slope = (many: Found, few: Found): number => (few.pricePerHour - many.pricePerHour) / (many.nodes - few.nodes);
