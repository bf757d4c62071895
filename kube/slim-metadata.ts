import type { ObjectMeta } from '../api/kubernetes.js';
import type { Interner } from './intern.js';
import type { Kind } from './port.js';

/** A new object with those of `fields` that are set. */
export function copyFields<T extends object, F extends keyof T>(from: T, fields: readonly F[]): Pick<T, F> {
  const copy: Partial<Pick<T, F>> = {};
  for (const field of fields) if (from[field] !== undefined) copy[field] = from[field];
  return copy as Pick<T, F>;
}

/** Annotations of other API groups that Stowage reads. */
const readAnnotations = new Set([
  'controller.kubernetes.io/pod-deletion-cost',
  'kubernetes.io/config.mirror',
  'kubernetes.io/config.source',
  'pv.kubernetes.io/bind-completed',
  'volume.kubernetes.io/selected-node',
  'volume.beta.kubernetes.io/storage-class',
  'storageclass.kubernetes.io/is-default-class',
]);
const ownGroup = /(^|\.)(karpenter\.sh|karpenter\.k8s\.aws|karpenter\.kwok\.sh|stowage\.dev)\//;

/** Nodes and Stowage's kinds keep every annotation that users set: registration copies them. */
const keepsAnnotations: ReadonlySet<Kind> = new Set<Kind>([
  'Node',
  'NodePool',
  'NodeClaim',
  'NodeOverlay',
  'EC2NodeClass',
  'KWOKNodeClass',
  'DisruptionPolicy',
  'DisruptionPause',
  'CapacityBuffer',
]);
const neverKept = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'csi.volume.kubernetes.io/nodeid',
  'node.alpha.kubernetes.io/ttl',
]);

/** Metadata without managed fields and unused annotations; equal label maps are one object. */
export function slimMetadata(kind: Kind, metadata: ObjectMeta, interner: Interner): ObjectMeta {
  const slim: ObjectMeta = copyFields(metadata, [
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'finalizers',
  ]);
  // For pods, kept only if they were changed after creation.
  if ((metadata.generation ?? 0) > (kind === 'Pod' ? 1 : 0)) slim.generation = metadata.generation;
  if (slim.namespace !== undefined) slim.namespace = interner.text(slim.namespace);
  if (slim.creationTimestamp !== undefined) slim.creationTimestamp = interner.text(slim.creationTimestamp);
  if (metadata.labels !== undefined) slim.labels = interner.share(metadata.labels);
  if (metadata.ownerReferences !== undefined) slim.ownerReferences = interner.share(metadata.ownerReferences);
  if (slim.finalizers !== undefined) slim.finalizers = interner.share(slim.finalizers);
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => isRead(kind, key));
  if (annotations.length > 0) slim.annotations = interner.share(Object.fromEntries(annotations));
  return slim;
}

function isRead(kind: Kind, annotation: string): boolean {
  if (keepsAnnotations.has(kind)) return !neverKept.has(annotation);
  return ownGroup.test(annotation) || readAnnotations.has(annotation);
}
