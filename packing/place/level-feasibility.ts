import type { Compiled } from '../compile/compiled.js';
import type { Feasibility } from './feasibility.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import { selectsOwn } from './host-rules.js';
import type { NodeKind, NodeState } from './node-states.js';
import type { PlacementTarget } from './part.js';

/** A quick check whether pods can be placed at all on a relaxation level, to skip hopeless levels. */
export class LevelFeasibility {
  private readonly kinds: readonly NodeKind[];
  private readonly hasDomains = new Map<string, boolean>();

  constructor(
    private readonly compiled: Compiled,
    private readonly feasibility: Feasibility,
    private readonly topologyCounts: TopologyCounts,
    nodes: readonly NodeState[],
  ) {
    this.kinds = [...new Set(nodes.map(({ kind }) => kind))];
  }

  isImpossible(target: PlacementTarget): boolean {
    return this.isAdmittedNowhere(target) || this.lacksDomain(target) || this.lacksAffinityMatch(target);
  }

  private isAdmittedNowhere({ podClass, level, excluded }: PlacementTarget): boolean {
    return (
      this.feasibility.holding(podClass, level, excluded).length === 0 &&
      !this.kinds.some((kind) => this.feasibility.admitsKind(level, kind))
    );
  }

  /** Whether a rule has a topology key that no existing or possible node has. */
  private lacksDomain({ rules }: PlacementTarget): boolean {
    return (
      rules.spread.some(({ key }) => !this.isDomainKey(key)) || rules.affinity.some(({ key }) => !this.isDomainKey(key))
    );
  }

  private isDomainKey(name: string): boolean {
    let found = this.hasDomains.get(name);
    if (found === undefined) {
      const key = this.compiled.space.find(name);
      const hasLabel = ({ values }: Pick<NodeKind, 'values'>): boolean =>
        key !== undefined && values[key] !== undefined;
      const { profiles, domains } = this.compiled.universe;
      found = [profiles, domains, this.kinds].some((list) => list.some(hasLabel));
      this.hasDomains.set(name, found);
    }
    return found;
  }

  /** Whether no pod exists that the affinity selects, and the pods cannot be the first themselves. */
  private lacksAffinityMatch({ rules }: PlacementTarget): boolean {
    if (rules.hostAffinity.length > 0) return false;
    return rules.affinity.some((group) => this.topologyCounts.total(group) === 0 && !selectsOwn(rules, group));
  }
}
