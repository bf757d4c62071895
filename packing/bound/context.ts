import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
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

/** Pods of a class that have a place, at one relaxation level. One object for each class and level. */
export interface PlacedClass {
  readonly podClass: PodClass;
  readonly level: Level;
}

/** How many pods of each class and level have a place. */
export type Placed = ReadonlyMap<PlacedClass, number>;

/**
 * Which plans for the same pods a bound holds for: any, or those that keep the same preferences and launch at most as many nodes.
 */
export type BoundFor = 'any' | 'comparable';
