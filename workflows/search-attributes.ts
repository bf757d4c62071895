import { defineSearchAttributeKey } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';
import type { ClaimRef } from '../core/refs.js';

/** Search attributes, registered by the worker at start-up. */
export const searchAttributes = {
  cluster: defineSearchAttributeKey('StowageCluster', 'KEYWORD'),
  nodePool: defineSearchAttributeKey('StowageNodePool', 'KEYWORD'),
  nodeClaim: defineSearchAttributeKey('StowageNodeClaim', 'KEYWORD'),
  instanceId: defineSearchAttributeKey('StowageInstanceId', 'KEYWORD'),
  reason: defineSearchAttributeKey('StowageReason', 'KEYWORD'),
  phase: defineSearchAttributeKey('StowagePhase', 'KEYWORD'),
  blockedBy: defineSearchAttributeKey('StowageBlockedBy', 'KEYWORD'),
  savingsPerHour: defineSearchAttributeKey('StowageSavingsPerHour', 'DOUBLE'),
  awaitingApproval: defineSearchAttributeKey('StowageAwaitingApproval', 'BOOL'),
  paused: defineSearchAttributeKey('StowagePaused', 'BOOL'),
  secondsToSpare: defineSearchAttributeKey('StowageSecondsToSpare', 'INT'),
} as const;

/** The fields of inputs that say what a workflow is about, and which others are related to it. */
export interface WorkflowSubject {
  readonly cluster: string;
  readonly nodePool?: string;
  readonly claim?: ClaimRef;
  readonly candidate?: Candidate;
  readonly candidates?: readonly Candidate[];
  readonly instanceId?: string;
  /** Ids of workflows that wait for this one. */
  readonly notify?: string;
  readonly alsoNotify?: readonly string[];
  readonly reason?: string;
  /** Dollars per hour. */
  readonly saves?: number;
}
type Candidate = { readonly claim: ClaimRef; readonly nodePool: string };

/** Reasons of workflow types whose input has none. */
const reasonsOf: ReadonlyMap<string, string> = new Map([
  ['expireNode', 'expired'],
  ['repairNode', 'unhealthy'],
  ['replaceDrifted', 'drifted'],
]);

/**
 * How workflows of a type usually end. A workflow whose phase was never written as an attribute ended so: that would be
 * an action of Temporal Cloud for what the status of the workflow shows.
 */
const usualOutcomes: ReadonlyMap<string, string> = new Map([
  ['launchNode', 'initialized'],
  ['terminateNode', 'terminated'],
  ['consolidate', 'done'],
  ['measureSavings', 'done'],
  ['handleInterruption', 'done'],
  ['replaceDrifted', 'done'],
  ['replaceNode', 'replaced'],
  ['expireNode', 'replaced'],
  ['repairNode', 'recovered'],
]);

export const usualOutcomeOf = (type: string): string => usualOutcomes.get(type) ?? '';

/**
 * The search attributes of a workflow at its start, for its start options. Set there they cost nothing, whereas each
 * upsert is an action of Temporal Cloud. A workflow that was started without them writes them itself (progress.ts).
 */
export function startAttributes(
  type: string,
  input: WorkflowSubject,
): { readonly typedSearchAttributes: SearchAttributePair[] } {
  const { cluster, nodePool, claim, candidate, candidates = [], instanceId, reason, saves } = input;
  const about = candidate ?? candidates[0];
  const reasonOf = reasonsOf.get(type) ?? (about === undefined ? reason : reason?.toLowerCase());
  const savings = saves === undefined ? [] : [{ key: searchAttributes.savingsPerHour, value: saves }];
  const values: readonly (readonly [typeof searchAttributes.cluster, string | undefined])[] = [
    [searchAttributes.cluster, cluster],
    [searchAttributes.nodePool, nodePool ?? about?.nodePool],
    [searchAttributes.nodeClaim, claim?.name ?? about?.claim.name],
    [searchAttributes.instanceId, instanceId],
    [searchAttributes.reason, reasonOf],
  ];
  return {
    typedSearchAttributes: [
      ...values.flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }])),
      ...savings,
    ],
  };
}

/** The visibility query of the open workflows of a cluster. Visibility is eventually consistent. */
export const openWorkflowsQuery = (cluster: string): string =>
  `${searchAttributes.cluster.name} = ${quotedForQuery(cluster)} AND ExecutionStatus = 'Running'`;

/** A string literal of a visibility query. */
export const quotedForQuery = (text: string): string => `'${text.replaceAll("'", "''")}'`;
