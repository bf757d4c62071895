import type { ObjectMeta, Pod, PodVolume } from '../api/kubernetes.js';

/** The longest name of an object in Kubernetes. */
export const longestName = 253;

/** The instance's own id: the last part of a provider id such as `aws:///us-west-2a/i-0abc`. */
export const instanceOfProviderId = (providerId: string): string => providerId.slice(providerId.lastIndexOf('/') + 1);

/** Name of the PersistentVolumeClaim of a pod's volume; undefined without one. Kubernetes names that of an ephemeral volume after both. */
export function volumeClaimName(
  { metadata }: Pod,
  { name, persistentVolumeClaim, ephemeral }: PodVolume,
): string | undefined {
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName;
  return ephemeral === undefined ? undefined : `${metadata.name ?? ''}-${name}`;
}

/** Whether the API server was asked to delete the object, which is there until its finalizers are gone. */
export const isDeleting = ({ metadata }: { readonly metadata: ObjectMeta }): boolean =>
  metadata.deletionTimestamp !== undefined;
