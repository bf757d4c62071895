import { z } from 'zod';
import type { Condition } from '../kubernetes.js';
import { conditions, integer, resourceList } from '../schema/fields.js';
import { withRules } from '../schema/rules.js';
import { defineResource, type Resource, type ResourceObject } from '../schema/resource.js';
import { overlayRequirements } from './requirements.js';

const ordinaryResources: readonly string[] = ['cpu', 'memory', 'ephemeral-storage', 'pods'];

/** The spec of a NodeOverlay (node-overlays/spec). */
const nodeOverlaySpec = withRules(
  z.object({
    requirements: overlayRequirements.describe('The instance types, offerings and pools to which the overlay applies.'),
    price: z
      .string()
      .regex(/^[0-9]+(\.[0-9]+)?$/)
      .optional()
      .describe('Price that replaces the original price, dollars per hour.'),
    priceAdjustment: z
      .string()
      .regex(/^([+-][0-9]*\.?[0-9]+|\+[0-9]*\.?[0-9]+%|-[0-9]{1,2}(\.[0-9]+)?%|-100%)$/)
      .optional()
      .describe('Change of the price: a signed amount such as -0.5, or a signed percentage such as +10%.'),
    capacity: withRules(resourceList, {
      message: 'cpu, memory, ephemeral-storage and pods cannot be overlaid',
      cel: `self.all(k, !(k in [${ordinaryResources.map((name) => `'${name}'`).join(', ')}]))`,
      holds: (capacity) => Object.keys(capacity).every((name) => !ordinaryResources.includes(name)),
      culprit: (capacity) => Object.keys(capacity).find((name) => ordinaryResources.includes(name)),
    })
      .optional()
      .describe('Extended resources of the nodes.'),
    weight: integer({ min: 1, max: 10000 }).optional().describe('Overlays with a higher weight take precedence.'),
  }),
  {
    message: "cannot set both 'price' and 'priceAdjustment'",
    cel: '!has(self.price) || !has(self.priceAdjustment)',
    holds: ({ price, priceAdjustment }) => price === undefined || priceAdjustment === undefined,
  },
);

const nodeOverlayStatus = z.object({ conditions: conditions.optional().describe('Conditions of the overlay.') });

type NodeOverlaySpec = z.output<typeof nodeOverlaySpec>;

interface NodeOverlayStatus {
  conditions?: Condition[] | undefined;
}

/** A NodeOverlay as stored by the API server. */
export type NodeOverlay = ResourceObject<NodeOverlaySpec, NodeOverlayStatus>;

/** NodeOverlay `karpenter.sh/v1alpha1`: parsing, validation and manifest (node-overlays/spec). */
export const nodeOverlays: Resource<NodeOverlay> = defineResource<
  typeof nodeOverlaySpec,
  typeof nodeOverlayStatus,
  NodeOverlay
>({
  group: 'karpenter.sh',
  version: 'v1alpha1',
  kind: 'NodeOverlay',
  plural: 'nodeoverlays',
  shortNames: ['overlays'],
  categories: ['karpenter'],
  description: 'NodeOverlay changes the price or the extended resources of instance types for scheduling.',
  spec: nodeOverlaySpec,
  status: nodeOverlayStatus,
  printerColumns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Weight', type: 'integer', jsonPath: '.spec.weight', priority: 1 },
  ],
});
