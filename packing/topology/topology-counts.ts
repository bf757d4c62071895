import type { Compiled } from '../compile/compiled.js';
import type { Profile } from '../compile/universe.js';
import type { NodeForTopology, NodeState } from './node-state.js';
import type { DaemonPods } from './daemon-pods.js';
import { includesNode, type Group } from './groups.js';
import { wants, type Rules } from './rules.js';

/** Counts of pods by domain, for one rule. */
interface Tally {
  readonly group: Group;
  /** Pods that the rule selects, by domain. */
  readonly selected: Map<string, number>;
  /** Pods that have the rule, by domain: under anti-affinity, selected pods must not join them. */
  readonly owners: Map<string, number>;
  /**
   * Pods that the rule selects and that do not have it: they need not wait for other pods. For spread rules, excludes
   * running pods.
   */
  readonly free: Map<string, number>;
  total: number;
  /** Whether running pods are counted. */
  hasRunning: boolean;
  /** What counted by domain before the pass placed anything. */
  before: Pick<Tally, 'selected' | 'owners'> | undefined;
  /** Cached count of the emptiest domain; undefined after a change. */
  least: number | undefined;
}

/** Where pods are placed: on an existing node, or on a node to be launched. */
export interface Site {
  /** Its host name; undefined for a new node as long as it is undecided which pods share it. */
  readonly host: string | undefined;
  readonly kind: Pick<NodeState['kind'], 'values' | 'taints'>;
}

/** The site of a node to be launched with this profile. */
export function siteOf({ values, pool }: Profile, host?: string): Site {
  return { host, kind: { values, taints: pool.taints } };
}

/** The rules that matter for counting a pod. */
type Counting = Pick<Rules, 'matched' | 'keepsOff' | 'affinity' | 'hostAffinity' | 'spread' | 'hostSpread'>;

const everyKey = (): boolean => true;

/** Counts pods by topology domain while pods are placed. For the host name only existing nodes are counted, by node name. */
export class TopologyCounts {
  /** By index of the group. */
  private readonly tallies: (Tally | undefined)[] = [];
  private readonly leastOfHosts = new Map<Group, number>();
  private readonly leastOnNew = new Map<Group, Map<string, number>>();
  /** New nodes whose DaemonSet pods are counted. */
  protected launchedNodes = 0;
  private readonly eligible = new Map<Group, readonly string[]>();
  /** Results of `includesNode` by rule and kind of node. The labels of a kind are one object. */
  private readonly included = new Map<Group, Map<Site['kind']['values'], boolean>>();

  constructor(
    private readonly compiled: Compiled,
    private readonly nodes: readonly NodeForTopology[],
    readonly daemonPods?: DaemonPods,
  ) {
    if (daemonPods !== undefined) daemonPods.counts = this;
  }

  private tally(group: Group): Tally {
    while (this.tallies.length <= group.index) this.tallies.push(undefined);
    return (this.tallies[group.index] ??= {
      group,
      selected: new Map(),
      owners: new Map(),
      free: new Map(),
      total: 0,
      hasRunning: false,
      before: undefined,
      least: undefined,
    });
  }

  count(group: Group, domain: string): number {
    return this.tallies[group.index]?.selected.get(domain) ?? 0;
  }

  owners(group: Group, domain: string): number {
    return this.tallies[group.index]?.owners.get(domain) ?? 0;
  }

  free(group: Group, domain: string): number {
    return this.tallies[group.index]?.free.get(domain) ?? 0;
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
   * Whether pods with this affinity can be in the domain in some order of scheduling: either a selected pod is there that does
   * not wait for others, or all selected pods are there, so that one of them was the first.
   */
  meetsHostAffinity(group: Group, domain: string): boolean {
    const tally = this.tallies[group.index];
    if (tally === undefined) return false;
    const count = tally.selected.get(domain) ?? 0;
    return (tally.free.get(domain) ?? 0) > 0 || (count > 0 && count === tally.total);
  }

  /**
   * Whether the first pod with this affinity may be in the domain although selected pods are elsewhere and would be
   * scheduled later. True if no selected pod runs and no second domain needs a first pod too.
   */
  mayBegin(group: Group, domain: string): boolean {
    const tally = this.tallies[group.index];
    if (tally === undefined || tally.hasRunning || !tally.selected.get(domain)) return false;
    for (const [other, count] of tally.selected) {
      if (other !== domain && count > 0 && (tally.free.get(other) ?? 0) === 0) return false;
    }
    return true;
  }

  /**
   * Whether a spread rule holds in the domain for its pods if the other pods that it selects are scheduled after them.
   */
  keepsSkewInOrder(group: Group, domain: string): boolean {
    return this.count(group, domain) - this.free(group, domain) - this.least(group) <= group.maxSkew;
  }

  /** Whether a pod that the rule selects is in the domain of the node. */
  isNear(group: Group, site: Site): boolean {
    const domain = this.domainAt(site, group, everyKey);
    return domain !== undefined && this.count(group, domain) > 0;
  }

  /** Records that all pods counted so far are running, so that they precede the pods of the pass. */
  markRunning(): void {
    for (const tally of this.tallies) {
      if (tally === undefined) continue;
      tally.hasRunning = tally.total > 0;
      tally.before = { selected: new Map(tally.selected), owners: new Map(tally.owners) };
      if (tally.group.kind === 'spread') tally.free.clear();
    }
  }

  /**
   * Counts pods placed on a site; negative numbers remove them. For a new node, `isDecided` says which topology keys
   * have a fixed domain. A spread rule does not count pods on nodes that it does not include.
   */
  record(rules: Counting, pods: number, site: Site, isDecided: (key: string) => boolean = everyKey): void {
    for (const group of rules.matched) {
      const domain = this.domainAt(site, group, isDecided);
      if (domain === undefined || !this.includesSite(group, site)) continue;
      this.addSelected(group, domain, pods);
      if (group.kind !== 'antiAffinity' && !wants(rules, group)) this.addFree(group, domain, pods);
    }
    for (const group of rules.keepsOff) {
      const domain = this.domainAt(site, group, isDecided);
      if (domain !== undefined) this.addOwner(group, domain, pods);
    }
  }

  /** Counts pods on a node to be launched with this profile, for the keys that the rules fix. */
  recordLaunch(rules: Rules, pods: number, profile: Profile, host?: string): void {
    this.record(rules, pods, siteOf(profile, host), (key) => rules.keys.includes(key));
  }

  /**
   * Counts the DaemonSet pods of a new node of this profile for spread and anti-affinity by domains other than hosts; a
   * negative number removes them.
   */
  recordDaemons(profile: Profile, nodes: number): void {
    this.launchedNodes += nodes;
    for (const daemon of this.daemonPods?.partnersOn(profile) ?? []) {
      const { matched, keepsOff } = this.daemonPods!.countedBy(daemon);
      const site = siteOf(profile);
      for (const group of matched) {
        const domain = group.kind === 'affinity' ? undefined : this.domainOfDaemons(site, group);
        if (domain !== undefined && this.includesSite(group, site)) this.addSelected(group, domain, nodes);
      }
      for (const group of keepsOff) {
        const domain = this.domainOfDaemons(site, group);
        if (domain !== undefined) this.addOwner(group, domain, nodes);
      }
    }
  }

  /** Whether anti-affinity of pods that this pass has placed, or of DaemonSets, keeps the DaemonSet pods of a new node apart. */
  admitsDaemons(profile: Profile): boolean {
    const site = siteOf(profile);
    const isFree = (group: Group, counted: 'selected' | 'owners'): boolean => {
      const domain = group.kind === 'antiAffinity' ? this.domainOfDaemons(site, group) : undefined;
      const tally = this.tallies[group.index];
      if (domain === undefined || tally === undefined) return true;
      return (tally[counted].get(domain) ?? 0) <= (tally.before?.[counted].get(domain) ?? 0);
    };
    return (this.daemonPods?.partnersOn(profile) ?? []).every((daemon) => {
      const { matched, keepsOff } = this.daemonPods!.countedBy(daemon);
      return matched.every((group) => isFree(group, 'owners')) && keepsOff.every((group) => isFree(group, 'selected'));
    });
  }

  private domainOfDaemons(site: Site, group: Group): string | undefined {
    return group.hostname ? undefined : this.domainAt(site, group, (key) => this.daemonPods!.keys.includes(key));
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

  private includesSite(group: Group, { kind }: Site): boolean {
    // A node with pods that have the rule always counts, since they may be there. For the host name no other node
    // matters.
    if (group.filter === undefined || group.hostname) return true;
    let known = this.included.get(group);
    if (known === undefined) this.included.set(group, (known = new Map<Site['kind']['values'], boolean>()));
    let isIncluded = known.get(kind.values);
    if (isIncluded === undefined) known.set(kind.values, (isIncluded = includesNode(group, kind.values, kind.taints)));
    return isIncluded;
  }

  /** The count of the emptiest domain of a spread rule; 0 if there are fewer domains than `minDomains`. */
  least(group: Group): number {
    if (group.hostname) return this.leastOnHosts(group);
    const tally = this.tallies[group.index];
    if (tally === undefined) return 0;
    return (tally.least ??= this.leastOf(tally));
  }

  /** What every node has from the start: only DaemonSet pods, since an empty node can always be launched. */
  private leastOnHosts(group: Group): number {
    let least = this.leastOfHosts.get(group);
    if (least === undefined) {
      least = group.minDomains > 1 ? 0 : (this.daemonPods?.leastOnNew(group) ?? 0);
      if (least > 0) {
        for (const { host, kind } of this.nodes)
          if (includesNode(group, kind.values, kind.taints)) least = Math.min(least, this.count(group, host));
      }
      this.leastOfHosts.set(group, least);
    }
    return least;
  }

  private leastOf({ group, selected }: Tally): number {
    const domains = this.domains(group);
    if (domains.length < group.minDomains || domains.length === 0) return 0;
    let least = Infinity;
    for (const domain of domains) least = Math.min(least, selected.get(domain) || this.onNewNodes(group, domain));
    return least;
  }

  /** What a domain without a node has as soon as it has one: kube-scheduler does not know it before. */
  private onNewNodes(group: Group, domain: string): number {
    if (this.launchedNodes === 0 || this.daemonPods === undefined) return 0;
    let byDomain = this.leastOnNew.get(group);
    if (byDomain === undefined) this.leastOnNew.set(group, (byDomain = new Map<string, number>()));
    let least = byDomain.get(domain);
    if (least === undefined) {
      const key = this.compiled.space.find(group.key);
      const isThere = this.nodes.some(
        ({ kind: { values, taints } }) =>
          key !== undefined && values[key] === domain && includesNode(group, values, taints),
      );
      byDomain.set(domain, (least = isThere ? 0 : this.daemonPods.leastOnNew(group, domain)));
    }
    return least;
  }

  /** Domains for pods with this rule: those of existing nodes and of nodes that could be launched. */
  domains(group: Group): readonly string[] {
    let domains = this.eligible.get(group);
    if (domains === undefined) {
      const found = new Set<string>();
      const key = this.compiled.space.find(group.key);
      if (key !== undefined) {
        this.forEachSite(({ values, taints }) => {
          const value = values[key];
          if (value !== undefined && !found.has(value) && includesNode(group, values, taints)) found.add(value);
        });
      }
      this.eligible.set(group, (domains = [...found].sort()));
    }
    return domains;
  }

  private forEachSite(visit: (kind: Site['kind']) => void): void {
    for (const { kind } of this.nodes) visit(kind);
    const { profiles, domains } = this.compiled.universe;
    for (const profile of profiles) visit(siteOf(profile).kind);
    domains.forEach(visit);
  }
}
