import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/ladder.js';
import type { Profile } from '../compile/universe.js';

/** Pods of one class that are to be bought for alike: the items of the bin problem. */
export interface Part {
  readonly podClass: PodClass;
  readonly level: Level;
  /** Where they may be launched. Equal lists are one object where that is cheap to see. */
  readonly profiles: readonly Profile[];
  readonly pods: readonly Pod[];
  /** Topology keys on which the node must not stay open. */
  readonly pinnedKeys?: readonly string[];
}
