import type { Compiled } from '../compile/compiled.js';
import { satisfies } from '../compile/key-space.js';
import { untolerated } from '../../core/tolerations.js';
import type { NodeLike, Profile } from '../compile/universe.js';
import type { NodeState } from './node-state.js';
import type { Group } from './groups.js';
import { wants, type Rules } from './rules.js';

/** How many pods there are in each domain of a rule. */
interface Tally {
  readonly group: Group;
  /** Pods that the rule selects. */
  readonly selected: Map<string, number>;
  /** Pods that have the rule: who is selected keeps away from them under anti-affinity. */
  readonly owners: Map<string, number>;
  /** Pods that the rule selects and that do not have it themselves: they wait for nobody. Of a spread rule without those that run. */
  readonly free: Map<string, number>;
  total: number;
  /** Whether pods that run are among them. */
  begun: boolean;
  /** Pods in the emptiest domain, while nobody has come or gone since it was looked for. */
  least: number | undefined;
}

/** Where pods are put: a node that exists, or what is to be launched for them. */
export interface Site {
  /** Its domain of the host name; undefined while it is open which of its pods go together. */
  readonly host: string | undefined;
  readonly kind: Pick<NodeState['kind'], 'values' | 'taints'>;
}

/** What is to be launched as a node of this profile. */
export function siteOf({ values, pool }: Profile, host?: string): Site {
  return { host, kind: { values, taints: pool.taints } };
}

/** What pods count for, and whom they want to be near. */
type Counting = Pick<Rules, 'matched' | 'keepsOff' | 'affinity' | 'hostAffinity' | 'spread' | 'hostSpread'>;

const everyKey = (): boolean => true;

/**
 * Counts of pods by topology domain, kept while pods are placed. Domains of the host name are counted for existing nodes
 * alone, by the node's name.
 */
export class Ledger {
  /** By the group's index. */
  private readonly tallies: (Tally | undefined)[] = [];
  private readonly eligible = new Map<Group, readonly string[]>();
  /** By rule and by the labels of a kind of node, which are one object for each kind. */
  private readonly looks = new Map<Group, Map<Site['kind']['values'], boolean>>();

  constructor(
    private readonly compiled: Compiled,
    private readonly nodes: readonly NodeState[],
  ) {}

  private tally(group: Group): Tally {
    while (this.tallies.length <= group.index) this.tallies.push(undefined);
    return (this.tallies[group.index] ??= {
      group,
      selected: new Map(),
      owners: new Map(),
      free: new Map(),
      total: 0,
      begun: false,
      least: undefined,
    });
  }

  count(group: Group, domain: string): number {
    return this.tallies[group.index]?.selected.get(domain) ?? 0;
  }

  owners(group: Group, domain: string): number {
    return this.tallies[group.index]?.owners.get(domain) ?? 0;
  }

  total(group: Group): number {
    return this.tallies[group.index]?.total ?? 0;
  }

  addSelected(group: Group, domain: string, pods: number): void {
    const tally = this.tally(group);
    tally.selected.set(domain, (tally.selected.get(domain) ?? 0) + pods);
    tally.total += pods;
    tally.least = undefined;
  }

  addOwner(group: Group, domain: string, pods: number): void {
    const { owners } = this.tally(group);
    owners.set(domain, (owners.get(domain) ?? 0) + pods);
  }

  addFree(group: Group, domain: string, pods: number): void {
    const { free } = this.tally(group);
    free.set(domain, (free.get(domain) ?? 0) + pods);
  }

  /**
   * Whether pods with this affinity can have come to the domain: somebody is there who does not wait for them, or all whom it
   * selects are there, so that one of them was the first.
   */
  meetsHostAffinity(group: Group, domain: string): boolean {
    const tally = this.tallies[group.index];
    if (tally === undefined) return false;
    const count = tally.selected.get(domain) ?? 0;
    return (tally.free.get(domain) ?? 0) > 0 || (count > 0 && count === tally.total);
  }

  /**
   * Whether the first of those with this affinity may have been in the domain, although others whom it selects are elsewhere: those
   * came later then. It may where nobody runs and no second domain would have needed a first one.
   */
  mayBegin(group: Group, domain: string): boolean {
    const tally = this.tallies[group.index];
    if (tally === undefined || tally.begun || !tally.selected.get(domain)) return false;
    for (const [other, count] of tally.selected) {
      if (other !== domain && count > 0 && (tally.free.get(other) ?? 0) === 0) return false;
    }
    return true;
  }

  /** Whether a spread rule holds there for those who have it if other pods that it selects come after them. */
  keepsSkewInTurn(group: Group, domain: string): boolean {
    const free = this.tallies[group.index]?.free.get(domain) ?? 0;
    return this.count(group, domain) - free - this.least(group) <= group.maxSkew;
  }

  /** What was counted so far runs: it was there before everybody of the pass. */
  begin(): void {
    for (const tally of this.tallies) {
      if (tally === undefined) continue;
      tally.begun = tally.total > 0;
      if (tally.group.kind === 'spread') tally.free.clear();
    }
  }

  /**
   * Counts pods that were put on a site; negative counts take them away again. Of a node to be launched `isDecided` says
   * which topology keys do not stay open. A spread rule does not count what is on nodes that it does not look at.
   */
  record(rules: Counting, pods: number, site: Site, isDecided: (key: string) => boolean = everyKey): void {
    for (const group of rules.matched) {
      const domain = this.domainAt(site, group, isDecided);
      if (domain === undefined || !this.looksAt(group, site)) continue;
      this.addSelected(group, domain, pods);
      if (group.kind !== 'antiAffinity' && !wants(rules, group)) this.addFree(group, domain, pods);
    }
    for (const group of rules.keepsOff) {
      const domain = this.domainAt(site, group, isDecided);
      if (domain !== undefined) this.addOwner(group, domain, pods);
    }
  }

  /** Counts pods for which something is to be launched of this profile: of its keys those that the rules decide. */
  recordLaunch(rules: Rules, pods: number, profile: Profile, host?: string): void {
    this.record(rules, pods, siteOf(profile, host), (key) => rules.keys.includes(key));
  }

  private domainAt(
    { host, kind }: Site,
    { hostname, key }: Group,
    isDecided: (key: string) => boolean,
  ): string | undefined {
    if (hostname) return host;
    const index = this.compiled.space.find(key);
    return index === undefined || !isDecided(key) ? undefined : kind.values[index];
  }

  private looksAt(group: Group, { kind }: Site): boolean {
    // A node that holds pods with the rule is looked at by it, for they may be there; of the host name no other node counts.
    if (group.filter === undefined || group.hostname) return true;
    let known = this.looks.get(group);
    if (known === undefined) this.looks.set(group, (known = new Map<Site['kind']['values'], boolean>()));
    let looks = known.get(kind.values);
    if (looks === undefined) known.set(kind.values, (looks = looksAt(group, kind.values, kind.taints)));
    return looks;
  }

  /** Pods in the emptiest domain that the spread rule looks at; 0 while there are fewer than it asks for. */
  least(group: Group): number {
    if (group.hostname) return 0; // another node can always be made
    const tally = this.tallies[group.index];
    if (tally === undefined) return 0;
    return (tally.least ??= this.leastOf(tally));
  }

  private leastOf({ group, selected }: Tally): number {
    const domains = this.domains(group);
    if (domains.length < group.minDomains || domains.length === 0) return 0;
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
        const note = (values: NodeLike['values'], taints: NodeLike['taints']): void => {
          const value = values[key];
          if (value !== undefined && !found.has(value) && looksAt(group, values, taints)) found.add(value);
        };
        for (const { values, pool } of universe.profiles) note(values, pool.taints);
        for (const { values, taints } of universe.domains) note(values, taints);
        for (const { kind } of this.nodes) note(kind.values, kind.taints);
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
