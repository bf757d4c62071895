import { z } from 'zod';
import { conditions, dateTime, observedGeneration } from '../schema/fields.js';
import { defineResource, type Resource, type ResourceObject } from '../schema/resource.js';
import { withRules } from '../schema/rules.js';
import { disruptionReasons } from '../disruption-reasons.js';

const name = z.string().min(1).max(253);
const reason = z.enum(disruptionReasons);

const scope = withRules(
  z.object({
    kind: z.enum(['Cluster', 'NodePool', 'Node', 'Reason']).describe('What is paused.'),
    name: name.optional().describe('The NodePool, Node or reason; absent for the cluster.'),
    reason: reason.optional().describe('For a NodePool: the only reason that is paused; absent means all.'),
  }),
  {
    message: 'name is required unless kind is Cluster',
    cel: "self.kind == 'Cluster' || has(self.name)",
    holds: ({ kind, name: own }) => kind === 'Cluster' || own !== undefined,
    field: 'name',
  },
  {
    message: `name must be one of ${disruptionReasons.join(', ')} where kind is Reason`,
    cel: `self.kind != 'Reason' || !has(self.name) || self.name in [${disruptionReasons.map((each) => `'${each}'`).join(', ')}]`,
    holds: ({ kind, name: own }) =>
      kind !== 'Reason' || own === undefined || (disruptionReasons as readonly string[]).includes(own),
    field: 'name',
  },
);

const disruptionPauseSpec = z.object({
  scope: scope.describe('The scope in which no voluntary disruption begins.'),
  message: z.string().min(1).max(500).describe('Why disruption is paused, for people.'),
  requestedBy: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('Who requested it, if not the author of the object; the audit log names the author.'),
  until: dateTime.optional().describe('When it expires; absent: only by deletion.'),
});

/** For people and tools: the pause is in effect as long as the object exists and `until` has not passed. */
const disruptionPauseStatus = z.object({
  observedGeneration,
  conditions: conditions.optional().describe('Conditions of the pause.'),
});

type DisruptionPauseSpec = z.output<typeof disruptionPauseSpec>;

/** A DisruptionPause as stored by the API server. */
export type DisruptionPause = ResourceObject<DisruptionPauseSpec, z.output<typeof disruptionPauseStatus>>;

/** DisruptionPause `stowage.dev/v1alpha1`: while it exists, nothing in its scope is disrupted voluntarily. */
export const disruptionPauses: Resource<DisruptionPause> = defineResource<
  typeof disruptionPauseSpec,
  typeof disruptionPauseStatus,
  DisruptionPause
>({
  group: 'stowage.dev',
  version: 'v1alpha1',
  kind: 'DisruptionPause',
  plural: 'disruptionpauses',
  shortNames: ['dpause'],
  categories: ['karpenter', 'stowage'],
  description: 'DisruptionPause stops voluntary disruption in its scope until it is deleted or expires.',
  spec: disruptionPauseSpec,
  status: disruptionPauseStatus,
  printerColumns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.scope.kind' },
    { name: 'Paused', type: 'string', jsonPath: '.spec.scope.name' },
    { name: 'Reason', type: 'string', jsonPath: '.spec.scope.reason' },
    { name: 'Until', type: 'string', jsonPath: '.spec.until' },
    { name: 'State', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: 'By', type: 'string', jsonPath: '.spec.requestedBy' },
    { name: 'Message', type: 'string', jsonPath: '.spec.message' },
  ],
});
