import { capacityBuffers } from './autoscaling/capacity-buffer.js';
import { ec2NodeClasses } from './aws/ec2-node-class.js';
import { nodeClaims } from './karpenter/node-claim.js';
import { nodeOverlays } from './karpenter/node-overlay.js';
import { nodePools } from './karpenter/node-pool.js';
import type { KubernetesObject } from './kubernetes.js';
import { kwokNodeClasses } from './kwok/kwok-node-class.js';
import type { CustomResourceDefinition, Resource } from './schema/resource.js';
import { disruptionPauses } from './stowage/disruption-pause.js';
import { disruptionPolicies } from './stowage/disruption-policy.js';

export type { CustomResourceDefinition } from './schema/resource.js';

/** Every kind that Stowage defines, or whose CustomResourceDefinition it contains. */
export const customResources: readonly Resource<KubernetesObject>[] = [
  nodePools,
  nodeClaims,
  nodeOverlays,
  ec2NodeClasses,
  kwokNodeClasses,
  disruptionPolicies,
  disruptionPauses,
  capacityBuffers,
];

/** The kind for an `apiVersion` and `kind`; undefined for other kinds. */
export function customResourceOf(apiVersion: string, kind: string): Resource<KubernetesObject> | undefined {
  return customResources.find((each) => each.apiVersion === apiVersion && each.kind === kind);
}

/** The manifests of all kinds; deterministic. */
export function crdManifests(): CustomResourceDefinition[] {
  return customResources.map((each) => each.crd());
}
