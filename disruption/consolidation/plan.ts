import { compareText } from '../../core/compare-text.js';
import type { NodePlacement, Launch } from '../../packing/trial.js';
import { FleetPlan } from './fleet-plan.js';
import { hasOnDemand } from './on-demand-nodes.js';
import { planFleet, isLarge } from './plan-fleet.js';
import { priceOfAll, type FleetNode } from './fleet.js';
import { launchFewer } from './fewer-launches.js';
import { improve } from './improve.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';
import type { FleetTarget } from './target.js';

/** The fleet to end with, and how everything comes there. */
export interface ConsolidationPlan {
  /** Nodes that stay, in the order in which they are to be filled. */
  readonly keep: readonly FleetNode[];
  /** Nodes to go, the best saving for its disruption first, those that are `late` last. */
  readonly remove: readonly FleetNode[];
  /** Of those, the ones whose type is launched at their price or more: what goes with them may not be replaced by it (consolidation/same-type). */
  readonly late: ReadonlySet<FleetNode>;
  readonly fleetPlan: FleetPlan;
  /** Of the fleet to end with, dollars per hour. */
  readonly price: number;
}

/** Whether an outcome would be allowed, beside other nodes that go with it where it `isAccompanied` by ones on demand. */
export type Pays = (outcome: Outcome, isAccompanied?: boolean) => boolean;

/** A plan in which more nodes stay is taken up to this much dearer: it moves fewer pods. */
const stayingUpTo = 1.001;

/** A node that exists stands in for a launch of another type from this share of its price down. */
const cheaperThan = 0.99;

/**
 * The cheapest fleet that is found, as if everything could go at once: drawn up, then improved a few nodes at a time. What would
 * be launched though a node that goes is as good is planned once more with that node. No launch costs more than `dearest`.
 */
export function makePlan(simulation: Simulation, pays: Pays, dearest: number): ConsolidationPlan {
  const plan = planned(simulation, { pays, dearest });
  if (isLarge(simulation)) return plan;
  const staying = standIns(simulation, plan);
  if (staying.size === 0) return plan;
  const target = {
    keep: [...plan.keep, ...staying],
    remove: plan.remove.filter((node) => !staying.has(node)),
  };
  const other = planned(simulation, { pays, dearest }, target);
  return other.price < plan.price * stayingUpTo ? other : plan;
}

/**
 * Of the nodes that go, one for each launch that has one: of its type for no more money, or with room for what is to be launched
 * for less. Those that cost most are stood in for first.
 */
function standIns({ trial }: Simulation, { remove, fleetPlan }: ConsolidationPlan): Set<FleetNode> {
  const chosen = new Set<FleetNode>();
  for (const { type, price, claim } of [...fleetPlan.launches].sort((a, b) => b.price - a.price)) {
    const load = trial.loadOf(new Map(claim.members.map(({ podClass, pods }) => [podClass, pods])));
    const isAsGood = (node: FleetNode): boolean =>
      node.instanceType === type
        ? node.price <= price
        : node.price < price * cheaperThan && load.every((amount, d) => amount <= node.state.free[d]!);
    let best: FleetNode | undefined;
    for (const node of remove) {
      if (chosen.has(node) || !node.open || !isAsGood(node)) continue;
      if (best === undefined || node.price < best.price) best = node;
    }
    if (best !== undefined) chosen.add(best);
  }
  return chosen;
}

/** With the nodes of the target to begin with, where one is given. What comes of it when pods have moved twice in the making is written down as one move each. */
function planned(
  simulation: Simulation,
  { pays, dearest }: { pays: Pays; dearest: number },
  target?: FleetTarget,
): ConsolidationPlan {
  const before = simulation.nodes.filter(({ gone }) => !gone);
  const counts = before.map(({ loads }) => new Map([...loads].map(([podClass, pods]) => [podClass, pods.length])));
  return simulation.imagine(dearest, () => {
    const launches = new Map<FleetNode, Launch>();
    const settle = (outcome: Outcome): void => {
      const nodes = simulation.settle(outcome, (i) => `imagined ${launches.size + i}`);
      nodes.forEach((node, i) => launches.set(node, outcome.launches[i]!));
    };
    const drawn = planFleet(simulation, pays, target);
    if (drawn !== undefined) settle(drawn);
    const isAccompanied = (): boolean => hasOnDemand(before.filter(({ gone }) => gone));
    improve(simulation, launches, { settle, pays: (outcome) => pays(outcome, isAccompanied()) });
    launchFewer(simulation, launches, settle);
    const placements: NodePlacement[] = [];
    before.forEach((node, i) => {
      if (node.gone) return;
      for (const [podClass, pods] of node.loads) {
        const come = pods.slice(counts[i]!.get(podClass) ?? 0);
        if (come.length > 0) placements.push({ node: node.state, podClass, pods: come });
      }
    });
    const opened: Launch[] = [];
    for (const [node, launch] of launches) if (!node.gone) opened.push(simulation.trial.filled(launch, node.loads));
    const remove = before.filter(({ gone }) => gone);
    const late = lateOf(remove, opened);
    return {
      keep: before.filter(({ gone, open }) => !gone && open),
      remove: inOrder(simulation, remove, late),
      late,
      fleetPlan: new FleetPlan({ placements, launches: opened }),
      price: priceOfAll(simulation.nodes.filter(({ gone }) => !gone)),
    };
  });
}

function lateOf(remove: readonly FleetNode[], launches: readonly Launch[]): Set<FleetNode> {
  const dearest = new Map<string, number>();
  for (const { type, price } of launches) dearest.set(type, Math.max(price, dearest.get(type) ?? 0));
  return new Set(remove.filter(({ instanceType, price }) => price <= (dearest.get(instanceType) ?? -1)));
}

function inOrder(simulation: Simulation, remove: readonly FleetNode[], late: ReadonlySet<FleetNode>): FleetNode[] {
  const rank = (node: FleetNode): number => (late.has(node) ? 1 : 0);
  return [...remove].sort(
    (a, b) => rank(a) - rank(b) || simulation.savingOf(b) - simulation.savingOf(a) || compareText(a.name, b.name),
  );
}
