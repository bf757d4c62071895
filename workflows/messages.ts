/*
 * Everything that crosses a workflow's boundary: inputs, results, signals, queries and search attributes, all as JSON.
 * Workflows that run may be older than this code, so fields are only added, and as optional ones, and no message
 * changes its name.
 */

export * from './task-queues.js';
export * from './search-attributes.js';
export * from './provisioning/provision-messages.js';
export * from './provisioning/offerings-messages.js';
export * from './launch/launch-messages.js';
export * from './disruption/disruption-messages.js';
export * from './disruption/question-messages.js';
export * from './consolidation/consolidation-messages.js';
export * from './drift/rollout-messages.js';
export type * from './expiration/expiration-messages.js';
export * from './interruption/interruption-messages.js';
export type * from './repair/repair-messages.js';
export * from './static-capacity/replicas-messages.js';
export * from './termination/termination-messages.js';
export * from './people/oversight-messages.js';
export * from './people/pause-messages.js';
export type { ClaimPlan, ClaimRef, NodeUntil, NodeRef } from '../core/refs.js';
