import type { ObjectMeta, Pod, PodVolume } from '../api/kubernetes.js';

/** Maximum length of an object name in Kubernetes. */
export const longestName = 253;

/** The instance id: the last part of a provider id such as `aws:///us-west-2a/i-0abc`. */
export const instanceOfProviderId = (providerId: string): string => providerId.slice(providerId.lastIndexOf('/') + 1);

/**
 * Name of the PersistentVolumeClaim of a pod's volume; undefined without one. For an ephemeral volume Kubernetes
 * derives it from the names of pod and volume.
 */
export function volumeClaimName(
  { metadata }: Pod,
  { name, persistentVolumeClaim, ephemeral }: PodVolume,
): string | undefined {
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName;
  return ephemeral === undefined ? undefined : `${metadata.name ?? ''}-${name}`;
}

/** Any Kubernetes object. */
interface WithMetadata {
  readonly metadata: ObjectMeta;
}

export const nameOf = ({ metadata }: WithMetadata): string => metadata.name ?? '';

export const namespaceOf = ({ metadata }: WithMetadata): string => metadata.namespace ?? 'default';

/** `namespace/name`. */
export const fullName = (object: WithMetadata): string => `${namespaceOf(object)}/${nameOf(object)}`;

/** Whether the object has a deletion timestamp: it exists until its finalizers are removed. */
export const isDeleting = ({ metadata }: WithMetadata): boolean => metadata.deletionTimestamp !== undefined;
