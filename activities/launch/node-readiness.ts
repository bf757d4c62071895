import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node, ObjectMeta, Taint } from '../../api/kubernetes.js';
import { annotations, finalizers, labels, taints } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import { parseResource } from '../../core/quantities.js';
import { lookUp } from '../../core/own.js';
import { isKnownEphemeral, isSameTaint } from '../../core/taints.js';
import { updateClaim } from '../../cluster/writes.js';
import type { ClaimRef } from '../../workflows/messages.js';
import type { ActivityDeps } from '../deps.js';
import { nameOf } from '../../core/names.js';

/** What registration writes to a Node (registration/registered); undefined when all of it is there. */
export function registration(
  claim: NodeClaim,
  node: Node,
): { metadata: { labels: Record<string, string> } & Partial<ObjectMeta>; spec: { taints: Taint[] } } {
  const { metadata, spec } = node;
  const owners = metadata.ownerReferences ?? [];
  const ours = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    name: nameOf(claim),
    uid: claim.metadata.uid ?? '',
    blockOwnerDeletion: true,
  };
  return {
    metadata: {
      finalizers: [...new Set([...(metadata.finalizers ?? []), finalizers.termination])],
      ownerReferences: owners.some(({ uid }) => uid === ours.uid) ? owners : [...owners, ours],
      labels: { ...claim.metadata.labels, [labels.registered]: 'true' },
      annotations: copiedAnnotations(claim),
    },
    spec: { taints: taintsAfter(claim, node, spec?.taints ?? []) },
  };
}

/** The NodeClaim's annotations, except those that only concern the NodeClaim itself. */
function copiedAnnotations(claim: NodeClaim): Record<string, string> {
  const copied = Object.entries(claim.metadata.annotations ?? {}).filter(
    ([key]) => key !== annotations.terminationTimestamp && !key.startsWith('stowage.dev/'),
  );
  return Object.fromEntries(copied);
}

/** Startup taints are added once, at registration, unless the kubelet registered the taints itself. */
function taintsAfter(claim: NodeClaim, node: Node, present: readonly Taint[]): Taint[] {
  const isRegistered = (taint: Taint): boolean => !isSameTaint(taint, taints.unregistered);
  const kept = present.filter(isRegistered);
  if (node.metadata.labels?.[labels.doNotSyncTaints] === 'true') return kept;
  const wanted = [...(claim.spec.taints ?? []), ...(claim.spec.startupTaints ?? [])] as Taint[];
  return [...kept, ...wanted.filter(isRegistered).filter((taint) => !kept.some((one) => isSameTaint(one, taint)))];
}

/** Why a registered node is not initialized yet (registration/initialized); undefined when it is. */
export function whyNotInitialized(claim: NodeClaim, node: Node): { reason: string; message: string } | undefined {
  if (!isTrue(node.status?.conditions, 'Ready')) {
    return { reason: 'NodeNotReady', message: 'Node status is NotReady' };
  }
  const present = node.spec?.taints ?? [];
  const startup = (claim.spec.startupTaints ?? []).find((taint) => present.some((one) => isSameTaint(one, taint)));
  if (startup !== undefined) {
    return { reason: 'StartupTaintsExist', message: `StartupTaint "${startup.key}:${startup.effect}" still exists` };
  }
  const ephemeral = present.find(isKnownEphemeral);
  if (ephemeral !== undefined) {
    return {
      reason: 'KnownEphemeralTaintsExist',
      message: `KnownEphemeralTaint "${ephemeral.key}:${ephemeral.effect}" still exists`,
    };
  }
  const missing = Object.entries(claim.spec.resources?.requests ?? {}).find(
    ([name, amount]) => parseResource(name, amount) > 0 && !isReported(node, name),
  );
  return missing === undefined
    ? undefined
    : { reason: 'ResourceNotRegistered', message: `Resource "${missing[0]}" was requested but not registered` };
}

function isReported(node: Node, name: string): boolean {
  const amount = lookUp(node.status?.allocatable, name);
  return amount !== undefined && parseResource(name, amount) > 0;
}

/**
 * Labels that are empty on the NodeClaim until the cloud reports their value, as in Karpenter. Other labels stay empty:
 * bare metal has no hypervisor.
 */
export function openLabels({ cloud }: Pick<ActivityDeps, 'cloud'>, { metadata }: NodeClaim): readonly string[] {
  return (cloud.openLabels ?? []).filter((key) => lookUp(metadata.labels ?? {}, key) === '');
}

/**
 * The NodeClaim with the values that the cloud reports for its instance; undefined if one is still missing, or the
 * NodeClaim is gone (registration/open-labels).
 */
export async function withOpenLabels(
  deps: ActivityDeps,
  ref: ClaimRef,
  claim: NodeClaim,
): Promise<NodeClaim | undefined> {
  const open = openLabels(deps, claim);
  if (open.length === 0) return claim;
  const instance = await deps.cloud.get(claim.status?.providerID ?? '');
  const found = open.flatMap((key) => {
    const value = lookUp(instance?.labels ?? {}, key);
    return value === undefined || value === '' ? [] : [[key, value] as const];
  });
  if (found.length < open.length) return undefined;
  return updateClaim(deps.kube, ref, () => ({ metadata: { labels: Object.fromEntries(found) } }));
}
