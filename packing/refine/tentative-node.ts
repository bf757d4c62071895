import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { HostPort } from '../../core/host-ports.js';
import type { Profile } from '../compile/universe.js';
import type { OpenClaim } from '../place/open-claim.js';
import type { Rules } from '../topology/rules.js';

/** A node that the plan would launch, with everything that decides whether another pod fits. */
export interface TentativeNode {
  /** Placeholder for the node's name in counts by host name. */
  readonly host: string;
  readonly ports: HostPort[];
  readonly attach: undefined;
  /** Indices of the DaemonSets whose pods will run there. */
  readonly uncounted: readonly number[];
  readonly members: TentativeMember[];
  readonly usage: Float64Array;
  /** Profiles as which it can be launched, all of pools with the same weight. */
  profiles: readonly Profile[];
  /** Topology keys whose value the claim must fix, because a rule counts the node in that domain. */
  pinnedKeys: ReadonlySet<string>;
  /** The cheapest row that holds its pods. */
  row: number;
  /** By limit: what it reserves for minValues beyond the use of its row. */
  reserve: readonly number[];
  count: number;
  /** See `contentOf`; undefined after a change. */
  content: string | undefined;
}

export interface TentativeMember {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly levelIndex: number;
  readonly rules: Rules;
  readonly pods: Pod[];
}

/** A class of pods at one relaxation level. */
export interface ClassAtLevel {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly levelIndex: number;
  readonly rules: Rules;
}

/** Equal for tentative nodes that differ only in the names of their pods. */
export const contentOf = (node: TentativeNode): string => (node.content ??= describeContent(node));

const describeContent = ({ row, profiles, pinnedKeys, members }: TentativeNode): string =>
  `${row}/${profiles.length}.${profiles[0]!.index}/${[...pinnedKeys].sort().join()}:${members
    .map(({ podClass, levelIndex, pods }) => `${podClass.index}.${levelIndex}.${pods.length}`)
    .sort()
    .join()}`;

export function openClaimOf({ row, members, pinnedKeys }: TentativeNode): OpenClaim {
  return { row, members: members.map(({ podClass, level, pods }) => ({ podClass, level, pods })), pinnedKeys };
}
