import type { Kind } from './port.js';

/** Where the API server serves a kind. */
interface ApiResource {
  readonly apiVersion: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Whether the kind has a status subresource: a create or a plain patch leaves its status unchanged. */
  readonly status: boolean;
}

const clusterScoped = (apiVersion: string, plural: string, status = false): ApiResource => ({
  apiVersion,
  plural,
  namespaced: false,
  status,
});
const namespaced = (apiVersion: string, plural: string, status = false): ApiResource => ({
  apiVersion,
  plural,
  namespaced: true,
  status,
});

/** Every kind of the port with its group, version and scope. */
export const resources: Readonly<Record<Kind, ApiResource>> = {
  Pod: namespaced('v1', 'pods', true),
  Node: clusterScoped('v1', 'nodes', true),
  Namespace: clusterScoped('v1', 'namespaces', true),
  DaemonSet: namespaced('apps/v1', 'daemonsets', true),
  Deployment: namespaced('apps/v1', 'deployments', true),
  ReplicaSet: namespaced('apps/v1', 'replicasets', true),
  StatefulSet: namespaced('apps/v1', 'statefulsets', true),
  ReplicationController: namespaced('v1', 'replicationcontrollers', true),
  PodTemplate: namespaced('v1', 'podtemplates'),
  Service: namespaced('v1', 'services', true),
  PodDisruptionBudget: namespaced('policy/v1', 'poddisruptionbudgets', true),
  PersistentVolumeClaim: namespaced('v1', 'persistentvolumeclaims', true),
  PersistentVolume: clusterScoped('v1', 'persistentvolumes', true),
  StorageClass: clusterScoped('storage.k8s.io/v1', 'storageclasses'),
  CSINode: clusterScoped('storage.k8s.io/v1', 'csinodes'),
  VolumeAttachment: clusterScoped('storage.k8s.io/v1', 'volumeattachments', true),
  Lease: namespaced('coordination.k8s.io/v1', 'leases'),
  NodePool: clusterScoped('karpenter.sh/v1', 'nodepools', true),
  NodeClaim: clusterScoped('karpenter.sh/v1', 'nodeclaims', true),
  NodeOverlay: clusterScoped('karpenter.sh/v1alpha1', 'nodeoverlays', true),
  EC2NodeClass: clusterScoped('karpenter.k8s.aws/v1', 'ec2nodeclasses', true),
  KWOKNodeClass: clusterScoped('karpenter.kwok.sh/v1alpha1', 'kwoknodeclasses', true),
  DisruptionPolicy: clusterScoped('stowage.dev/v1alpha1', 'disruptionpolicies', true),
  DisruptionPause: clusterScoped('stowage.dev/v1alpha1', 'disruptionpauses', true),
  CapacityBuffer: namespaced('autoscaling.x-k8s.io/v1beta1', 'capacitybuffers', true),
  Event: namespaced('v1', 'events'),
  CustomResourceDefinition: clusterScoped('apiextensions.k8s.io/v1', 'customresourcedefinitions', true),
  SelfSubjectAccessReview: clusterScoped('authorization.k8s.io/v1', 'selfsubjectaccessreviews'),
  SelfSubjectReview: clusterScoped('authentication.k8s.io/v1', 'selfsubjectreviews'),
  SubjectAccessReview: clusterScoped('authorization.k8s.io/v1', 'subjectaccessreviews'),
  TokenReview: clusterScoped('authentication.k8s.io/v1', 'tokenreviews'),
};

/** The key of an object within its kind: `namespace/name`, or the name. */
export function objectKey(ref: { readonly name?: string; readonly namespace?: string }): string {
  const name = ref.name ?? '';
  return ref.namespace === undefined || ref.namespace === '' ? name : `${ref.namespace}/${name}`;
}

/**
 * Compares resource versions. Kubernetes defines them as integers of any length that grow with every write to a kind,
 * so a longer one is newer.
 */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
