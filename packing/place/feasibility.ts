import type { Compiled } from '../compiled.js';
import type { PodClass, Shape } from '../compile/classes.js';
import { satisfies, type Constraint } from '../compile/key-space.js';
import type { Level } from '../compile/ladder.js';
import { holdsOne, portsFree } from '../compile/offers.js';
import type { Pool } from '../compile/pools.js';
import { untolerated } from '../compile/tolerations.js';
import type { Profile } from '../compile/universe.js';
import type { NodeKind } from './node-states.js';

/** Which profiles and kinds of nodes admit a shape on a rung, amounts apart. Worked out once each. */
export class Feasibility {
  private readonly profileLists = new Map<Level, readonly Profile[]>();
  private readonly kindLists = new Map<Level, Map<NodeKind, boolean>>();
  private readonly vectors: Float64Array[] = [];

  constructor(private readonly compiled: Compiled) {}

  demand({ demand }: PodClass): Float64Array {
    return (this.vectors[demand.index] ??= this.compiled.dimensions.vector(demand.amounts));
  }

  /** Profiles whose labels, taints and daemon ports admit the shape. */
  profiles(shape: Shape, level: Level): readonly Profile[] {
    let list = this.profileLists.get(level);
    if (list === undefined) {
      const pools = new Set<Pool>(this.compiled.pools.filter((pool) => this.toleratesPool(level, pool)));
      list = this.compiled.universe.profiles.filter(
        (profile) =>
          pools.has(profile.pool) &&
          this.matching(level, profile.values) !== undefined &&
          portsFree(this.compiled.offers.of(profile), shape.hostPorts),
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
    if (kinds === undefined) this.kindLists.set(level, (kinds = new Map()));
    let admitted = kinds.get(kind);
    if (admitted === undefined) {
      admitted =
        untolerated(kind.taints, level.tolerations, level.avoidsPreferred) === undefined &&
        this.matching(level, kind.values) !== undefined;
      kinds.set(kind, admitted);
    }
    return admitted;
  }

  /** Profiles that hold a pod of the class: those of the heaviest pools that have any (section 2.3). */
  launchable(podClass: PodClass, level: Level, without: ReadonlySet<Profile>): readonly Profile[] {
    const demand = this.demand(podClass);
    let heaviest = -1;
    const found: Profile[] = [];
    for (const profile of this.profiles(podClass.shape, level)) {
      if (without.has(profile) || profile.pool.weight < heaviest) continue;
      if (!holdsOne(this.compiled.offers.of(profile), demand)) continue;
      if (profile.pool.weight > heaviest) {
        heaviest = profile.pool.weight;
        found.length = 0;
      }
      found.push(profile);
    }
    return found;
  }
}
