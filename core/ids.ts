import { hashText } from './hash.js';
import { lookUp } from './own.js';

/**
 * Workflow ids. An id is the idempotency key of its subject, so it contains no time and nothing random. The prefix is
 * the cluster's name, because clusters may share a Temporal namespace.
 */
export const workflowIds = {
  provision: (cluster: string) => `${cluster}/provision`,
  disrupt: (cluster: string) => `${cluster}/disrupt`,
  launch: (cluster: string, nodeClaimUid: string) => `${cluster}/launch/${nodeClaimUid}`,
  terminate: (cluster: string, nodeClaimUid: string) => `${cluster}/terminate/${nodeClaimUid}`,
  expire: (cluster: string, nodeClaimUid: string) => `${cluster}/expire/${nodeClaimUid}`,
  replicas: (cluster: string, nodePoolUid: string) => `${cluster}/replicas/${nodePoolUid}`,
  repair: (cluster: string, nodeClaimUid: string) => `${cluster}/repair/${nodeClaimUid}`,
  interrupt: (cluster: string, instanceId: string) => `${cluster}/interrupt/${instanceId}`,
  drift: (cluster: string, nodePoolUid: string, hash: string) => `${cluster}/drift/${nodePoolUid}/${hash}`,
  replace: (cluster: string, nodeClaimUid: string) => `${cluster}/replace/${nodeClaimUid}`,
  consolidate: (cluster: string, candidateUids: readonly string[]) =>
    `${cluster}/consolidate/${hashText([...candidateUids].sort().join(','))}`,
  /** By the first run of the measured move: a move has one workflow id and may run again. */
  savings: (cluster: string, moveRunId: string) => `${cluster}/savings/${moveRunId}`,
  offerings: (cluster: string) => `${cluster}/offerings`,
} as const;

/** The Schedule that records which Kubernetes cluster uses the name. */
export const identityScheduleId = (cluster: string): string => `${cluster}/identity`;

export type WorkflowKind = keyof typeof workflowIds;

const segments: Readonly<Record<string, WorkflowKind>> = {
  provision: 'provision',
  disrupt: 'disrupt',
  launch: 'launch',
  terminate: 'terminate',
  expire: 'expire',
  replicas: 'replicas',
  repair: 'repair',
  interrupt: 'interrupt',
  drift: 'drift',
  replace: 'replace',
  consolidate: 'consolidate',
  savings: 'savings',
  offerings: 'offerings',
};

/** The inverse of `workflowIds`; undefined for other ids. */
export function parseWorkflowId(
  id: string,
): { readonly cluster: string; readonly kind: WorkflowKind; readonly subject: readonly string[] } | undefined {
  const [cluster, segment, ...subject] = id.split('/');
  const kind = lookUp(segments, segment ?? '');
  return cluster === undefined || kind === undefined ? undefined : { cluster, kind, subject };
}

/** The `ClientToken` of the single EC2 launch of a NodeClaim (at most 64 ASCII characters). */
export function launchToken(nodeClaimUid: string, attempt = 0): string {
  return attempt === 0 ? nodeClaimUid : `${nodeClaimUid}-${attempt}`;
}
