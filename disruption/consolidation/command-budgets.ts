import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { limitNow } from '../budgets/budgets.js';
import { limitOf } from '../budgets/limits.js';
import { policyOf } from '../policies/effective-policy.js';
import { type CountedNode, type FleetNode, isEmptied, priceOfAll } from './fleet.js';
import type { ConsolidationInput } from './types.js';
import type { BudgetReason } from '../../api/disruption-reasons.js';
import { isFixed } from './target.js';

/** The most nodes of one command, so that a failing launch affects few nodes. */
export const mostCandidates = 100;

/** Search units for replacements of a group of nodes. */
export const groupUnits = 4_000;

/**
 * How many nodes of each NodePool one command may take (budgets/allowed-now; windows and rates of its
 * DisruptionPolicy).
 */
export class Budgets {
  private readonly limits = new Map<string, (total: number) => number>();
  private readonly now: number;
  private readonly past: ConsolidationInput['limits'];
  private readonly policies: readonly DisruptionPolicy[];

  constructor({ now, limits, objects }: Pick<ConsolidationInput, 'now' | 'limits' | 'objects'>) {
    this.now = now;
    this.past = limits;
    this.policies = objects.disruptionPolicies ?? [];
  }

  /** How many more nodes of a NodePool may be disrupted now. */
  left(fleet: readonly CountedNode[], reason: BudgetReason): (node: CountedNode) => number {
    const totals = totalsOf(fleet);
    const disrupting = new Map<string, number>();
    for (const { nodePool, counted } of fleet) {
      if (counted === 'disrupting') disrupting.set(nodePool, (disrupting.get(nodePool) ?? 0) + 1);
    }
    return (node) => {
      const given = this.past?.get(node.nodePool)?.[reason];
      if (given !== undefined) return given;
      const most = this.limitOf(node, reason)(totals.get(node.nodePool) ?? 0);
      return Math.max(0, most - (disrupting.get(node.nodePool) ?? 0));
    };
  }

  /** How many nodes of a NodePool one command may take if nothing else is disrupting. */
  atMost(fleet: readonly CountedNode[], reason: BudgetReason): (node: CountedNode) => number {
    const totals = totalsOf(fleet);
    return (node) => this.limitOf(node, reason)(totals.get(node.nodePool) ?? 0);
  }

  /**
   * The first nodes of `wanted` that may be disrupted now for the reason, at most `most`. Empty nodes that budgets
   * protect as empty are not taken for other reasons either.
   */
  take(fleet: readonly CountedNode[], wanted: readonly FleetNode[], reason: BudgetReason, most: number): FleetNode[] {
    const whole = countDown(this.left(fleet, reason));
    const empty = reason === 'Empty' ? undefined : countDown(this.left(fleet, 'Empty'));
    const taken: FleetNode[] = [];
    for (const node of wanted) {
      if (taken.length === most) break;
      const mayGo = empty === undefined || !isEmptied(node) || empty(node);
      if (mayGo && whole(node)) taken.push(node);
    }
    return taken;
  }

  /** Whether all these nodes may go, one command after another: what budgets allow falls with the number of nodes. */
  letAllGo(fleet: readonly CountedNode[], wanted: readonly FleetNode[]): boolean {
    let [counted, waiting] = [fleet, wanted];
    while (waiting.length > 0) {
      const going = new Set<CountedNode>(this.take(counted, waiting, 'Underutilized', mostCandidates));
      if (going.size === 0) return false;
      [counted, waiting] = [counted.filter((node) => !going.has(node)), waiting.filter((node) => !going.has(node))];
    }
    return true;
  }

  private limitOf({ nodePool, pool }: CountedNode, reason: BudgetReason): (total: number) => number {
    const key = `${reason} ${nodePool}`;
    let limit = this.limits.get(key);
    if (limit === undefined) {
      this.limits.set(key, (limit = this.limitFor(pool, reason)));
    }
    return limit;
  }

  private limitFor(pool: NodePool | undefined, reason: BudgetReason): (total: number) => number {
    const { now, policies } = this;
    if (policyOf(pool, policies) === undefined) return limitNow(pool?.spec.disruption.budgets, reason, now);
    return (total) => limitOf(pool, reason, { total, disrupting: 0 }, { now, policies }).allowed;
  }
}

/** Counts down the allowed nodes of each NodePool: returns whether one more may be taken. */
function countDown(allowed: (node: CountedNode) => number): (node: CountedNode) => boolean {
  const left = new Map<string, number>();
  return (node) => {
    const more = left.get(node.nodePool) ?? allowed(node);
    left.set(node.nodePool, Math.max(0, more - 1));
    return more > 0;
  };
}

/** The number of nodes that budgets count, by NodePool. */
function totalsOf(fleet: readonly CountedNode[]): Map<string, number> {
  const totals = new Map<string, number>();
  for (const { nodePool, counted } of fleet) {
    if (counted !== 'no') totals.set(nodePool, (totals.get(nodePool) ?? 0) + 1);
  }
  return totals;
}

/**
 * The most that one launch may cost, as a share of the price of the nodes that may be disrupted at once, if budgets
 * exclude other nodes: not all of the disrupted nodes use the launch.
 */
const paidWith = 0.8;

/**
 * The highest price of the nodes that budgets allow at once, dollars per hour: a launch above it can never save. `most`
 * gives how many nodes of a node's NodePool may be disrupted together.
 */
export function affordable(nodes: readonly FleetNode[], most: (node: CountedNode) => number): number {
  const taken = new Map<string, number>();
  const dearest = nodes.filter((node) => !isFixed(node)).sort((a, b) => b.price - a.price);
  const together = dearest.filter((node) => {
    const count = (taken.get(node.nodePool) ?? 0) + 1;
    taken.set(node.nodePool, count);
    return count <= most(node);
  });
  const first = together.slice(0, mostCandidates);
  const share = first.length === dearest.length ? 1 : paidWith;
  return Math.max(first[0]?.price ?? 0, share * priceOfAll(first));
}
