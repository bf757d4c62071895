import type { Compiled } from '../../packing/compile/compiled.js';
import type { PodClass } from '../../packing/compile/classes.js';
import type { Level } from '../../packing/compile/relaxation-levels.js';
import type { Feasibility } from '../../packing/place/feasibility.js';
import type { NodeState } from '../../packing/place/node-states.js';
import type { RuleBook } from '../../packing/topology/rules.js';
import type { TopologyCounts } from '../../packing/topology/topology-counts.js';

/** Input of a lower bound. */
export interface BoundContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly book: RuleBook;
  /** Before anything is placed. */
  readonly topologyCounts: TopologyCounts;
  readonly nodes: readonly NodeState[];
}

/** Placed pods of a class at one relaxation level. One object for each class and level. */
export interface PlacedClass {
  readonly podClass: PodClass;
  readonly level: Level;
}

/** Number of placed pods of each class and level. */
export type Placed = ReadonlyMap<PlacedClass, number>;

/**
 * The plans for the same pods for which a bound is valid: any, or those that keep the same preferences and launch at
 * most as many nodes.
 */
export type BoundFor = 'any' | 'comparable';
