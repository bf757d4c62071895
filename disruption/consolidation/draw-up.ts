import { compareText } from '../../packing/compare.js';
import { Blueprint } from './blueprint.js';
import { loadOf, type FleetNode } from './fleet.js';
import type { Launch, Outcome, Simulation } from './simulation.js';
import type { Worth } from './worth.js';
import { chooseTarget, isFixed, type Estimate, type Target } from './target.js';

/** Units of search for where everything goes, and for a first look at it. */
const finalUnits = 20_000;
const firstUnits = 2_000;

/** Looks at what would be bought, each of which may keep more nodes in its place. */
const looks = 8;

/** A node that exists is kept in place of one to launch up to this much dearer: nothing has to move for it. */
const keptUpTo = 1.02;

export interface DrawnUp extends Target {
  /** Where everything goes in the end; undefined when rules forbid some of it. */
  readonly blueprint: Blueprint | undefined;
}

/** The second lets nodes stay until others are seen to take them in. */
const estimates: readonly Estimate[] = [
  { usable: 0.9, dearest: 0.999 },
  { usable: 0, dearest: 1.001 },
];

/** From how many nodes on one estimate must do. */
const largeFleet = 2000;

/** Prices this near to each other count as equal: fewer evictions decide. */
const equalWithin = 1.001;

/** What a drawing comes to. */
interface Drawing {
  readonly target: Target;
  readonly outcome: Outcome;
  /** Of the fleet in the end, dollars per hour. */
  readonly price: number;
  /** RescheduleDisruptionCost of what goes (section 4.3). */
  readonly cost: number;
  /** Whether one command could do it all, budgets apart; if not, parts of it may still be allowed. */
  readonly allowed: boolean;
}

/**
 * Which nodes to end with, and where everything goes: estimates of `chooseTarget` corrected by trying them, the cheapest fleet
 * of which is taken. `pays` says whether an outcome would be allowed.
 */
export function drawUp(simulation: Simulation, pays: (outcome: Outcome) => boolean): DrawnUp {
  let best: Drawing | undefined;
  let last: Target | undefined;
  for (const target of targets(simulation)) {
    last ??= target;
    if (target.leave.length === 0) continue;
    const outcome = attempt(simulation, target, finalUnits);
    if (outcome === undefined) continue;
    const allowed = pays(outcome);
    simulation.undo();
    const drawing = { ...drawingOf(simulation, target, outcome), allowed };
    if (best === undefined || isBetter(drawing, best)) best = drawing;
  }
  if (best === undefined) return { ...last!, blueprint: undefined };
  return { ...best.target, blueprint: new Blueprint(best.outcome) };
}

function* targets(simulation: Simulation): Generator<Target> {
  const large = simulation.nodes.length > largeFleet;
  for (const estimate of large ? estimates.slice(0, 1) : estimates) {
    const target = chooseTarget(simulation, estimate);
    for (const order of large ? orders.slice(0, 1) : orders) {
      const ordered = { ...target, keep: order(simulation, target.keep) };
      yield squeeze(simulation, keepInsteadOfBuying(simulation, ordered, 1));
      if (large) continue;
      yield squeeze(simulation, keepInsteadOfBuying(simulation, ordered, Infinity));
      yield squeeze(simulation, ordered);
    }
  }
}

/** In which order nodes that stay are filled: as estimated, the fullest first, or the emptiest first. */
const orders: readonly ((simulation: Simulation, nodes: readonly FleetNode[]) => readonly FleetNode[])[] = [
  (_simulation, nodes) => nodes,
  ({ worth }, nodes) => byFree(worth, nodes),
  ({ worth }, nodes) => byFree(worth, nodes).reverse(),
];

function byFree(worth: Worth, nodes: readonly FleetNode[]): FleetNode[] {
  const free = new Map(nodes.map((node) => [node, worth.of(node.state.free)]));
  return [...nodes].sort((a, b) => free.get(a)! - free.get(b)! || compareText(a.name, b.name));
}

function drawingOf(simulation: Simulation, target: Target, outcome: Outcome): Omit<Drawing, 'allowed'> {
  const leaving = new Set(target.leave);
  let price = 0;
  for (const node of simulation.nodes) if (!node.gone && !leaving.has(node)) price += node.price;
  for (const { planned } of outcome.launches) price += planned.cheapest.pricePerHour;
  return { target, outcome, price, cost: target.leave.reduce((sum, { cost }) => sum + cost - 1, 0) };
}

function isBetter(a: Drawing, b: Drawing): boolean {
  if (a.allowed !== b.allowed) return a.allowed;
  if (a.price < b.price / equalWithin) return true;
  return a.price <= b.price * equalWithin && a.cost < b.cost;
}

function attempt(simulation: Simulation, { keep, leave }: Target, units: number): Outcome | undefined {
  simulation.aim(keep);
  return simulation.attempt(leave, { units, most: leave.reduce((sum, { price }) => sum + price, 0) });
}

/** Keeps nodes that would only be bought again, at most `each` in place of one launch at a look. */
function keepInsteadOfBuying(simulation: Simulation, estimate: Target, each: number): Target {
  let target = estimate;
  for (let look = 0; look < looks && target.leave.length > 0; look++) {
    const outcome = attempt(simulation, target, firstUnits);
    if (outcome === undefined) return target;
    simulation.undo();
    const kept = standIns(simulation, target.leave, outcome.launches, each);
    if (kept.size === 0) return target;
    target = {
      keep: [...target.keep, ...target.leave.filter((node) => kept.has(node))],
      leave: target.leave.filter((node) => !kept.has(node)),
    };
  }
  return target;
}

/** For each launch, nodes of those that go that hold as much for the same money, the fullest first. */
function standIns(
  simulation: Simulation,
  leave: readonly FleetNode[],
  launches: readonly Launch[],
  each: number,
): Set<FleetNode> {
  const { worth, demandOf } = simulation;
  const dims = simulation.compiled.dimensions.count;
  const rated = leave.map((node) => {
    const load = worth.of(loadOf(node, demandOf, dims));
    return { node, load, whole: load + worth.of(node.state.free) };
  });
  rated.sort((a, b) => b.load / b.whole - a.load / a.whole || compareText(a.node.name, b.node.name));
  const kept = new Set<FleetNode>();
  for (const { claim, planned } of launches) {
    let usage = claim.members.reduce((sum, { podClass, pods }) => sum + worth.of(demandOf(podClass)) * pods.length, 0);
    const rate = (planned.cheapest.pricePerHour / usage) * keptUpTo;
    let count = 0;
    for (const { node, whole } of rated) {
      if (usage <= 0 || count === each) break;
      if (kept.has(node) || !node.open || node.price > whole * rate) continue;
      kept.add(node);
      count++;
      usage -= whole;
    }
  }
  return kept;
}

/** Lets more nodes go where the others that stay have room for all that would be on them. */
function squeeze(simulation: Simulation, target: Target): Target {
  const { keep, leave } = target;
  if (attempt(simulation, target, firstUnits) === undefined) return target;
  const optional = keep.filter((node) => !isFixed(node) && node.price > 0);
  optional.sort((a, b) => b.price / b.cost - a.price / a.cost || compareText(a.name, b.name));
  const more = new Set(optional.filter((node) => simulation.extend(node)));
  simulation.undo();
  if (more.size === 0) return target;
  return { keep: keep.filter((node) => !more.has(node)), leave: [...leave, ...more] };
}
