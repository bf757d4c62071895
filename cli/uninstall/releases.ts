import { annotations, finalizers, taints } from '../../api/labels.js';
import type { KubernetesObject, Node } from '../../api/kubernetes.js';

/*
 * What Stowage has left on objects of a cluster that it is removed from. What keeps nodes in use is taken off: taints of disruptions
 * that nobody goes on with, and finalizers that nobody would act on. An object that is being deleted keeps its finalizer: without it
 * the object would vanish, and its instance would run on with nothing that names it.
 */

/** A JSON merge patch for an object, or why nothing is done about it. */
export type Release = { readonly patch: object } | { readonly kept: string } | undefined;

const ownTaints: ReadonlySet<string> = new Set([taints.disrupted.key, taints.steer.key]);

/** A managed node without the taints of disruptions and without the finalizer. */
export function nodeRelease(node: Node): Release {
  const released = finalizerRelease(node, finalizers.termination);
  const before = node.spec?.taints ?? [];
  const left = before.filter(({ key }) => !ownTaints.has(key));
  if (released !== undefined && 'kept' in released) return released;
  if (left.length === before.length) return released;
  // Others put taints on, too.
  const metadata = { resourceVersion: node.metadata.resourceVersion };
  return { patch: { ...(released?.patch ?? { metadata }), spec: { taints: left } } };
}

const withoutOwner = { [annotations.disruptionOwner]: null, [annotations.disruptionOwnerRun]: null };

/** A NodeClaim without the finalizer and without the mark of who disrupts it. */
export function claimRelease(claim: KubernetesObject): Release {
  const released = finalizerRelease(claim, finalizers.termination);
  if (released !== undefined && 'kept' in released) return released;
  if (claim.metadata.annotations?.[annotations.disruptionOwner] === undefined) return released;
  const metadata = (released?.patch as { metadata?: object } | undefined)?.metadata;
  return { patch: { metadata: { ...metadata, annotations: withoutOwner } } };
}

/** An EC2NodeClass without the finalizer that ends its instance profile. */
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
      // Somebody may have added or removed one since it was read.
      metadata: {
        resourceVersion: metadata.resourceVersion,
        finalizers: present.filter((each) => each !== finalizer),
      },
    },
  };
}
