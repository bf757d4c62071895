import { z } from 'zod';
import type { Condition } from '../kubernetes.js';
import {
  atomicList,
  conditions,
  duration,
  integer,
  nillableDuration,
  nodeUpdates,
  resourceList,
  setOf,
  taint,
} from '../schema/fields.js';
import { annotate, withRules, withTransitions } from '../schema/rules.js';
import { defineResource, type Resource, type ResourceObject } from '../schema/resource.js';
import { poolNodeClassRef } from './node-class-ref.js';
import { nodePoolRequirements, templateLabels } from './requirements.js';
import { budgetReasons } from '../disruption-reasons.js';

/** Reasons of voluntary disruption in Karpenter, as named in budgets. */

const budget = withRules(
  z.object({
    reasons: setOf(z.enum(budgetReasons), 50)
      .optional()
      .describe('The reasons to which this budget applies; absent means all.'),
    nodes: z
      .string()
      .regex(/^((100|[0-9]{1,2})%|[0-9]+)$/, 'a number of nodes or a percentage, such as 10%')
      .default('10%')
      .describe(
        'How many nodes of the pool may be disrupted at the same time: a number, or a percentage that is rounded up.',
      ),
    schedule: z
      .string()
      .regex(
        /^\s*(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4})\s*$/,
        'five fields of cron, such as 0 9 * * mon-fri, or @daily',
      )
      .optional()
      .describe('Cron expression in UTC; at each match the budget applies for its duration.'),
    duration: z
      .string()
      .regex(/^(([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?$/, 'hours and minutes, such as 8h30m')
      .optional()
      .describe('How long the budget applies after each match of the schedule, in hours and minutes.'),
  }),
  {
    message: "'schedule' must be set with 'duration'",
    cel: 'has(self.schedule) == has(self.duration)',
    holds: ({ schedule, duration: length }) => (schedule === undefined) === (length === undefined),
  },
);

const disruption = z.object({
  consolidateAfter: nillableDuration
    .default('0s')
    .describe(
      'How long after the last pod was bound to the node or left it the node may be consolidated; Never disables consolidation.',
    ),
  consolidationPolicy: z
    .enum(['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'])
    .default('WhenEmptyOrUnderutilized')
    .describe('Which nodes may be consolidated.'),
  budgets: atomicList(z.array(budget).max(50))
    .prefault([{ nodes: '10%' }])
    .describe('Limits on how many nodes are disrupted at the same time; the most restrictive active one applies.'),
});

const template = z.object({
  metadata: z
    .object({
      labels: templateLabels.optional().describe('Labels of the NodeClaims and nodes.'),
      annotations: annotate(z.record(z.string(), z.string()), { 'x-kubernetes-map-type': 'granular' })
        .optional()
        .describe('Annotations of the NodeClaims and nodes.'),
    })
    .optional(),
  spec: z.object({
    taints: atomicList(z.array(taint)).optional().describe('Permanent taints of the nodes.'),
    startupTaints: atomicList(z.array(taint))
      .optional()
      .describe('Taints that the nodes start with and that another component removes; pods need not tolerate them.'),
    requirements: nodePoolRequirements.describe('Requirements on the instances.'),
    nodeClassRef: poolNodeClassRef.describe('The node class.'),
    expireAfter: nillableDuration.default('720h').describe('The age at which a node is replaced.'),
    terminationGracePeriod: duration
      .optional()
      .describe('How long a drain may take before pods are deleted even if protected; absent means no limit.'),
  }),
});

const limitsOnlyNodes = (limits: Readonly<Record<string, string>> | undefined): boolean =>
  Object.keys(limits ?? {}).every((key) => key === 'nodes');

/** The spec of a NodePool (node-pools/spec). */
const nodePoolSpec = withTransitions(
  withRules(
    z.object({
      template: template.describe('Template of the NodeClaims of this pool.'),
      disruption: disruption.prefault({}).describe('When nodes may be disrupted.'),
      limits: resourceList
        .optional()
        .describe('Limits of the total resources of the pool; `nodes` limits the number of nodes.'),
      weight: integer({ min: 1, max: 100 }).optional().describe('Pools with a higher weight are tried first.'),
      replicas: integer({ min: 0, format: 'int64' })
        .optional()
        .describe('Makes the pool static: it keeps this number of nodes regardless of pods.'),
    }),
    {
      message: "only 'limits.nodes' is supported on static NodePools",
      cel: "!has(self.replicas) || !has(self.limits) || self.limits.all(k, k == 'nodes')",
      holds: ({ replicas, limits }) => replicas === undefined || limitsOnlyNodes(limits),
      field: 'limits',
    },
    {
      message: "'weight' is not supported on static NodePools",
      cel: '!has(self.replicas) || !has(self.weight)',
      holds: ({ replicas, weight }) => replicas === undefined || weight === undefined,
      field: 'weight',
    },
  ),
  {
    message: 'a NodePool cannot change between static (replicas set) and dynamic (replicas unset)',
    cel: 'has(self.replicas) == has(oldSelf.replicas)',
    holds: (self, old) => (self.replicas === undefined) === (old.replicas === undefined),
    field: 'replicas',
  },
);

const nodePoolStatus = z.object({
  resources: resourceList.optional().describe('Total resources of the nodes of the pool.'),
  nodes: integer({ format: 'int64' }).default(0).describe('How many nodes the pool has.'),
  nodeClassObservedGeneration: integer({ format: 'int64' })
    .optional()
    .describe('Generation of the node class last seen.'),
  updates: nodeUpdates,
  conditions: conditions.optional().describe('Conditions of the pool.'),
});

type NodePoolSpec = z.output<typeof nodePoolSpec>;
export type NodePoolTemplate = NodePoolSpec['template'];
export type NodePoolDisruption = NodePoolSpec['disruption'];
export type Budget = NodePoolDisruption['budgets'][number];

interface NodePoolStatus {
  resources?: Record<string, string> | undefined;
  nodes?: number | undefined;
  nodeClassObservedGeneration?: number | undefined;
  updates?: z.output<typeof nodeUpdates>;
  conditions?: Condition[] | undefined;
}

/** A NodePool as stored by the API server, with defaults. */
export type NodePool = ResourceObject<NodePoolSpec, NodePoolStatus>;

/** NodePool `karpenter.sh/v1`: parsing, defaulting, validation and manifest (node-pools/spec). */
export const nodePools: Resource<NodePool> = defineResource<typeof nodePoolSpec, typeof nodePoolStatus, NodePool>({
  group: 'karpenter.sh',
  version: 'v1',
  kind: 'NodePool',
  plural: 'nodepools',
  categories: ['karpenter'],
  description: 'NodePool defines which nodes may be launched for unschedulable pods, and when they may be disrupted.',
  spec: nodePoolSpec,
  status: nodePoolStatus,
  scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.nodes' },
  printerColumns: [
    { name: 'NodeClass', type: 'string', jsonPath: '.spec.template.spec.nodeClassRef.name' },
    { name: 'Nodes', type: 'string', jsonPath: '.status.nodes' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Weight', type: 'integer', jsonPath: '.spec.weight', priority: 1 },
    { name: 'CPU', type: 'string', jsonPath: '.status.resources.cpu', priority: 1 },
    { name: 'Memory', type: 'string', jsonPath: '.status.resources.memory', priority: 1 },
  ],
});
