import { compareText } from '../../packing/compare.js';
import { Blueprint } from './blueprint.js';
import { loadOf, type FleetNode } from './fleet.js';
import type { Launch, Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';
import type { Worth } from './worth.js';
import { chooseTarget, isFixed, type Estimate, type Target } from './target.js';

/** Units of search for where everything goes, and for a first look at it. */
const finalUnits = 100_000;
const firstUnits = 2_000;

/** Looks at what would be bought, each of which may keep more nodes in its place. */
const looks = 8;

/** A node that exists is kept in place of one to launch up to this much dearer: nothing has to move for it. */
const keptUpTo = 1.02;

/** A target, and whether pods that must keep away from their like are placed first. */
interface Ordered extends Target {
  readonly pickyFirst: boolean;
}

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

/** What a drawing that is not allowed as a whole is counted as, as a share of its price. */
const shortfall = 1.05;

/** What a drawing comes to. */
interface Drawing {
  readonly target: Ordered;
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
  let last: Ordered | undefined;
  for (const target of targets(simulation)) {
    last ??= target;
    const outcome = target.leave.length === 0 ? undefined : attempt(simulation, target, firstUnits);
    if (outcome === undefined) continue;
    const allowed = pays(outcome);
    simulation.undo();
    const drawing = { ...drawingOf(simulation, target, outcome), allowed };
    if (best === undefined || isBetter(drawing, best)) best = drawing;
  }
  if (best === undefined) return { ...last!, blueprint: undefined };
  const outcome = attempt(simulation, best.target, finalUnits);
  if (outcome === undefined) return { ...best.target, blueprint: undefined };
  simulation.undo();
  const final = drawingOf(simulation, best.target, outcome);
  return { ...best.target, blueprint: new Blueprint(final.price < best.price ? outcome : best.outcome) };
}

/** What to try: each way to fill, with and without nodes kept in place of new ones; no target twice. */
function* targets(simulation: Simulation): Generator<Ordered> {
  const large = simulation.nodes.length > largeFleet;
  for (const estimate of large ? estimates.slice(0, 1) : estimates) {
    const target = chooseTarget(simulation, estimate);
    for (const { order, pickyFirst } of large ? orders.slice(0, 1) : orders) {
      const ordered = { ...target, keep: order(simulation, target.keep), pickyFirst };
      const seen = new Set<string>();
      for (const each of large ? keptEach.slice(0, 1) : keptEach) {
        const kept = keepInsteadOfBuying(simulation, ordered, each);
        const text = kept.leave.map(({ name }) => name).join();
        if (seen.has(text)) continue;
        seen.add(text);
        yield squeeze(simulation, kept);
      }
    }
  }
}

/** How many nodes are kept in place of one to launch, at most. */
const keptEach = [1, Infinity, 0];

interface Order {
  readonly order: (simulation: Simulation, nodes: readonly FleetNode[]) => readonly FleetNode[];
  readonly pickyFirst: boolean;
}

const asEstimated: Order['order'] = (_simulation, nodes) => nodes;
const fullestFirst: Order['order'] = ({ worth }, nodes) => byFree(worth, nodes);
const emptiestFirst: Order['order'] = ({ worth }, nodes) => byFree(worth, nodes).reverse();

/** In which order nodes that stay are filled, and with which pods first. */
const orders: readonly Order[] = [
  { order: asEstimated, pickyFirst: false },
  { order: fullestFirst, pickyFirst: false },
  { order: emptiestFirst, pickyFirst: false },
  { order: asEstimated, pickyFirst: true },
  { order: fullestFirst, pickyFirst: true },
];

function byFree(worth: Worth, nodes: readonly FleetNode[]): FleetNode[] {
  const free = new Map(nodes.map((node) => [node, worth.of(node.state.free)]));
  return [...nodes].sort((a, b) => free.get(a)! - free.get(b)! || compareText(a.name, b.name));
}

function drawingOf(simulation: Simulation, target: Ordered, outcome: Outcome): Omit<Drawing, 'allowed'> {
  const leaving = new Set(target.leave);
  let price = 0;
  for (const node of simulation.nodes) if (!node.gone && !leaving.has(node)) price += node.price;
  for (const { planned } of outcome.launches) price += planned.cheapest.pricePerHour;
  return { target, outcome, price, cost: target.leave.reduce((sum, { cost }) => sum + cost - 1, 0) };
}

/** A drawing that no one command could carry out will fall short of its price. */
const expected = ({ price, allowed }: Drawing): number => (allowed ? price : price * shortfall);

function isBetter(a: Drawing, b: Drawing): boolean {
  const [own, other] = [expected(a), expected(b)];
  if (own < other / equalWithin) return true;
  return own <= other * equalWithin && a.cost < b.cost;
}

function attempt(simulation: Simulation, { keep, leave, pickyFirst }: Ordered, units: number): Outcome | undefined {
  simulation.aim(keep, pickyFirst);
  return simulation.attempt(leave, { units, most: leave.reduce((sum, { price }) => sum + price, 0) });
}

/** Keeps nodes that would only be bought again, at most `each` in place of one launch at a look. */
function keepInsteadOfBuying(simulation: Simulation, estimate: Ordered, each: number): Ordered {
  let target = estimate;
  for (let look = 0; look < looks && target.leave.length > 0; look++) {
    const outcome = attempt(simulation, target, 0);
    if (outcome === undefined) return target;
    simulation.undo();
    const kept = standIns(simulation, target.leave, outcome.launches, each);
    if (kept.size === 0) return target;
    target = {
      ...target,
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
function squeeze(simulation: Simulation, target: Ordered): Ordered {
  const { keep, leave } = target;
  if (attempt(simulation, target, firstUnits) === undefined) return target;
  const optional = keep.filter((node) => !isFixed(node) && node.price > 0);
  optional.sort((a, b) => b.price / b.cost - a.price / a.cost || compareText(a.name, b.name));
  const more = new Set(optional.filter((node) => simulation.extend(node)));
  simulation.undo();
  if (more.size === 0) return target;
  return { ...target, keep: keep.filter((node) => !more.has(node)), leave: [...leave, ...more] };
}
