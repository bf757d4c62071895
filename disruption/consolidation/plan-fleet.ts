import { compareText } from '../../core/text.js';
import { surchargeOf, type Filling, type Launch, type PurchaseSearch, type Worth } from '../../packing/trial.js';
import { byPricePerCost, countedPrice, priceOfAll, type FleetNode } from './fleet.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';
import { chooseTarget, isFixed, type Estimate, type FleetTarget } from './target.js';

/** Search units for the whole plan. */
const finalUnits = 10_000;
/** For a first estimate nothing is searched. */
const firstSearch: PurchaseSearch = { units: 0 };

/** How many times launches are examined for nodes that could be kept instead. */
const rounds = 8;

/** An existing node is kept instead of a launch if it is at most this factor more expensive, since no pod has to move. */
const keptUpToPriceFactor = 1.02;

/** A target, with the order in which its remaining nodes are filled. */
interface Ordered extends FleetTarget {
  readonly filling: Filling;
}

/** Prices within this factor count as equal; then fewer evictions decide. */
const equalWithin = 1.001;

/** A node of a fleet counts this share of what a node to launch counts more than it costs: fewer nodes mean that more pods move. */
const shareOfSurcharge = 0.5;

/** Factor on the price of a proposal that is not allowed as a whole. */
const shortfall = 1.05;

/** The result of a proposal. */
interface Proposal {
  readonly target: Ordered;
  readonly outcome: Outcome;
  /** Price of the final fleet, dollars per hour. */
  readonly price: number;
  /** Number of nodes in the final fleet. */
  readonly nodes: number;
  /** What the evictions must save, dollars per hour. */
  readonly disruption: number;
  /** RescheduleDisruptionCost of the removed nodes (disruption-cost/of-a-node). */
  readonly cost: number;
}

/**
 * The outcome of removing all nodes that the cheapest fleet does not need, computed in detail: tries the estimates of
 * `chooseTarget`, or the `given` target, and corrects them. `pays` returns whether an outcome is allowed. The outcome stays
 * applied; undefined, with nothing applied, if no node is to be removed.
 */
export function planFleet(
  simulation: Simulation,
  pays: (outcome: Outcome) => boolean,
  given?: FleetTarget,
): Outcome | undefined {
  const proposals: Proposal[] = [];
  for (const target of targets(simulation, given)) {
    const outcome = target.remove.length === 0 ? undefined : attempt(simulation, target, firstSearch);
    if (outcome === undefined) continue;
    simulation.undo();
    proposals.push(proposalOf(simulation, target, outcome));
  }
  simulation.surcharge = surchargeIn(simulation, proposals);
  const best = bestOf(simulation, proposals, pays);
  if (best === undefined) return undefined;
  const { surcharge } = simulation;
  const outcome = attempt(simulation, best.target, { units: finalUnits, surcharge });
  const counted = ({ launches }: Outcome): number => countedPrice(launches, surcharge);
  if (outcome !== undefined && counted(outcome) < counted(best.outcome)) return outcome;
  if (outcome !== undefined) simulation.undo();
  return attempt(simulation, best.target, firstSearch);
}

/** The proposal with the best expected result (consolidation/fewest-nodes). `pays` is called only for proposals that may be the best. */
function bestOf(
  { surcharge }: Simulation,
  proposals: readonly Proposal[],
  pays: (outcome: Outcome) => boolean,
): Proposal | undefined {
  const hopeful = proposals
    .map((proposal) => ({ ...proposal, counted: proposal.price + proposal.disruption + surcharge * proposal.nodes }))
    .sort((a, b) => a.counted - b.counted);
  let best: (typeof hopeful)[number] | undefined;
  let least = Infinity;
  for (const proposal of hopeful) {
    if (proposal.counted > least * equalWithin) break;
    // A proposal that no command can carry out as a whole will not reach its price.
    const expected = pays(proposal.outcome) ? proposal.counted : proposal.counted * shortfall;
    const isEqual = expected <= least * equalWithin;
    if (best === undefined || expected < least / equalWithin || (isEqual && proposal.cost < best.cost)) {
      best = proposal;
      least = Math.min(least, expected);
    }
  }
  return best;
}

/** By the cheapest of these fleets. */
function surchargeIn({ worth }: Simulation, proposals: readonly Proposal[]): number {
  const cheapest = proposals.reduce<Proposal | undefined>(
    (least, each) => (least === undefined || each.price < least.price ? each : least),
    undefined,
  );
  return cheapest === undefined ? 0 : shareOfSurcharge * surchargeOf(cheapest, worth.leastNodes);
}

/** A way to plan a fleet. */
interface Strategy {
  readonly estimate: Estimate;
  /** The order in which the remaining nodes are filled. */
  readonly order: (simulation: Simulation, nodes: readonly FleetNode[]) => readonly FleetNode[];
  readonly filling: Filling;
  /** Whether nodes are kept that would only be launched again. */
  readonly keepsLaunched: boolean;
}

const asEstimated: Strategy['order'] = (_simulation, nodes) => nodes;
const fullestFirst: Strategy['order'] = ({ worth }, nodes) => byFree(worth, nodes);

const likely: Estimate = { usable: 0.9, dearest: 0.999 };
/** Keeps nodes until others are known to have room for their pods. */
const cautious: Estimate = { usable: 0, dearest: 1.001 };

/**
 * Which way is cheapest depends on the cluster. Ways with the same target are planned once. In large fleets the first way is
 * nearly always the best.
 */
const strategies: readonly Strategy[] = [
  { estimate: likely, order: asEstimated, filling: 'alike', keepsLaunched: false },
  { estimate: likely, order: asEstimated, filling: 'pickiest', keepsLaunched: false },
  { estimate: likely, order: fullestFirst, filling: 'pickiest', keepsLaunched: false },
  { estimate: likely, order: fullestFirst, filling: 'pickiest', keepsLaunched: true },
  { estimate: cautious, order: asEstimated, filling: 'pickiest', keepsLaunched: false },
  { estimate: likely, order: fullestFirst, filling: 'scarcest', keepsLaunched: false },
  { estimate: cautious, order: asEstimated, filling: 'scarcest', keepsLaunched: false },
];

/** With more nodes than this only the first way is tried. */
const largeFleet = 2000;

/** Whether the fleet is so large that only one way is tried. */
export const isLarge = ({ nodes }: Simulation): boolean => nodes.length > largeFleet;

/** The targets to try, each once. */
function* targets(simulation: Simulation, given: FleetTarget | undefined): Generator<Ordered> {
  const estimated = new Map<Estimate, FleetTarget>();
  const seen = new Set<string>();
  for (const { estimate, order, filling, keepsLaunched } of isLarge(simulation) ? strategies.slice(0, 1) : strategies) {
    let target = given ?? estimated.get(estimate);
    if (target === undefined) estimated.set(estimate, (target = chooseTarget(simulation, estimate)));
    const ordered = { ...target, keep: order(simulation, target.keep), filling };
    const kept = keepsLaunched ? keepInsteadOfLaunching(simulation, ordered) : ordered;
    const text = [filling, ...[kept.keep, kept.remove].map((nodes) => nodes.map(({ name }) => name).join())].join(' ');
    if (seen.has(text)) continue;
    seen.add(text);
    yield removeMore(simulation, kept);
  }
}

function byFree(worth: Worth, nodes: readonly FleetNode[]): FleetNode[] {
  const free = new Map(nodes.map((node) => [node, worth.of(node.state.free)]));
  return [...nodes].sort((a, b) => free.get(a)! - free.get(b)! || compareText(a.name, b.name));
}

function proposalOf(simulation: Simulation, target: Ordered, outcome: Outcome): Proposal {
  const removed = new Set(target.remove);
  const nodes: { readonly price: number }[] = simulation.nodes.filter((node) => !node.gone && !removed.has(node));
  nodes.push(...outcome.launches);
  return {
    target,
    outcome,
    price: priceOfAll(nodes),
    nodes: nodes.length,
    disruption: simulation.disruptionOf(target.remove),
    cost: target.remove.reduce((sum, { cost }) => sum + cost - 1, 0),
  };
}

function attempt(
  simulation: Simulation,
  { keep, remove, filling }: Ordered,
  search: PurchaseSearch,
): Outcome | undefined {
  simulation.setTargets(keep, filling);
  return simulation.attempts.byPlacing(remove, {
    search,
    most: remove.reduce((sum, { price }) => sum + price, 0),
  });
}

/** Keeps nodes that would only be launched again, one for each launch at a time. */
function keepInsteadOfLaunching(simulation: Simulation, estimate: Ordered): Ordered {
  let target = estimate;
  for (let look = 0; look < rounds; look++) {
    const outcome = attempt(simulation, target, firstSearch);
    if (outcome === undefined) return target;
    simulation.undo();
    const kept = substitutes(simulation, target.remove, outcome.launches);
    if (kept.size === 0) return target;
    target = {
      ...target,
      keep: [...target.keep, ...target.remove.filter((node) => kept.has(node))],
      remove: target.remove.filter((node) => !kept.has(node)),
    };
  }
  return target;
}

/** For each launch the fullest candidate that costs no more for what it can hold. */
function substitutes(
  { worth, trial }: Simulation,
  remove: readonly FleetNode[],
  launches: readonly Launch[],
): Set<FleetNode> {
  const rated = remove.map((node) => {
    const load = worth.of(trial.loadOf(node.loads));
    return { node, load, whole: load + worth.of(node.state.free) };
  });
  rated.sort((a, b) => b.load / b.whole - a.load / a.whole || compareText(a.node.name, b.node.name));
  const kept = new Set<FleetNode>();
  for (const { claim, price } of launches) {
    const usage = claim.members.reduce(
      (sum, { podClass, pods }) => sum + worth.of(trial.demandOf(podClass)) * pods.length,
      0,
    );
    if (usage <= 0) continue;
    const rate = (price / usage) * keptUpToPriceFactor;
    const found = rated.find(({ node, whole }) => !kept.has(node) && node.open && node.price <= whole * rate);
    if (found !== undefined) kept.add(found.node);
  }
  return kept;
}

/** Removes further nodes if the remaining ones have room for their pods. */
function removeMore(simulation: Simulation, target: Ordered): Ordered {
  const { keep, remove } = target;
  if (attempt(simulation, target, firstSearch) === undefined) return target;
  const optional = keep.filter((node) => !isFixed(node) && node.price > simulation.disruptionOf([node]));
  optional.sort(byPricePerCost);
  const more = new Set(optional.filter((node) => simulation.attempts.extend(node)));
  simulation.undo();
  return { ...target, keep: keep.filter((node) => !more.has(node)), remove: [...remove, ...more] };
}
