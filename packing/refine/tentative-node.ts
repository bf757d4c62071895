import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { HostPort } from '../../core/host-ports.js';
import type { Profile } from '../compile/universe.js';
import type { OpenClaim } from '../place/open-claim.js';
import type { Rules } from '../topology/rules.js';

/** A node to launch while pods come and go: everything that a further pod has to fit in with. */
export interface TentativeNode {
  /** Stands for the name of the node to come in counts of the host name. */
  readonly host: string;
  readonly ports: HostPort[];
  readonly attach: undefined;
  readonly members: TentativeMember[];
  readonly usage: Float64Array;
  /** What it may be launched as; all of pools of one weight. */
  profiles: readonly Profile[];
  /** Topology keys that must not stay open. */
  pins: ReadonlySet<string>;
  /** The cheapest row that holds it. */
  row: number;
  /** By limit: what it needs beyond the row's use, for minValues. */
  reserve: readonly number[];
  count: number;
}

export interface TentativeMember {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly levelIndex: number;
  readonly rules: Rules;
  readonly pods: Pod[];
}

/** Pods of a class as they stand on one level. */
export interface ClassAtLevel {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly levelIndex: number;
  readonly rules: Rules;
}

export function openClaimOf({ row, members, pins }: TentativeNode): OpenClaim {
  return { row, members: members.map(({ podClass, level, pods }) => ({ podClass, level, pods })), pinnedKeys: pins };
}
