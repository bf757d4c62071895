import type { Pod, PodVolume } from '../api/kubernetes.js';

/** Name of the PersistentVolumeClaim of a pod's volume; undefined without one. Kubernetes names that of an ephemeral volume after both. */
export function volumeClaimName(
  { metadata }: Pod,
  { name, persistentVolumeClaim, ephemeral }: PodVolume,
): string | undefined {
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName;
  return ephemeral === undefined ? undefined : `${metadata.name ?? ''}-${name}`;
}
