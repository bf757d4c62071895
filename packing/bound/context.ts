import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { Feasibility } from '../place/feasibility.js';
import type { NodeState } from '../place/node-states.js';
import type { RuleBook } from '../topology/rules.js';
import type { TopologyCounts } from '../topology/topology-counts.js';

/** What a bound is reckoned from. */
export interface BoundContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly book: RuleBook;
  /** Before anything is placed. */
  readonly topologyCounts: TopologyCounts;
  readonly nodes: readonly NodeState[];
}

/** How many pods of each class have a place. */
export type Placed = ReadonlyMap<PodClass, number>;
