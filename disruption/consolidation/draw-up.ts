import { compareText } from '../../packing/compare.js';
import { Blueprint } from './blueprint.js';
import { loadOf, type FleetNode } from './fleet.js';
import type { Launch, Outcome, Simulation } from './simulation.js';
import { chooseTarget, isFixed, type Target } from './target.js';

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

/** Which nodes to end with, and where everything goes: the estimate of `chooseTarget`, corrected by trying it. */
export function drawUp(simulation: Simulation): DrawnUp {
  const target = squeeze(simulation, keepInsteadOfBuying(simulation, chooseTarget(simulation)));
  if (target.leave.length === 0) return { ...target, blueprint: undefined };
  const outcome = attempt(simulation, target, finalUnits);
  if (outcome === undefined) return { ...target, blueprint: undefined };
  simulation.undo();
  return { ...target, blueprint: new Blueprint(outcome) };
}

function attempt(simulation: Simulation, { keep, leave }: Target, units: number): Outcome | undefined {
  simulation.aim(keep);
  return simulation.attempt(leave, { units, most: leave.reduce((sum, { price }) => sum + price, 0) });
}

/** Keeps nodes that would only be bought again. */
function keepInsteadOfBuying(simulation: Simulation, estimate: Target): Target {
  let target = estimate;
  for (let look = 0; look < looks && target.leave.length > 0; look++) {
    const outcome = attempt(simulation, target, firstUnits);
    if (outcome === undefined) return target;
    simulation.undo();
    const kept = standIns(simulation, target.leave, outcome.launches);
    if (kept.size === 0) return target;
    target = {
      keep: [...target.keep, ...target.leave.filter((node) => kept.has(node))],
      leave: target.leave.filter((node) => !kept.has(node)),
    };
  }
  return target;
}

/** For each launch a node of those that go that would do as well, the one with most on it. */
function standIns(simulation: Simulation, leave: readonly FleetNode[], launches: readonly Launch[]): Set<FleetNode> {
  const { worth, demandOf } = simulation;
  const dims = simulation.compiled.dimensions.count;
  const loads = new Map(leave.map((node) => [node, worth.of(loadOf(node, demandOf, dims))]));
  const byLoad = [...leave].sort((a, b) => loads.get(b)! - loads.get(a)! || compareText(a.name, b.name));
  const kept = new Set<FleetNode>();
  for (const { claim, planned } of launches) {
    const usage = claim.members.reduce(
      (sum, { podClass, pods }) => sum + worth.of(demandOf(podClass)) * pods.length,
      0,
    );
    const { pricePerHour } = planned.cheapest;
    const standIn = byLoad.find(
      (node) =>
        !kept.has(node) &&
        node.open &&
        node.price <= pricePerHour * keptUpTo &&
        loads.get(node)! + worth.of(node.state.free) >= usage * (node.price / pricePerHour),
    );
    if (standIn !== undefined) kept.add(standIn);
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
