import type { Compiled } from '../compiled.js';
import type { PodClass, Shape } from '../compile/classes.js';
import { satisfies, type Constraint } from '../compile/key-space.js';
import type { Level } from '../compile/ladder.js';
import { holdsOne, portsFree } from '../compile/offers.js';
import type { Pool } from '../compile/pools.js';
import { untolerated } from '../compile/tolerations.js';
import type { Profile } from '../compile/universe.js';
import type { NodeKind } from './node-states.js';

const none: ReadonlySet<Profile> = new Set();

/** Which profiles and kinds of nodes admit a shape on a rung, amounts apart. Worked out once each. */
export class Feasibility {
  private readonly profileLists = new Map<Level, readonly Profile[]>();
  private readonly kindLists = new Map<Level, Map<NodeKind, boolean>>();
  private readonly vectors: Float64Array[] = [];
  private readonly holders = new Map<readonly Profile[], (readonly Profile[])[]>();
  private readonly shares: number[][] = [];
  private readonly lists = new Map<string, readonly Profile[]>();

  constructor(private readonly compiled: Compiled) {}

  demand({ demand }: PodClass): Float64Array {
    return (this.vectors[demand.index] ??= this.compiled.dimensions.vector(demand.amounts));
  }

  /** Profiles whose labels, taints and daemon ports admit the shape. */
  profiles(shape: Shape, level: Level): readonly Profile[] {
    let list = this.profileLists.get(level);
    if (list === undefined) {
      const pools = new Set<Pool>(this.compiled.pools.filter((pool) => this.toleratesPool(level, pool)));
      list = this.intern(
        this.compiled.universe.profiles.filter(
          (profile) =>
            pools.has(profile.pool) &&
            this.matching(level, profile.values) !== undefined &&
            portsFree(this.compiled.offers.of(profile), shape.hostPorts),
        ),
      );
      this.profileLists.set(level, list);
    }
    return list;
  }

  /** The first alternative of the level that a node with these labels satisfies. */
  matching({ constraints }: Level, values: readonly (string | undefined)[]): Constraint | undefined {
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

  /** Profiles whose types hold a pod of the class, whatever the weight of their pools; equal lists are one object. */
  holding(podClass: PodClass, level: Level, without: ReadonlySet<Profile> = none): readonly Profile[] {
    const all = this.profiles(podClass.shape, level);
    let byDemand = this.holders.get(all);
    if (byDemand === undefined) this.holders.set(all, (byDemand = []));
    const demand = this.demand(podClass);
    const { offers } = this.compiled;
    const found = (byDemand[podClass.demand.index] ??= this.intern(
      all.filter((profile) => holdsOne(offers.of(profile), demand)),
    ));
    return without.size === 0 ? found : this.intern(found.filter((profile) => !without.has(profile)));
  }

  /** Those of the heaviest pools (section 2.3); equal lists are one object. */
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

  /** The least price of the share of a node that one pod of the class takes, dollars per hour. */
  share(podClass: PodClass, profile: Profile): number {
    const shares = (this.shares[profile.index] ??= []);
    return (shares[podClass.demand.index] ??= this.leastShare(podClass, profile));
  }

  private leastShare(podClass: PodClass, profile: Profile): number {
    const demand = this.demand(podClass);
    const { rows, capacity } = this.compiled.offers.of(profile);
    const dims = demand.length;
    let least = Infinity;
    for (let i = 0; i < rows.length; i++) {
      let most = 0;
      for (let d = 0; d < dims; d++) if (demand[d]! > 0) most = Math.max(most, demand[d]! / capacity[i * dims + d]!);
      const price = this.compiled.universe.rows[rows[i]!]!.offering.price;
      if (most <= 1 && price * most < least) least = price * most;
    }
    return least;
  }
}
