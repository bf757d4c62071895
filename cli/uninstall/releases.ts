import { annotations, finalizers, taints } from '../../api/labels.js';
import type { KubernetesObject, Node } from '../../api/kubernetes.js';

/**
 * Which of Stowage's marks to remove from objects of a cluster. Those that prevent the use of nodes are removed: taints
 * of abandoned disruptions, and finalizers without a controller. A deleting object keeps its finalizer: otherwise it
 * would vanish, and its instance would keep running unnoticed.
 */

/** A JSON merge patch for an object, or why it is left unchanged. */
export type Release = { readonly patch: object } | { readonly kept: string } | undefined;

const ownTaints: ReadonlySet<string> = new Set([taints.disrupted.key, taints.steer.key]);

/** Removes the taints of disruptions and the finalizer from a managed node. */
export function nodeRelease(node: Node): Release {
  const released = finalizerRelease(node, finalizers.termination);
  const before = node.spec?.taints ?? [];
  const left = before.filter(({ key }) => !ownTaints.has(key));
  if (released !== undefined && 'kept' in released) return released;
  if (left.length === before.length) return released;
  // Other components add taints too.
  const metadata = { resourceVersion: node.metadata.resourceVersion };
  return { patch: { ...(released?.patch ?? { metadata }), spec: { taints: left } } };
}

const withoutOwner = { [annotations.disruptionOwner]: null, [annotations.disruptionOwnerRun]: null };

/** Removes the finalizer and the disruption owner from a NodeClaim. */
export function claimRelease(claim: KubernetesObject): Release {
  const released = finalizerRelease(claim, finalizers.termination);
  if (released !== undefined && 'kept' in released) return released;
  if (claim.metadata.annotations?.[annotations.disruptionOwner] === undefined) return released;
  const metadata = (released?.patch as { metadata?: object } | undefined)?.metadata;
  return { patch: { metadata: { ...metadata, annotations: withoutOwner } } };
}

/** Removes the finalizer for the instance profile from an EC2NodeClass. */
export function nodeClassRelease(nodeClass: KubernetesObject): Release {
  return finalizerRelease(nodeClass, finalizers.ec2NodeClass);
}

function finalizerRelease({ metadata }: KubernetesObject, finalizer: string): Release {
  const present = metadata.finalizers ?? [];
  if (!present.includes(finalizer)) return undefined;
  if (metadata.deletionTimestamp !== undefined) {
    return { kept: `is being deleted and keeps the finalizer ${finalizer}: what it stands for still runs` };
  }
  return {
    patch: {
      // A finalizer may have been added or removed since it was read.
      metadata: {
        resourceVersion: metadata.resourceVersion,
        finalizers: present.filter((each) => each !== finalizer),
      },
    },
  };
}
