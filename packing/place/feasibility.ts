import type { Compiled } from '../compile/compiled.js';
import type { PodClass, PodShape } from '../compile/classes.js';
import { satisfies, type Constraint } from '../compile/key-space.js';
import type { Level } from '../compile/relaxation-levels.js';
import { meetsMinValues, minValuesRulesOf } from '../compile/min-values.js';
import { holdsOne, portsFree } from '../compile/offers.js';
import type { Pool } from '../compile/pools.js';
import { untolerated } from '../../core/taints.js';
import { listedTogether, noProfiles, type Profile, type Row } from '../compile/universe.js';
import { emptyList } from '../lists.js';
import type { DaemonConflict } from '../topology/daemon-pods.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import type { NodeKind } from './node-states.js';

/** The profiles and kinds of nodes that admit a shape on a level, regardless of resources. Each is computed once. */
export class Feasibility {
  private readonly profileLists = new Map<Level, readonly Profile[]>();
  /** Lists of plain shapes, by their constraint. */
  private readonly plainLists = new Map<number, readonly Profile[]>();
  private readonly kindLists = new Map<Level, Map<NodeKind, boolean>>();
  private readonly shunnedLists = new Map<Level, readonly Profile[]>();
  private readonly vectors: Float64Array[] = [];
  private readonly holders = new Map<readonly Profile[], (readonly Profile[])[]>();
  private readonly shares: number[][] = [];
  private readonly lists = new Map<string, readonly Profile[]>();

  constructor(
    private readonly compiled: Compiled,
    private readonly book?: RuleBook,
  ) {}

  demand({ demand }: PodClass): Float64Array {
    return (this.vectors[demand.index] ??= this.compiled.dimensions.vector(demand.amounts));
  }

  /** Profiles whose labels, taints and DaemonSet host ports admit the shape. */
  profiles(shape: PodShape, level: Level): readonly Profile[] {
    let list = this.profileLists.get(level);
    if (list === undefined) {
      const isShared = isPlain(level) && !this.isBackedOff(shape) && this.shunned(shape, level).length === 0;
      list = isShared ? this.plainProfiles(shape, level) : this.admitted(shape, level);
      this.profileLists.set(level, list);
    }
    return list;
  }

  private plainProfiles(shape: PodShape, level: Level): readonly Profile[] {
    const likeness = 2 * level.constraints[0]!.index + (level.avoidsPreferred ? 1 : 0);
    let list = this.plainLists.get(likeness);
    if (list === undefined) this.plainLists.set(likeness, (list = this.admitted(shape, level)));
    return list;
  }

  private admitted(shape: PodShape, level: Level): readonly Profile[] {
    const pools = new Set<Pool>(
      this.compiled.pools.filter((pool) => this.toleratesPool(level, pool) && !this.isBackedOff(shape, pool)),
    );
    const shunned = this.shunned(shape, level);
    const admitted = this.compiled.universe.profiles.filter(
      (profile) =>
        pools.has(profile.pool) && this.matching(level, profile.values) !== undefined && !shunned.includes(profile),
    );
    return this.intern(this.withVariety(admitted));
  }

  /**
   * Whether a NodePool launches nothing for these pods because of a back-off (provisioning/refused-claims); any
   * NodePool, if none is given.
   */
  private isBackedOff({ refused }: PodShape, pool?: Pool): boolean {
    return refused !== undefined && (pool === undefined ? refused.pools.size > 0 : refused.pools.has(pool.name));
  }

  /**
   * Profiles that would admit the shape if their DaemonSets neither used its host ports nor conflicted with its topology
   * rules.
   */
  shunned(shape: PodShape, level: Level): readonly Profile[] {
    const { book, compiled } = this;
    if (compiled.daemons.length === 0) return emptyList;
    let list = this.shunnedLists.get(level);
    if (list === undefined) {
      const rules = book?.of(shape, level);
      const isRuled = rules !== undefined && mayConflict(rules);
      const conflicts = (profile: Profile): boolean =>
        !portsFree(compiled.offers.of(profile), shape.hostPorts) ||
        (isRuled && book?.daemonPods.conflict(rules, profile) !== undefined);
      const admits = ({ pool, values }: Profile): boolean =>
        this.toleratesPool(level, pool) && this.matching(level, values) !== undefined;
      list =
        isRuled || shape.hostPorts.length > 0
          ? compiled.universe.profiles.filter((profile) => admits(profile) && conflicts(profile))
          : emptyList;
      this.shunnedLists.set(level, list);
    }
    return list;
  }

  /** Profiles of its NodePool on which topology rules count pods of other DaemonSets. */
  withOtherPartners(profile: Profile): readonly Profile[] {
    const daemonPods = this.book?.daemonPods;
    if (daemonPods === undefined || !daemonPods.arePartners) return emptyList;
    const partners = daemonPods.partnersOn(profile).join();
    return this.compiled.universe.profiles.filter(
      (other) => other.pool === profile.pool && daemonPods.partnersOn(other).join() !== partners,
    );
  }

  /** The rule that conflicts with the DaemonSets of the profile, if any. */
  daemonConflict(shape: PodShape, level: Level, profile: Profile): DaemonConflict | undefined {
    return this.book?.daemonPods.conflict(this.book.of(shape, level), profile);
  }

  /**
   * Drops profiles whose types, with those that a claim may list in addition, do not meet the minValues of the NodePool
   * (min-values/strict-and-best-effort).
   */
  private withVariety(profiles: readonly Profile[]): readonly Profile[] {
    if (this.compiled.input.settings.minValuesPolicy === 'BestEffort') return profiles;
    const varied = profiles.filter(({ pool }) => minValuesRulesOf(pool.requirements).length > 0);
    const poor = new Set<Profile>();
    for (const group of listedTogether(varied)) {
      const rows = group.flatMap((profile) => profile.rows);
      const types = [...new Set(rows.map((row) => this.compiled.universe.rows[row]!.type))];
      const rules = minValuesRulesOf(group[0]!.pool.requirements);
      if (!rules.every((rule) => meetsMinValues(types, rule))) for (const profile of group) poor.add(profile);
    }
    return profiles.filter((profile) => !poor.has(profile));
  }

  /** The first alternative of the level that a node with these labels satisfies. */
  matching({ constraints }: Level, values: readonly (string | undefined)[]): Constraint | undefined {
    const [only] = constraints;
    if (constraints.length === 1 && only!.keys.length === 0) return only;
    return constraints.find((constraint) => satisfies(constraint, values));
  }

  toleratesPool({ tolerations, avoidsPreferred }: Level, { taints }: Pool): boolean {
    return untolerated(taints, tolerations, avoidsPreferred) === undefined;
  }

  admitsKind(level: Level, kind: NodeKind): boolean {
    let kinds = this.kindLists.get(level);
    if (kinds === undefined) this.kindLists.set(level, (kinds = new Map<NodeKind, boolean>()));
    let admitted = kinds.get(kind);
    if (admitted === undefined) {
      admitted =
        untolerated(kind.taints, level.tolerations, level.avoidsPreferred) === undefined &&
        this.matching(level, kind.values) !== undefined;
      kinds.set(kind, admitted);
    }
    return admitted;
  }

  /** Profiles with a type that has room for a pod of the class, of NodePools of any weight; equal lists are one object. */
  holding(podClass: PodClass, level: Level, excluded: ReadonlySet<Profile> = noProfiles): readonly Profile[] {
    const all = this.profiles(podClass.shape, level);
    let byDemand = this.holders.get(all);
    if (byDemand === undefined) this.holders.set(all, (byDemand = []));
    const demand = this.demand(podClass);
    const { offers } = this.compiled;
    const found = (byDemand[podClass.demand.index] ??= this.intern(
      all.filter((profile) => holdsOne(offers.of(profile), demand)),
    ));
    return excluded.size === 0 ? found : this.intern(found.filter((profile) => !excluded.has(profile)));
  }

  /** The profiles of NodePools with the highest weight (scheduling/heaviest-pool-first); equal lists are one object. */
  heaviest(profiles: readonly Profile[]): readonly Profile[] {
    let weight = -1;
    for (const { pool } of profiles) if (pool.weight > weight) weight = pool.weight;
    return this.intern(profiles.filter(({ pool }) => pool.weight === weight));
  }

  intern(profiles: readonly Profile[]): readonly Profile[] {
    let text = '';
    for (const { index } of profiles) text += `${index},`;
    const known = this.lists.get(text);
    if (known !== undefined) return known;
    this.lists.set(text, profiles);
    return profiles;
  }

  /** The lowest price of the share of a node that a pod of the class takes, dollars per hour. */
  share(podClass: PodClass, profile: Profile): number {
    const shares = (this.shares[profile.index] ??= []);
    return (shares[podClass.demand.index] ??= this.leastShare(podClass, profile));
  }

  /** The cheapest row of the profile with room for this demand, below a price in dollars per hour. */
  rowOfOne(profile: Profile, demand: Float64Array, below: number): Row | undefined {
    const { rows, capacity } = this.compiled.offers.of(profile);
    const dims = demand.length;
    for (let i = 0; i < rows.length; i++) {
      const row = this.compiled.universe.rows[rows[i]!]!;
      if (row.offering.price >= below) return undefined;
      let d = 0;
      while (d < dims && demand[d]! <= capacity[i * dims + d]!) d++;
      if (d === dims) return row;
    }
    return undefined;
  }

  private leastShare(podClass: PodClass, profile: Profile): number {
    const demand = this.demand(podClass);
    const { rows, capacity, bargains } = this.compiled.offers.of(profile);
    const dims = demand.length;
    let least = Infinity;
    for (const i of bargains) {
      let most = 0;
      for (let d = 0; d < dims; d++) if (demand[d]! > 0) most = Math.max(most, demand[d]! / capacity[i * dims + d]!);
      const price = this.compiled.universe.rows[rows[i]!]!.offering.price;
      if (most <= 1 && price * most < least) least = price * most;
    }
    return least;
  }
}

/** Whether the profiles of the shape depend only on one constraint and on whether PreferNoSchedule counts, as for most shapes. */
function isPlain({ tolerations, constraints }: Level): boolean {
  return tolerations.length === 0 && constraints.length === 1;
}

/** Whether DaemonSet pods may break or satisfy some of these rules. */
const mayConflict = ({ matched, byDaemons, hostSpread, antiAffinity, hostAntiAffinity }: Rules): boolean =>
  matched.length + byDaemons.length + hostSpread.length + antiAffinity.length + hostAntiAffinity.length > 0;
