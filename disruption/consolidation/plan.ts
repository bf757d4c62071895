import { compareText } from '../../core/text.js';
import type { Launch, NodePlacement } from '../../packing/trial.js';
import { FleetPlan } from './fleet-plan.js';
import { isLarge, planFleet } from './plan-fleet.js';
import { byDisturbance, type FleetNode, hasOnDemand, loadsOf, priceOfAll, roundingError } from './fleet.js';
import { improve } from './improve.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';
import { isFixed } from './target.js';

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

/** Of clusters with at most so many nodes, of these removable ones, and pods on these, every set of nodes is planned. */
const few = { nodes: 8, removable: 4, pods: 40 };

interface Planning {
  readonly pays: Pays;
  /** Whether only spot nodes would be replaced by spot, which no command may do (consolidation/spot-to-spot). */
  readonly isSpotForSpot: (outcome: Pick<Outcome, 'candidates' | 'launches'>) => boolean;
  /** The most that a launch may cost, dollars per hour. */
  readonly dearest: number;
  /** Whether pods are still where the input has them. */
  readonly isInitial: boolean;
}

/**
 * The cheapest fleet that is found, as if all nodes could be removed at once: planned, then improved a few nodes at a
 * time. If a candidate can replace a launch, the plan is made again with that node kept; if no command may launch what
 * is planned, without launches. In a small fleet every set of nodes is also planned as provisioning would.
 */
export function makePlan(simulation: Simulation, planning: Planning): ConsolidationPlan {
  const hoped = withSubstitutes(simulation, planning);
  const isForbidden = planning.isSpotForSpot({ candidates: hoped.remove, launches: hoped.fleetPlan.launches });
  const plan = isForbidden ? withSubstitutes(simulation, { ...planning, dearest: 0 }) : hoped;
  return planning.isInitial ? ofSmallFleet(simulation, planning, plan) : plan;
}

function ofSmallFleet(simulation: Simulation, planning: Planning, plan: ConsolidationPlan): ConsolidationPlan {
  const there = simulation.nodes.filter(({ gone }) => !gone);
  const removable = there.filter((node) => !isFixed(node));
  const pods = [...loadsOf(removable).values()].flat().length;
  if (there.length > few.nodes || removable.length > few.removable || pods > few.pods) return plan;
  const gone = simulation.nodes.filter((node) => node.gone);
  const cost = ({ price, remove }: ConsolidationPlan): number => price + simulation.disruptionOf(remove);
  let best = plan;
  for (let set = 2 ** removable.length - 1; set > 0; set--) {
    const group = removable.filter((_, i) => (set & (2 ** i)) !== 0);
    if (priceOfAll(there) - priceOfAll(group) >= best.price) continue;
    const other = planned(simulation, planning, () => {
      const targets = there.filter((node) => node.open && !group.includes(node));
      simulation.setTargets(targets);
      const outcome = simulation.attempts.byProvisioning(group, { targets, gone });
      if (outcome === undefined || planning.pays(outcome)) return outcome;
      simulation.undo();
      return undefined;
    });
    if (cost(other) < cost(best) - roundingError) best = other;
  }
  return best;
}

function withSubstitutes(simulation: Simulation, planning: Planning): ConsolidationPlan {
  const plan = planned(simulation, planning, () => planFleet(simulation));
  if (isLarge(simulation)) return plan;
  const staying = substitutes(simulation, plan);
  if (staying.size === 0) return plan;
  const target = {
    keep: [...plan.keep, ...staying],
    remove: plan.remove.filter((node) => !staying.has(node)),
  };
  const other = planned(simulation, planning, () => planFleet(simulation, target));
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

/** Plans from the outcome that `apply` applies, if any. Pods that moved twice during planning are recorded as one move. */
function planned(
  simulation: Simulation,
  { pays, dearest }: Planning,
  apply: () => Outcome | undefined,
): ConsolidationPlan {
  const before = simulation.nodes.filter(({ gone }) => !gone);
  const counts = before.map(({ loads }) => new Map([...loads].map(([podClass, pods]) => [podClass, pods.length])));
  return simulation.withoutEffect(dearest, () => {
    const launches = new Map<FleetNode, Launch>();
    const settle = (outcome: Outcome): void => {
      const nodes = simulation.apply(outcome, (i) => `imagined ${launches.size + i}`);
      nodes.forEach((node, i) => launches.set(node, outcome.launches[i]!));
    };
    const applied = apply();
    if (applied !== undefined) settle(applied);
    const isAccompanied = (): boolean => hasOnDemand(before.filter(({ gone }) => gone));
    improve(simulation, launches, { settle, pays: (outcome) => pays(outcome, isAccompanied()) });
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
