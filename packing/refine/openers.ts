import { minValuesRulesOf } from '../compile/min-values.js';
import type { Pool } from '../compile/pools.js';
import type { Profile } from '../compile/universe.js';
import { mayExcludeDomains } from '../topology/rules.js';
import type { PlacementState } from './placement-state.js';
import type { TentativeMember, TentativeNode } from './tentative-node.js';

/**
 * Finds nodes that are not needed in their NodePool: NodePools with a higher weight have room for each of their pods
 * (scheduling/heaviest-pool-first). A pod may ride on a node that another pod opened, but only while that pod stays.
 *
 * Only pods without restricted domains are judged, and only NodePools without limits, minValues and reservations:
 * otherwise a NodePool with a lower weight may be right.
 */
export class Openers {
  private readonly heaviest = new Map<readonly Profile[], number>();
  private readonly weighed: ReadonlySet<Pool>;

  constructor(private readonly state: Pick<PlacementState, 'context' | 'tentativeNodes'>) {
    const { compiled, limits } = state.context;
    const limited = new Set(limits.map(({ pool }) => pool));
    const free = compiled.pools.filter(
      ({ name, requirements }) => !limited.has(name) && minValuesRulesOf(requirements).length === 0,
    );
    const isOneWeight = compiled.pools.every(({ weight }) => weight === compiled.pools[0]!.weight);
    this.weighed = new Set(isOneWeight ? [] : free);
  }

  /** The number of tentative nodes that none of their pods opens. */
  unopened(): number {
    if (this.weighed.size === 0) return 0;
    return this.state.tentativeNodes.filter((node) => !this.isOpened(node)).length;
  }

  private isOpened({ members, profiles }: TentativeNode): boolean {
    const { weight } = profiles[0]!.pool;
    return members.some((member) => this.opens(member, weight));
  }

  private opens({ podClass, level, rules }: TentativeMember, weight: number): boolean {
    if (mayExcludeDomains(rules)) return true;
    return this.heaviestOf(this.state.context.feasibility.holding(podClass, level)) <= weight;
  }

  private heaviestOf(profiles: readonly Profile[]): number {
    let weight = this.heaviest.get(profiles);
    if (weight === undefined) {
      weight = 0;
      for (const { pool, reservation } of profiles)
        if (reservation === undefined && this.weighed.has(pool)) weight = Math.max(weight, pool.weight);
      this.heaviest.set(profiles, weight);
    }
    return weight;
  }
}
