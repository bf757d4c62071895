import { selectsOwn } from '../place/host-rules.js';
import type { Group } from '../topology/groups.js';
import type { Rules } from '../topology/rules.js';
import type { PlacementState } from './placement-state.js';
import { AffinityCycles, type ClassOnNode } from './affinity-cycles.js';

/** Topology rules that the currently placed pods violate. */
export interface BrokenRules {
  /** With the lowest count among the rule's domains; -1 for affinity. */
  readonly violated: ReadonlyMap<string, number>;
  /**
   * Rules that hold if pods are bound in a certain order: first pods with the rule, then the other pods that it
   * selects.
   */
  readonly metInOrder: ReadonlySet<string>;
}

/** Checks all topology rules of a plan. A rule held when its pod was placed, but later changes may have broken it. */
export class RuleCheck {
  private readonly cycles: AffinityCycles;

  /** @param required the rules of every class without preferences */
  constructor(
    private readonly state: PlacementState,
    required: readonly Rules[],
  ) {
    this.cycles = new AffinityCycles(required);
  }

  /** Spread and affinity rules that do not hold now. */
  broken(): BrokenRules {
    const { topologyCounts } = this.state.context;
    const violated = new Map<string, number>();
    const metInOrder = new Set<string>();
    const check = (group: Group, own: boolean, domain: string | undefined): void => {
      if (domain === undefined) return;
      const text = `${group.index} ${domain}`;
      if (group.kind === 'affinity' && !topologyCounts.meetsHostAffinity(group, domain)) {
        if (topologyCounts.mayBegin(group, domain)) metInOrder.add(text);
        else violated.set(text, -1);
      }
      if (
        group.kind === 'spread' &&
        own &&
        topologyCounts.count(group, domain) - topologyCounts.least(group) > group.maxSkew
      ) {
        if (topologyCounts.keepsSkewInOrder(group, domain)) metInOrder.add(text);
        else violated.set(text, topologyCounts.least(group));
      }
    };
    const seen = new Set<string>();
    const onNodes: ClassOnNode[] = [];
    this.forEachPlacement((rules, domainOf, pods) => {
      if (this.cycles.any) onNodes.push({ rules, domainOf, pods });
      for (const group of [...rules.spread, ...rules.affinity, ...rules.hostAffinity]) {
        const domain = domainOf(group);
        const own = selectsOwn(rules, group);
        const text = `${group.index} ${own} ${domain ?? ''}`;
        if (seen.has(text)) continue;
        seen.add(text);
        check(group, own, domain);
      }
    });
    for (const { group, domain } of this.cycles.unmet(onNodes, topologyCounts)) {
      violated.set(`${group.index} ${domain ?? ''} in a cycle`, -1);
    }
    return { violated, metInOrder };
  }

  /** Visits the pods of this pass on tentative and on existing nodes, by node and class. */
  private forEachPlacement(visit: (rules: Rules, domainOf: ClassOnNode['domainOf'], pods: number) => void): void {
    const { nodes, compiled } = this.state.context;
    const at =
      (host: string, values: readonly (string | undefined)[]): ClassOnNode['domainOf'] =>
      (group) =>
        group.hostname ? host : values[compiled.space.find(group.key)!];
    for (const { host, profiles, members } of this.state.tentativeNodes) {
      const domainOf = at(host, profiles[0]!.values);
      for (const { rules, pods } of members) visit(rules, domainOf, pods.length);
    }
    for (const { host, kind, placedWithRules = [] } of nodes) {
      const domainOf = at(host, kind.values);
      for (const { rules } of placedWithRules) visit(rules, domainOf, 1);
    }
  }

  /** Whether a rule is newly violated, or violated by more than before. */
  violatesMore({ violated }: BrokenRules, before: BrokenRules): boolean {
    return [...violated].some(([text, least]) => {
      const known = before.violated.get(text);
      return known === undefined || known < 0 || least < known;
    });
  }
}
