import { z } from 'zod';
import type { Condition } from '../kubernetes.js';
import { conditions, integer, resourceList } from '../schema/fields.js';
import { withRules } from '../schema/rules.js';
import { defineResource, type Resource, type ResourceObject } from '../schema/resource.js';

const localRef = z.object({ name: z.string().min(1).describe('Name in the same namespace.') });

/** The spec of a CapacityBuffer (capacity-buffers/spec). */
const capacityBufferSpec = withRules(
  z.object({
    provisioningStrategy: z
      .string()
      .default('buffer.x-k8s.io/active-capacity')
      .describe('How the capacity is kept; only buffer.x-k8s.io/active-capacity is supported.'),
    podTemplateRef: localRef.optional().describe('The PodTemplate of one chunk of the buffer.'),
    scalableRef: z
      .object({
        apiGroup: z.string().optional().describe('API group of the workload; empty for the core group.'),
        kind: z.string().min(1).describe('Kind of the workload.'),
        name: z.string().min(1).describe('Name of the workload.'),
      })
      .optional()
      .describe('The workload whose pod template is that of one chunk of the buffer.'),
    replicas: integer({ min: 0 }).optional().describe('How many chunks to keep.'),
    percentage: integer({ min: 0 }).optional().describe('How many chunks to keep, as a percentage of the workload.'),
    limits: resourceList.optional().describe('Limit of the total requests of all chunks.'),
  }),
  {
    message: 'podTemplateRef needs replicas or limits',
    cel: '!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)',
    holds: ({ podTemplateRef, replicas, limits }) =>
      podTemplateRef === undefined || replicas !== undefined || limits !== undefined,
  },
  {
    message: 'podTemplateRef and scalableRef exclude each other',
    cel: '!(has(self.podTemplateRef) && has(self.scalableRef))',
    holds: ({ podTemplateRef, scalableRef }) => podTemplateRef === undefined || scalableRef === undefined,
  },
);

const capacityBufferStatus = z.object({
  podTemplateRef: localRef.optional().describe('The PodTemplate in use.'),
  replicas: integer({}).optional().describe('How many chunks there are.'),
  podTemplateGeneration: integer({ format: 'int64' }).optional().describe('Generation of the PodTemplate last seen.'),
  conditions: conditions.optional().describe('Conditions of the buffer.'),
  provisioningStrategy: z.string().optional().describe('The strategy in use.'),
});

type CapacityBufferSpec = z.output<typeof capacityBufferSpec>;

interface CapacityBufferStatus {
  podTemplateRef?: { name: string } | undefined;
  replicas?: number | undefined;
  podTemplateGeneration?: number | undefined;
  conditions?: Condition[] | undefined;
  provisioningStrategy?: string | undefined;
}

/** A CapacityBuffer as stored by the API server. */
export type CapacityBuffer = ResourceObject<CapacityBufferSpec, CapacityBufferStatus>;

/** CapacityBuffer `autoscaling.x-k8s.io/v1beta1`, an API of SIG Autoscaling (capacity-buffers/spec). */
export const capacityBuffers: Resource<CapacityBuffer> = defineResource<
  typeof capacityBufferSpec,
  typeof capacityBufferStatus,
  CapacityBuffer
>({
  group: 'autoscaling.x-k8s.io',
  version: 'v1beta1',
  kind: 'CapacityBuffer',
  plural: 'capacitybuffers',
  scope: 'Namespaced',
  shortNames: ['cb'],
  categories: ['autoscaling'],
  description: 'CapacityBuffer reserves capacity for pods that do not exist yet.',
  spec: capacityBufferSpec,
  status: capacityBufferStatus,
  printerColumns: [
    { name: 'Strategy', type: 'string', jsonPath: '.spec.provisioningStrategy' },
    { name: 'PodTemplate', type: 'string', jsonPath: '.status.podTemplateRef.name' },
    { name: 'Replicas', type: 'integer', jsonPath: '.status.replicas' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="ReadyForProvisioning")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
});
