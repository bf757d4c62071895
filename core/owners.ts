import type { ObjectMeta, OwnerReference } from '../api/kubernetes.js';

/**
 * The kinds of owners that decisions depend on, with their API group as in kubectl, since other groups have kinds with
 * the same names.
 */
export type OwnerKind =
  | 'DaemonSet.apps'
  | 'Deployment.apps'
  | 'ReplicaSet.apps'
  | 'StatefulSet.apps'
  | 'ReplicationController'
  | 'Node'
  | 'NodePool.karpenter.sh';

/** Empty for the core group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(apiVersion.indexOf('/'), 0));
}

/** The kind with its group, without the version: one group has several versions of the same objects. */
export function kindOf({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): string {
  const group = groupOf(apiVersion);
  return group === '' ? kind : `${kind}.${group}`;
}

/** The first owner of the kind. */
export function ownerOf({ metadata }: { readonly metadata: ObjectMeta }, kind: OwnerKind): OwnerReference | undefined {
  return metadata.ownerReferences?.find((owner) => kindOf(owner) === kind);
}

/** The owner that is the controller. */
export function controllerOf({ metadata }: { readonly metadata: ObjectMeta }): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}
