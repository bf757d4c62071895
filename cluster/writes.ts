import type { NodeClaim, NodeClaimStatus } from '../api/karpenter/node-claim.js';
import type { Node, ObjectMeta } from '../api/kubernetes.js';
import { finalizers } from '../api/labels.js';
import { DomainError } from '../core/failures.js';
import type { Kinds, KubeClient } from '../kube/port.js';
import type { ClaimRef } from '../workflows/messages.js';

/** Changes of a claim; a `null` label or annotation is removed. */
export interface ClaimChange {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string | null>>;
    readonly annotations?: Readonly<Record<string, string | null>>;
    readonly finalizers?: readonly string[];
  };
  readonly status?: Partial<NodeClaimStatus>;
}

/** Number of attempts at conflicts with other writers, before the retry policy of the activity applies. */
const attempts = 6;

/** The live claim; undefined if it is gone or another one has its name. */
export async function getClaim(kube: KubeClient, { name, uid }: ClaimRef): Promise<NodeClaim | undefined> {
  const claim = await kube.get('NodeClaim', { name });
  return claim?.metadata.uid === uid ? claim : undefined;
}

/**
 * Applies the result of `decide` to the live claim, metadata first, then status, each with the resourceVersion that was
 * read; after a conflict reads and decides again. Returns the written claim; undefined if it is gone. `seen`: the
 * cached claim, which saves the first read.
 */
export async function updateClaim(
  kube: KubeClient,
  ref: ClaimRef,
  decide: (claim: NodeClaim) => ClaimChange | undefined,
  seen?: NodeClaim,
): Promise<NodeClaim | undefined> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const claim = attempt === 0 && seen !== undefined ? seen : await getClaim(kube, ref);
    if (claim === undefined) return undefined;
    const change = decide(claim);
    if (change === undefined) return claim;
    const written = await write(kube, claim, change);
    if (written !== 'conflict') return written === 'gone' ? undefined : written;
  }
  throw new DomainError('Conflict', `NodeClaim ${ref.name} changes faster than it can be written`);
}

/**
 * Deletes a claim that may have an instance. If its finalizer was removed, adds it first: otherwise the claim would
 * vanish immediately and leave its Node and instance.
 */
export async function deleteLaunchedClaim(kube: KubeClient, ref: ClaimRef): Promise<'deleted' | 'gone'> {
  await updateClaim(kube, ref, ({ metadata }) =>
    metadata.deletionTimestamp !== undefined || metadata.finalizers?.includes(finalizers.termination) === true
      ? undefined
      : { metadata: { finalizers: [...(metadata.finalizers ?? []), finalizers.termination] } },
  );
  return kube.delete('NodeClaim', { name: ref.name }, { uid: ref.uid });
}

async function write(
  kube: KubeClient,
  claim: NodeClaim,
  change: ClaimChange,
): Promise<NodeClaim | 'conflict' | 'gone'> {
  let current = claim;
  for (const [part, subresource] of [
    [change.metadata === undefined ? undefined : { metadata: change.metadata }, undefined],
    [change.status === undefined ? undefined : { status: change.status }, 'status'],
  ] as const) {
    if (part === undefined) continue;
    const { name = '', resourceVersion } = current.metadata;
    const guarded = { ...part, metadata: { ...('metadata' in part ? part.metadata : {}), resourceVersion } };
    const answer = await kube.patch(
      'NodeClaim',
      { name },
      guarded,
      subresource === undefined ? undefined : { subresource },
    );
    if (answer.outcome !== 'patched') return answer.outcome;
    current = answer.object;
  }
  return current;
}

/** Like `updateClaim`, for metadata and spec of a Node. `seen`: the cached Node, which saves the first read. */
export async function updateNode(
  kube: KubeClient,
  name: string,
  decide: (node: Node) => { metadata?: Partial<Record<keyof ObjectMeta, unknown>>; spec?: Node['spec'] } | undefined,
  seen?: Node,
): Promise<Node | undefined> {
  return updateObject(kube, 'Node', name, decide, seen === undefined ? undefined : { seen });
}

/** Reads, decides, and writes with the resourceVersion that was read, for any cluster-scoped kind. */
export async function updateObject<
  K extends
    'Node' | 'NodePool' | 'NodeOverlay' | 'EC2NodeClass' | 'KWOKNodeClass' | 'DisruptionPolicy' | 'DisruptionPause',
>(
  kube: KubeClient,
  kind: K,
  name: string,
  decide: (object: Kinds[K]) => { metadata?: object; spec?: unknown; status?: unknown } | undefined,
  { subresource, seen }: { subresource?: 'status'; seen?: Kinds[K] } = {},
): Promise<Kinds[K] | undefined> {
  const options = subresource === undefined ? undefined : { subresource };
  for (let attempt = 0; attempt < attempts; attempt++) {
    const object = attempt === 0 && seen !== undefined ? seen : await kube.get(kind, { name });
    if (object === undefined) return undefined;
    const change = decide(object);
    if (change === undefined) return object;
    const { uid, resourceVersion } = object.metadata;
    const guarded = { ...change, metadata: { ...change.metadata, uid, resourceVersion } };
    const answer = await kube.patch(kind, { name }, guarded, options);
    if (answer.outcome === 'patched') return answer.object;
    if (answer.outcome === 'gone') return undefined;
  }
  throw new DomainError('Conflict', `${kind} ${name} changes faster than it can be written`);
}
