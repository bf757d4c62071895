import { z } from 'zod';
import { conditions, dateTime } from '../schema/fields.js';
import { defineResource, type Resource, type ResourceObject } from '../schema/resource.js';
import { withRules } from '../schema/rules.js';
import { disruptionReasons } from '../disruption-reasons.js';

const name = z.string().min(1).max(253);
const reason = z.enum(disruptionReasons);

const scope = withRules(
  z.object({
    kind: z.enum(['Cluster', 'NodePool', 'Node', 'Reason']).describe('What is paused.'),
    name: name.optional().describe('The NodePool, Node or reason; absent for the cluster.'),
    reason: reason.optional().describe('Of a NodePool: this reason alone; absent means all.'),
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
  scope: scope.describe('What no voluntary disruption is begun for.'),
  message: z.string().min(1).max(500).describe('Why, for whoever finds it paused.'),
  requestedBy: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('Who asked for it, where somebody else wrote the object; the audit log says who wrote it.'),
  until: dateTime.optional().describe('When it ends by itself; absent: when it is deleted.'),
});

/** Nothing is reported yet: an object is in effect as long as it is there and its time is not over. */
const disruptionPauseStatus = z.object({
  conditions: conditions.optional().describe('What holds of the pause.'),
});

type DisruptionPauseSpec = z.output<typeof disruptionPauseSpec>;

/** A DisruptionPause as the API server holds it. */
export type DisruptionPause = ResourceObject<DisruptionPauseSpec, z.output<typeof disruptionPauseStatus>>;

/** DisruptionPause `stowage.dev/v1alpha1`: while it is there, nothing in its scope is disrupted by choice. */
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
  description: 'DisruptionPause stops voluntary disruption in its scope until it is deleted or its time is over.',
  spec: disruptionPauseSpec,
  status: disruptionPauseStatus,
  printerColumns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.scope.kind' },
    { name: 'Paused', type: 'string', jsonPath: '.spec.scope.name' },
    { name: 'Reason', type: 'string', jsonPath: '.spec.scope.reason' },
    { name: 'Until', type: 'string', jsonPath: '.spec.until' },
    { name: 'By', type: 'string', jsonPath: '.spec.requestedBy' },
    { name: 'Message', type: 'string', jsonPath: '.spec.message' },
  ],
});
