import type { Compiled } from '../compiled.js';
import { satisfies } from '../compile/key-space.js';
import { untolerated } from '../compile/tolerations.js';
import type { NodeState } from '../place/node-states.js';
import type { Group } from './groups.js';
import type { Rules } from './rules.js';

/** How many pods there are in each domain of a rule. */
interface Tally {
  /** Pods that the rule selects. */
  readonly selected: Map<string, number>;
  /** Pods that have the rule: who is selected keeps away from them under anti-affinity. */
  readonly owners: Map<string, number>;
  total: number;
}

/**
 * Counts of pods by topology domain, kept while pods are placed. Domains of the host name are counted for existing nodes
 * alone, by the node's name.
 */
export class Ledger {
  private readonly tallies = new Map<Group, Tally>();
  private readonly eligible = new Map<Group, readonly string[]>();

  constructor(
    private readonly compiled: Compiled,
    private readonly nodes: readonly NodeState[],
  ) {}

  private tally(group: Group): Tally {
    let tally = this.tallies.get(group);
    if (tally === undefined) {
      this.tallies.set(group, (tally = { selected: new Map(), owners: new Map(), total: 0 }));
    }
    return tally;
  }

  count(group: Group, domain: string): number {
    return this.tallies.get(group)?.selected.get(domain) ?? 0;
  }

  owners(group: Group, domain: string): number {
    return this.tallies.get(group)?.owners.get(domain) ?? 0;
  }

  total(group: Group): number {
    return this.tallies.get(group)?.total ?? 0;
  }

  addSelected(group: Group, domain: string, pods: number): void {
    const tally = this.tally(group);
    tally.selected.set(domain, (tally.selected.get(domain) ?? 0) + pods);
    tally.total += pods;
  }

  addOwner(group: Group, domain: string, pods: number): void {
    const { owners } = this.tally(group);
    owners.set(domain, (owners.get(domain) ?? 0) + pods);
  }

  /**
   * Counts pods that were put somewhere. `domainOf` says in which domain of a key they are; undefined where that is open
   * or the node has none. Negative counts take them away again.
   */
  record(rules: Rules, pods: number, domainOf: (group: Group) => string | undefined): void {
    for (const group of rules.matched) {
      const domain = domainOf(group);
      if (domain !== undefined) this.addSelected(group, domain, pods);
    }
    for (const group of rules.keepsOff) {
      const domain = domainOf(group);
      if (domain !== undefined) this.addOwner(group, domain, pods);
    }
  }

  /** Pods in the emptiest domain that the spread rule looks at; 0 while there are fewer than it asks for. */
  least(group: Group): number {
    if (group.hostname) return 0; // another node can always be made
    const domains = this.domains(group);
    if (domains.length < group.minDomains || domains.length === 0) return 0;
    const selected = this.tallies.get(group)?.selected;
    if (selected === undefined) return 0;
    let least = Infinity;
    for (let i = 0; i < domains.length; i++) least = Math.min(least, selected.get(domains[i]!) ?? 0);
    return least;
  }

  /** Domains that exist, or could, for pods with this rule: those of its nodes and of what can be launched for it. */
  domains(group: Group): readonly string[] {
    let domains = this.eligible.get(group);
    if (domains === undefined) {
      const found = new Set<string>();
      const { space, universe } = this.compiled;
      const key = space.find(group.key);
      if (key !== undefined) {
        for (const profile of universe.profiles) {
          const value = profile.values[key];
          if (value !== undefined && looksAt(group, profile.values, profile.pool.taints)) found.add(value);
        }
        for (const { kind } of this.nodes) {
          const value = kind.values[key];
          if (value !== undefined && looksAt(group, kind.values, kind.taints)) found.add(value);
        }
      }
      this.eligible.set(group, (domains = [...found].sort()));
    }
    return domains;
  }
}

/** Whether a spread rule counts nodes with these labels and taints. */
export function looksAt(
  { filter }: Group,
  values: readonly (string | undefined)[],
  taints: NodeState['kind']['taints'],
): boolean {
  if (filter === undefined) return true;
  if (filter.terms?.some((term) => satisfies(term, values)) === false) return false;
  return filter.tolerations === undefined || untolerated(taints, filter.tolerations, false) === undefined;
}
