/*
 * What-if for callers that change a cluster step by step: which pods go where when nodes are taken away, and what would be
 * launched for the others. The one way from disruption/consolidation into packing.
 */
export { plan } from './plan.js';
export { offeringLabelsOf, viewNodes, type CompiledNode } from './compile/nodes.js';
export { coverageOf } from './compile/coverage.js';
export type { PodClass } from './compile/classes.js';
export type { Profile } from './compile/universe.js';
export type { Level } from './compile/relaxation-levels.js';
export type { NodeState } from './place/node-states.js';
export type { Member, Part } from './place/part.js';
export type { Filling } from './trial/filling.js';
export type { TrialChange, NodePlacement } from './trial/journal.js';
export type { Launches, Way } from './trial/launches.js';
export type { PurchaseSearch } from './trial/purchases.js';
export { Trial, type Launch } from './trial/trial.js';
export type { Worth } from './trial/worth.js';
export { surchargeOf } from './bins/surcharge.js';
