import { defineSearchAttributeKey } from '@temporalio/common';

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

/** The visibility query of the open workflows of a cluster. Visibility is eventually consistent. */
export const openWorkflowsQuery = (cluster: string): string =>
  `${searchAttributes.cluster.name} = ${quotedForQuery(cluster)} AND ExecutionStatus = 'Running'`;

/** A string literal of a visibility query. */
export const quotedForQuery = (text: string): string => `'${text.replaceAll("'", "''")}'`;
