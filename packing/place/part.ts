import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { Profile } from '../compile/universe.js';
import type { Rules } from '../topology/rules.js';

/** Pods of one class on one relaxation level. */
export interface Member {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly pods: readonly Pod[];
}

/** Pods with the same needs for new nodes: an item of the bin problem. */
export interface Part {
  /** One member whose pods may be on different nodes, or several that must share one node (a bundle). */
  readonly members: readonly Member[];
  readonly together: boolean;
  /** Profiles that they may be launched on. Equal lists are one object. */
  readonly profiles: readonly Profile[];
  /**
   * Profiles of NodePools of any weight, including those above: for nodes that are launched for other pods
   * (scheduling/heaviest-pool-first). Absent: only those above.
   */
  readonly riding?: readonly Profile[];
  /** Topology keys that need one fixed value on the node. */
  readonly pinnedKeys: readonly string[];
  /** The demand of one unit: a pod, or a bundle. */
  readonly demand: Float64Array;
  /** Number of units. */
  readonly count: number;
}

/** A class on a relaxation level, with its rules. */
export interface PlacementTarget {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly rules: Rules;
  /** Profiles of NodePools whose limits have no room. */
  readonly excluded: ReadonlySet<Profile>;
}

/** The pods of the member from index `from` up to `to`. */
export function someOfMember(member: Member, from: number, to: number): Member {
  const { podClass, level, pods } = member;
  return from === 0 && to === pods.length ? member : { podClass, level, pods: pods.slice(from, to) };
}

export function podsIn(members: readonly Member[]): number {
  return members.reduce((sum, { pods }) => sum + pods.length, 0);
}
