import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { Pod } from '../../../api/kubernetes.js';
import { annotations } from '../../../api/labels.js';
import { isTrue, transitionOf } from '../../../core/conditions.js';
import { parseDuration } from '../../../core/durations.js';
import type { KubeClient } from '../../../kube/port.js';
import type { FakeKube } from '../kube/fake.js';
import { isDisruptedByChoice } from './by-choice.js';

type Ref = Parameters<KubeClient['get']>[1];

export interface OverseerOptions {
  readonly broken: (problem: string) => void;
  /** Whether a pod has been protected for so long that all caches have it; without it all count as known. */
  readonly isKnownProtected?: (pod: Pod) => boolean;
  /** Whether EC2's status checks have failed for an instance, which ends all protection (interruption/status-checks). */
  readonly hasFailedStatusCheck?: (providerId: string) => boolean;
  /** Whether the cloud still has an instance; without it all count as running. */
  readonly isRunning?: (providerId: string) => boolean;
  /** Whether the cluster is at an earlier state: what workflows have waited for may be undone. */
  readonly isRestored?: () => boolean;
  /** Hears which NodeClaim a process deletes, just before. */
  readonly onDelete?: (claimName: string) => void;
  /** When a NodeClaim was first deleted, milliseconds of the epoch: a restored cluster may have it deleted a second time. */
  readonly firstDeletedAt?: (claim: NodeClaim) => number | undefined;
  /** The claim that a node had, where that is gone: its finalizer was removed by hand, and its node is still drained. */
  readonly lastClaimOf?: (nodeName: string) => NodeClaim | undefined;
}

/**
 * The API server as Stowage's processes reach it, which reports when one of them ends a pod that must not be disrupted before its
 * node's deadline (invariants/protection-holds), or disrupts a node voluntarily before its replacements are initialized
 * (invariants/replacement-first).
 */
export function overseen(kube: FakeKube, options: OverseerOptions): KubeClient {
  const {
    broken,
    isKnownProtected = () => true,
    hasFailedStatusCheck = () => false,
    onDelete = () => undefined,
  } = options;
  const watchPod = (ref: Ref, isEviction: boolean): void => {
    const pod = kube
      .kept('Pod')
      .find(({ metadata }) => metadata.name === ref.name && metadata.namespace === ref.namespace);
    if (pod?.metadata.annotations?.[annotations.doNotDisrupt] !== 'true' || !isKnownProtected(pod)) return;
    if (hasFailedStatusCheck(instanceOf(kube, pod))) return;
    const deadline = deadlineOf(kube, pod, options);
    const graceMs = (pod.spec.terminationGracePeriodSeconds ?? 30) * 1000;
    if (Date.now() >= deadline - graceMs) return;
    const by = Number.isFinite(deadline) ? `, which is ${new Date(deadline).toISOString()}` : '';
    broken(
      `pod ${ref.name} was ${isEviction ? 'evicted' : 'deleted'} before its time${by} (invariants/protection-holds)`,
    );
  };
  const watchClaim = ({ name }: Ref): void => {
    const claims = kube.kept('NodeClaim');
    const claim = claims.find(({ metadata }) => metadata.name === name);
    if (claim?.metadata.deletionTimestamp !== undefined || claim === undefined) return;
    if (!isDisruptedByChoice(claim) || !isWell(kube, claim, options) || options.isRestored?.() === true) return;
    const owner = claim.metadata.annotations?.[annotations.disruptionOwner];
    const isOfOwner = ({ metadata }: NodeClaim): boolean =>
      owner !== undefined && metadata.annotations?.[annotations.plan]?.startsWith(`${owner}/`) === true;
    const replacements = claims.filter((each) => isOfOwner(each) && !isOlderThanMark(each, claim));
    const isUp = ({ status }: NodeClaim): boolean => isTrue(status?.conditions, 'Initialized');
    // Of a command that began anew, since Temporal was restored, the first replacement may be on its way out.
    const isLeftOver = ({ metadata }: NodeClaim): boolean =>
      metadata.deletionTimestamp !== undefined && replacements.some(isUp);
    for (const one of replacements) {
      if (isUp(one) || isLeftOver(one)) continue;
      broken(
        `NodeClaim ${name} is deleted before ${one.metadata.name ?? ''} is initialized (invariants/replacement-first)`,
      );
    }
  };
  return {
    ...kube,
    evict: (pod) => {
      watchPod(pod, true);
      return kube.evict(pod);
    },
    delete: (kind, ref, options) => {
      if (kind === 'Pod') watchPod(ref, false);
      if (kind === 'NodeClaim') {
        onDelete(ref.name);
        watchClaim(ref);
      }
      return kube.delete(kind, ref, options);
    },
  };
}

/** A command whose workflow was lost may be decided anew under its id, without the replacements of before: nodes are marked before their replacements are made. */
function isOlderThanMark({ metadata }: NodeClaim, { status }: NodeClaim): boolean {
  const markedAt = transitionOf(status?.conditions, 'DisruptionReason');
  return markedAt !== undefined && Date.parse(metadata.creationTimestamp ?? '') < markedAt;
}

/** A disruption of the node is voluntary: it is ready and not being deleted, no notice has come for it, and its instance runs. */
function isWell(
  kube: FakeKube,
  { metadata: own, status }: NodeClaim,
  { isRunning = () => true }: OverseerOptions,
): boolean {
  const node = kube.kept('Node').find(({ metadata }) => metadata.name === status?.nodeName);
  if (node === undefined || node.metadata.deletionTimestamp !== undefined) return false;
  if (!isRunning(node.spec?.providerID ?? '')) return false;
  return isTrue(node.status?.conditions, 'Ready') && own.annotations?.[annotations.interruption] === undefined;
}

/** The instance of a pod's node. */
const instanceOf = (kube: FakeKube, { spec }: Pod): string =>
  kube.kept('Node').find(({ metadata }) => metadata.name === spec.nodeName)?.spec?.providerID ?? '';

/** When protected pods of the node may be deleted, milliseconds of the epoch; never for a node that stays. */
function deadlineOf(kube: FakeKube, { spec }: Pod, options: OverseerOptions): number {
  const { firstDeletedAt = deletedAt, lastClaimOf = () => undefined } = options;
  const isOfNode = ({ status }: NodeClaim): boolean => status?.nodeName === spec.nodeName;
  const claim = kube.kept('NodeClaim').find(isOfNode) ?? lastClaimOf(spec.nodeName ?? '');
  const deleted = claim === undefined ? undefined : firstDeletedAt(claim);
  if (claim === undefined || deleted === undefined) return Number.POSITIVE_INFINITY;
  const grace = claim.spec.terminationGracePeriod;
  return grace === undefined ? Number.POSITIVE_INFINITY : deleted + parseDuration(grace);
}

const deletedAt = ({ metadata: { deletionTimestamp } }: NodeClaim): number | undefined =>
  deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp);
