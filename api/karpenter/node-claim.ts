import { z } from 'zod';
import type { Condition } from '../kubernetes.js';
import {
  atomicList,
  dateTime,
  duration,
  nodeClaimConditions,
  nillableDuration,
  resourceList,
  taint,
} from '../schema/fields.js';
import { withTransitions } from '../schema/rules.js';
import { defineResource, type Resource, type ResourceObject } from '../schema/resource.js';
import { nodeClassRef } from './node-class-ref.js';
import { nodeClaimRequirements } from './requirements.js';
import { lookUp } from '../../core/own.js';

/** The spec of a NodeClaim, which is immutable (node-claims/immutable). */
const nodeClaimSpec = withTransitions(
  z.object({
    taints: atomicList(z.array(taint)).optional().describe('Permanent taints of the node.'),
    startupTaints: atomicList(z.array(taint))
      .optional()
      .describe('Taints that another component removes from the node.'),
    requirements: nodeClaimRequirements.describe('Requirements on the instance.'),
    resources: z
      .object({ requests: resourceList.optional().describe('Amounts by resource name.') })
      .optional()
      .describe('Total requests of the pods for which the claim was created, including DaemonSets.'),
    nodeClassRef: nodeClassRef.describe('The node class.'),
    terminationGracePeriod: duration.optional().describe('How long a drain may take before pods are deleted.'),
    expireAfter: nillableDuration.default('720h').describe('The age at which the node is replaced.'),
  }),
  { message: 'spec is immutable', cel: 'self == oldSelf', holds: sameValue },
);

const nodeClaimStatus = z.object({
  nodeName: z.string().optional().describe('The node.'),
  providerID: z.string().optional().describe('The instance, as the cloud provider names it.'),
  imageID: z.string().optional().describe('The machine image.'),
  capacity: resourceList.optional().describe('Capacity of the node.'),
  allocatable: resourceList.optional().describe('Allocatable resources of the node.'),
  lastPodEventTime: dateTime.optional().describe('When a pod was last bound to the node or left it.'),
  conditions: nodeClaimConditions.optional().describe('Conditions of the claim.'),
});

type NodeClaimSpec = z.output<typeof nodeClaimSpec>;

export interface NodeClaimStatus {
  nodeName?: string | undefined;
  providerID?: string | undefined;
  imageID?: string | undefined;
  capacity?: Record<string, string> | undefined;
  allocatable?: Record<string, string> | undefined;
  lastPodEventTime?: string | undefined;
  conditions?: Condition[] | undefined;
}

/** A NodeClaim as stored by the API server, with defaults. */
export type NodeClaim = ResourceObject<NodeClaimSpec, NodeClaimStatus>;

/** NodeClaim `karpenter.sh/v1`: parsing, defaulting, validation and manifest (node-claims/ready). */
export const nodeClaims: Resource<NodeClaim> = defineResource<typeof nodeClaimSpec, typeof nodeClaimStatus, NodeClaim>({
  group: 'karpenter.sh',
  version: 'v1',
  kind: 'NodeClaim',
  plural: 'nodeclaims',
  categories: ['karpenter'],
  description: 'NodeClaim represents one node from its request to its termination.',
  spec: nodeClaimSpec,
  status: nodeClaimStatus,
  printerColumns: [
    { name: 'Type', type: 'string', jsonPath: '.metadata.labels.node\\.kubernetes\\.io/instance-type' },
    { name: 'Capacity', type: 'string', jsonPath: '.metadata.labels.karpenter\\.sh/capacity-type' },
    { name: 'Zone', type: 'string', jsonPath: '.metadata.labels.topology\\.kubernetes\\.io/zone' },
    { name: 'Node', type: 'string', jsonPath: '.status.nodeName' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'ImageID', type: 'string', jsonPath: '.status.imageID', priority: 1 },
    { name: 'ID', type: 'string', jsonPath: '.status.providerID', priority: 1 },
    { name: 'NodePool', type: 'string', jsonPath: '.metadata.labels.karpenter\\.sh/nodepool', priority: 1 },
    { name: 'NodeClass', type: 'string', jsonPath: '.spec.nodeClassRef.name', priority: 1 },
    { name: 'Drifted', type: 'string', jsonPath: '.status.conditions[?(@.type=="Drifted")].status', priority: 1 },
  ],
});

/** Whether two JSON values are equal; field order does not matter, and an absent field equals undefined. */
function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, at) => sameValue(item, b[at]))
    );
  }
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => sameValue(lookUp(left, name), lookUp(right, name)));
}
