import { labels } from '../../api/labels.js';
import type { Compiled } from '../compile/compiled.js';
import { satisfies } from '../compile/key-space.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { Profile } from '../compile/universe.js';
import { untolerated } from '../../core/taints.js';
import { emptyList } from '../lists.js';
import { includesNode, type Group, type Groups, type Identity } from './groups.js';

/** The rules of pods that DaemonSet pods may break or satisfy. */
type PodRules = Readonly<
  Record<'byDaemons' | 'matched' | 'antiAffinity' | 'hostAntiAffinity' | 'hostSpread', readonly Group[]>
>;

/** A DaemonSet whose pods exclude other pods from every node they run on, and the rule that does. */
export interface DaemonConflict {
  readonly group: Group;
  readonly message: string;
}

/** The effect of DaemonSet pods on topology rules, on nodes where they will run (topology/daemon-pods). */
export class DaemonPods {
  private readonly identities: readonly Identity[];
  /** By DaemonSet: its required anti-affinity. */
  private readonly own: readonly (readonly Group[])[];
  private readonly selected = new Map<Group, readonly number[]>();
  /** Counts on existing nodes. */
  counts: { least(group: Group): number } | undefined;
  private readonly partners = new Map<Profile, readonly number[]>();
  private domainKeys: readonly string[] | undefined;
  private counting: readonly (readonly Group[])[] | undefined;

  constructor(
    private readonly compiled: Compiled,
    private readonly groups: Groups,
    bind: (group: Group) => void,
    private readonly isBinding: (group: Group) => boolean,
  ) {
    const { daemons } = compiled;
    this.identities = daemons.map(({ namespace, labels: podLabels }) => groups.identity(namespace, podLabels));
    this.own = daemons.map(({ spec }, d) => {
      const terms = spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? emptyList;
      return terms.map((term) => groups.term('antiAffinity', term, this.identities[d]!));
    });
    for (const groupsOfOne of this.own) groupsOfOne.forEach(bind);
  }

  /**
   * Topology keys other than the host name of spread and anti-affinity rules that count DaemonSet pods. Every new node
   * needs one fixed value of each, so that it is known which domain counts its DaemonSet pods.
   */
  get keys(): readonly string[] {
    return (this.domainKeys ??= [
      ...new Set(this.rules.flat().flatMap(({ key, hostname }) => (hostname ? [] : [key]))),
    ].sort());
  }

  /** By DaemonSet: the required rules that count its pods, in the domain of the node or, for a spread, on it. */
  private get rules(): readonly (readonly Group[])[] {
    return (this.counting ??= this.identities.map((identity, d) =>
      [...this.groups.matching(identity).filter(this.isBinding), ...this.own[d]!].filter(
        ({ kind, hostname }) => kind === 'spread' || (kind === 'antiAffinity' && !hostname),
      ),
    ));
  }

  get arePartners(): boolean {
    return this.rules.some(({ length }) => length > 0);
  }

  /** The DaemonSets with such rules whose pods run on new nodes of the profile. */
  partnersOn(profile: Profile): readonly number[] {
    if (!this.arePartners) return emptyList;
    let known = this.partners.get(profile);
    if (known === undefined) {
      known = this.runningOn(profile).filter((d) => this.rules[d]!.length > 0);
      this.partners.set(profile, known);
    }
    return known;
  }

  /**
   * The rules that select the pods of the DaemonSet, and its anti-affinity, to be counted on a node where they will
   * run.
   */
  countedBy(daemon: number): { matched: readonly Group[]; keepsOff: readonly Group[] } {
    return { matched: this.groups.matching(this.identities[daemon]!), keepsOff: this.own[daemon]! };
  }

  /** The DaemonSets whose pods the rule selects. */
  private selectedBy(group: Group): readonly number[] {
    let daemons = this.selected.get(group);
    if (daemons === undefined) {
      daemons = this.identities.flatMap((identity, d) => (this.groups.matching(identity).includes(group) ? [d] : []));
      this.selected.set(group, daemons);
    }
    return daemons;
  }

  /** How many of these DaemonSets the rule selects. */
  count(group: Group, running: readonly number[]): number {
    return this.selectedBy(group).filter((d) => running.includes(d)).length;
  }

  private runningOn(profile: Profile): readonly number[] {
    return this.compiled.offers.of(profile).daemons;
  }

  /**
   * The affinity rules that DaemonSet pods satisfy on every new node of some profiles. The pods of the level are then
   * launched only on such nodes.
   */
  met(level: Level, carried: readonly Group[]): readonly Group[] {
    if (this.identities.length === 0) return emptyList;
    const sought = carried.filter((group) => group.kind === 'affinity' && this.selectedBy(group).length > 0);
    if (sought.length === 0) return emptyList;
    const isMet = this.compiled.universe.profiles.some(
      (profile) =>
        untolerated(profile.pool.taints, level.tolerations, level.avoidsPreferred) === undefined &&
        level.constraints.some((each) => satisfies(each, profile.values)) &&
        sought.every((group) => this.meets(group, profile)),
    );
    return isMet ? sought : emptyList;
  }

  private meets(group: Group, profile: Profile): boolean {
    if (!this.hasKey(group, profile.values)) return false;
    const running = this.runningOn(profile);
    // A pod that waits for other pods may come too late.
    return this.selectedBy(group).some(
      (d) =>
        running.includes(d) &&
        this.compiled.daemons[d]!.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ===
          undefined,
    );
  }

  private hasKey({ key, hostname }: Group, values: Profile['values']): boolean {
    const index = hostname ? undefined : this.compiled.space.find(key);
    return hostname || (index !== undefined && values[index] !== undefined);
  }

  /**
   * The DaemonSet that excludes pods with these rules from new nodes of the profile, or that they need and that does
   * not run there.
   */
  conflict(rules: PodRules, profile: Profile): DaemonConflict | undefined {
    if (this.identities.length === 0) return undefined;
    const unmet = rules.byDaemons.find((group) => !this.meets(group, profile));
    if (unmet !== undefined) {
      const name = this.nameOf(this.selectedBy(unmet)[0]!);
      return { group: unmet, message: `${name}, whose pods its affinity wants, would not run there` };
    }
    return this.conflictWith(rules, profile.values, this.runningOn(profile)) ?? this.crowded(rules, profile);
  }

  /** The same for anti-affinity only, where pods of these DaemonSets will run. */
  conflictWith(rules: PodRules, values: Profile['values'], running: readonly number[]): DaemonConflict | undefined {
    for (const d of running) {
      const group = this.own[d]!.find((each) => rules.matched.includes(each) && this.hasKey(each, values));
      if (group !== undefined) {
        const message = `the anti-affinity of ${this.nameOf(d)}, whose pods would run there, keeps it away`;
        return { group, message };
      }
    }
    for (const group of [...rules.hostAntiAffinity, ...rules.antiAffinity]) {
      const d = this.hasKey(group, values) ? this.selectedBy(group).find((each) => running.includes(each)) : undefined;
      if (d !== undefined) {
        const message = `its anti-affinity keeps it away from ${this.nameOf(d)}, whose pods would run there`;
        return { group, message };
      }
    }
    return undefined;
  }

  private crowded(rules: PodRules, profile: Profile): DaemonConflict | undefined {
    for (const group of rules.hostSpread) {
      const [d] = this.selectedBy(group);
      const own = rules.matched.includes(group) ? 1 : 0;
      const there = d === undefined ? 0 : this.count(group, this.runningOn(profile));
      if (d !== undefined && there + own > group.maxSkew + this.leastOnHosts(group)) {
        const message = `with the pods of ${this.nameOf(d)} its spread over ${labels.hostname} has no room`;
        return { group, message };
      }
    }
    return undefined;
  }

  /** The least number of selected pods on any node, existing ones included. */
  private leastOnHosts(group: Group): number {
    return this.counts?.least(group) ?? this.leastOnNew(group);
  }

  /** The least number of selected pods that every new node has from the start; in this domain, if one is given. */
  leastOnNew(group: Group, domain?: string): number {
    if (this.selectedBy(group).length === 0) return 0;
    let least = Infinity;
    const key = this.compiled.space.find(group.key);
    for (const profile of this.compiled.universe.profiles) {
      if (domain !== undefined && (key === undefined || profile.values[key] !== domain)) continue;
      if (!includesNode(group, profile.values, profile.pool.taints)) continue;
      least = Math.min(least, this.count(group, this.runningOn(profile)));
    }
    return least === Infinity ? 0 : least;
  }

  /**
   * How many pods a spread over host names allows on a new node of these profiles, in addition to its DaemonSet pods.
   */
  roomOnNew(group: Group, profilesOf: () => Iterable<Profile>): number {
    if (this.selectedBy(group).length === 0) return group.maxSkew;
    let most = 0;
    for (const profile of new Set(profilesOf())) most = Math.max(most, this.count(group, this.runningOn(profile)));
    return group.maxSkew + this.leastOnHosts(group) - most;
  }

  private nameOf(daemon: number): string {
    return `DaemonSet ${this.compiled.daemons[daemon]!.name}`;
  }
}
