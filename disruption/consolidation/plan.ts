import { compareText } from '../../core/text.js';
import type { NodePlacement, Launch } from '../../packing/trial.js';
import { FleetPlan } from './fleet-plan.js';
import { planFleet, isLarge } from './plan-fleet.js';
import { byDisturbance, hasOnDemand, priceOfAll, type FleetNode } from './fleet.js';
import { launchFewer } from './fewer-launches.js';
import { improve } from './improve.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';
import type { FleetTarget } from './target.js';

/** The final fleet, and how to reach it. */
export interface ConsolidationPlan {
  /** Nodes that stay, in the order in which they are filled. */
  readonly keep: readonly FleetNode[];
  /** Nodes to remove, highest saving per disruption cost first, `late` ones last. */
  readonly remove: readonly FleetNode[];
  /**
   * Those of `remove` whose type is launched at their price or more: commands with them may not launch that type
   * (consolidation/same-type).
   */
  readonly late: ReadonlySet<FleetNode>;
  readonly fleetPlan: FleetPlan;
  /** Price of the final fleet, dollars per hour. */
  readonly price: number;
}

/** Whether an outcome is allowed; `isAccompanied`: together with on-demand nodes. */
export type Pays = (outcome: Outcome, isAccompanied?: boolean) => boolean;

/** A plan that keeps more nodes is preferred if it is at most this factor more expensive, since it moves fewer pods. */
const stayingUpTo = 1.001;

/** An existing node replaces a launch of another type if it costs at most this share of its price. */
const cheaperThan = 0.99;

/**
 * The cheapest fleet that is found, as if all nodes could be removed at once: planned, then improved a few nodes at a
 * time. If a candidate can replace a launch, the plan is made again with that node kept. No launch costs more than
 * `dearest`.
 */
export function makePlan(simulation: Simulation, pays: Pays, dearest: number): ConsolidationPlan {
  const plan = planned(simulation, { pays, dearest });
  if (isLarge(simulation)) return plan;
  const staying = substitutes(simulation, plan);
  if (staying.size === 0) return plan;
  const target = {
    keep: [...plan.keep, ...staying],
    remove: plan.remove.filter((node) => !staying.has(node)),
  };
  const other = planned(simulation, { pays, dearest }, target);
  return other.price < plan.price * stayingUpTo ? other : plan;
}

/**
 * For each launch a candidate that can replace it, if there is one: of the same type for no more money, or with enough
 * room for less. The most expensive launches first.
 */
function substitutes({ trial }: Simulation, { remove, fleetPlan }: ConsolidationPlan): Set<FleetNode> {
  const chosen = new Set<FleetNode>();
  for (const { type, price, claim } of [...fleetPlan.launches].sort((a, b) => b.price - a.price)) {
    const load = trial.loadOf(new Map(claim.members.map(({ podClass, pods }) => [podClass, pods])));
    const canReplace = (node: FleetNode): boolean =>
      node.instanceType === type
        ? node.price <= price
        : node.price < price * cheaperThan && load.every((amount, d) => amount <= node.state.free[d]!);
    const [best] = remove
      .filter((node) => !chosen.has(node) && node.open && canReplace(node))
      .sort((a, b) => a.price - b.price || byDisturbance(a, b));
    if (best !== undefined) chosen.add(best);
  }
  return chosen;
}

/** Plans from the given target, if there is one. Pods that moved twice during planning are recorded as one move. */
function planned(
  simulation: Simulation,
  { pays, dearest }: { pays: Pays; dearest: number },
  target?: FleetTarget,
): ConsolidationPlan {
  const before = simulation.nodes.filter(({ gone }) => !gone);
  const counts = before.map(({ loads }) => new Map([...loads].map(([podClass, pods]) => [podClass, pods.length])));
  return simulation.withoutEffect(dearest, () => {
    const launches = new Map<FleetNode, Launch>();
    const settle = (outcome: Outcome): void => {
      const nodes = simulation.apply(outcome, (i) => `imagined ${launches.size + i}`);
      nodes.forEach((node, i) => launches.set(node, outcome.launches[i]!));
    };
    const drawn = planFleet(simulation, target);
    if (drawn !== undefined) settle(drawn);
    const isAccompanied = (): boolean => hasOnDemand(before.filter(({ gone }) => gone));
    improve(simulation, launches, { settle, pays: (outcome) => pays(outcome, isAccompanied()) });
    launchFewer(simulation, launches, settle);
    const placements: NodePlacement[] = [];
    before.forEach((node, i) => {
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
