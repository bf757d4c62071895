import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { Profile } from '../compile/universe.js';
import type { Rules } from '../topology/rules.js';

/** Pods of one class, as they stand on one level. */
export interface Member {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly pods: readonly Pod[];
}

/** Pods that are to be bought for alike: the items of the bin problem. */
export interface Part {
  /** One member whose pods may go apart, or several that must share one node. */
  readonly members: readonly Member[];
  readonly together: boolean;
  /** Where they may be launched. Equal lists are one object. */
  readonly profiles: readonly Profile[];
  /** Topology keys on which the node must not stay open. */
  readonly pinnedKeys: readonly string[];
  /** What one unit asks for: a pod, or all that share the node. */
  readonly demand: Float64Array;
  /** How many units. */
  readonly count: number;
}

/** What is being placed. */
export interface PlacementTarget {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly rules: Rules;
  /** Profiles that proved to have no room, of limited pools. */
  readonly without: ReadonlySet<Profile>;
}

/** The pods of the member from one place up to another. */
export function someOfMember(member: Member, from: number, to: number): Member {
  const { podClass, level, pods } = member;
  return from === 0 && to === pods.length ? member : { podClass, level, pods: pods.slice(from, to) };
}

export function podsIn(members: readonly Member[]): number {
  return members.reduce((sum, { pods }) => sum + pods.length, 0);
}
