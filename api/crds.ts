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

/** Every kind that Stowage defines or reads by a definition of its own. */
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

/** The kind of an object by its `apiVersion` and `kind`; undefined where it is none of ours. */
export function customResourceOf(apiVersion: string, kind: string): Resource<KubernetesObject> | undefined {
  return customResources.find((each) => each.apiVersion === apiVersion && each.kind === kind);
}

/** The manifests of all kinds, always the same for the same schemas. */
export function crdManifests(): CustomResourceDefinition[] {
  return customResources.map((each) => each.crd());
}
