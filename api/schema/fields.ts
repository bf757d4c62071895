import { z } from 'zod';
import type { Condition, LabelSelector, ResourceList } from '../kubernetes.js';
import { annotate, withKeyword, withRules } from './rules.js';

/** A Go duration of whole hours, minutes and seconds: `90s`, `1h30m`. */
export const duration = z.string().regex(/^([0-9]+(s|m|h))+$/, 'a duration, such as 1h30m');

/** A `duration`, or `Never`. */
export const nillableDuration = z.string().regex(/^(([0-9]+(s|m|h))+|Never)$/, 'a duration, such as 720h, or Never');

/** An integer within bounds, with the integer width of Go clients. */
export function integer(bounds: { min?: number; max?: number; format?: 'int32' | 'int64' }): z.ZodNumber {
  let schema: z.ZodNumber = z.number().int();
  if (bounds.min !== undefined) schema = schema.min(bounds.min);
  if (bounds.max !== undefined) schema = schema.max(bounds.max);
  return annotate(schema, { format: bounds.format ?? 'int32' });
}

/** A Kubernetes quantity as text. */
export const quantityPattern = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/;

/** A Kubernetes quantity; an integer is converted to a string, as in Go clients. */
const quantity = annotate(z.union([z.number().int(), z.string().regex(quantityPattern)]).transform(String), {
  'x-kubernetes-int-or-string': true,
});

/** Amounts by resource name. */
export const resourceList = z.record(z.string(), quantity) satisfies z.ZodType<ResourceList>;

/** RFC 3339. */
export const dateTime = z.iso.datetime({ offset: true });

/** The optional prefix and the name of a label, annotation or taint key. */
export const qualifiedName =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

export const labelValuePattern = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

/** The value of a label: at most 63 characters. */
export const labelValue = z.string().max(63).regex(labelValuePattern);

/** A list whose order and duplicates are kept: server-side apply replaces it as a whole. */
export function atomicList<S extends z.ZodType>(schema: S): S {
  return annotate(schema, { 'x-kubernetes-list-type': 'atomic' });
}

const distinct = (values: readonly string[]): boolean => new Set(values).size === values.length;

/** A list whose items are unique scalars. */
export function setOf<Item extends z.ZodType<string>>(item: Item, maxItems: number): z.ZodArray<Item> {
  return withKeyword(
    z.array(item).max(maxItems),
    { 'x-kubernetes-list-type': 'set' },
    { message: 'each value once', holds: (items) => distinct(items as string[]) },
  );
}

/** A map with at most `maxProperties` entries. */
export function mapOf<Value extends z.ZodType>(value: Value, maxProperties: number): z.ZodRecord<z.ZodString, Value> {
  return withKeyword(
    z.record(z.string(), value),
    { maxProperties },
    { message: `at most ${maxProperties} entries`, holds: (map) => Object.keys(map as object).length <= maxProperties },
  );
}

/** A taint of a NodePool or NodeClaim. */
export const taint = z.object({
  key: z.string().min(1).regex(qualifiedName).describe('The taint key.'),
  value: z.string().regex(qualifiedName).optional().describe('The taint value.'),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).describe('Effect on pods that do not tolerate it.'),
  timeAdded: dateTime.optional().describe('When the taint was added.'),
});

const conditionType =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/;

const conditionFields = {
  type: z.string().max(316).regex(conditionType).describe('Type of the condition.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Status of the condition.'),
  observedGeneration: integer({ min: 0, format: 'int64' }).optional().describe('The generation for which it was set.'),
  lastTransitionTime: dateTime.describe('When the status last changed.'),
};

const keyedByType = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] };

function onePerType(item: z.ZodType<{ type: string }>): z.ZodType<Condition[]> {
  return withKeyword(z.array(item), keyedByType, {
    message: 'each condition type may occur only once',
    holds: (items) => distinct(items.map(({ type }) => type)),
  }) as unknown as z.ZodType<Condition[]>;
}

const strictCondition = z.object({
  ...conditionFields,
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('The cause as one word.'),
  message: z.string().max(32768).describe('The cause as text.'),
});

/** The conditions of a status, one of each type. */
export const conditions = onePerType(strictCondition);

/** Conditions as in older manifests: a plain list. */
export const plainConditions = z.array(strictCondition) as unknown as z.ZodType<Condition[]>;

/** NodeClaim conditions: reason and message may be missing, as in Karpenter. */
export const nodeClaimConditions = onePerType(
  z.object({
    ...conditionFields,
    reason: z
      .string()
      .max(1024)
      .regex(/^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$/)
      .optional()
      .describe('The cause as one word.'),
    message: z.string().max(32768).optional().describe('The cause as text.'),
  }),
);

/** A Kubernetes label selector; empty selects everything. */
export const labelSelector: z.ZodType<LabelSelector> = annotate(
  z.object({
    matchLabels: z.record(z.string(), labelValue).optional().describe('Labels that must have these values.'),
    matchExpressions: atomicList(
      z
        .array(
          withRules(
            z.object({
              key: z.string().max(316).regex(qualifiedName).describe('The label key.'),
              operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('Relation of key and values.'),
              values: atomicList(z.array(labelValue).max(100)).optional().describe('The values for In and NotIn.'),
            }),
            {
              message: 'In and NotIn need values, Exists and DoesNotExist take none',
              cel: "self.operator in ['In', 'NotIn'] == (has(self.values) && self.values.size() > 0)",
              holds: ({ operator, values }) =>
                (operator === 'In' || operator === 'NotIn') === (values !== undefined && values.length > 0),
              field: 'values',
            },
          ),
        )
        .max(100),
    )
      .optional()
      .describe('Expressions that must all hold.'),
  }),
  { 'x-kubernetes-map-type': 'atomic' },
);

const count = (text: string) => integer({ min: 0, format: 'int64' }).describe(text);

/** How many nodes of a NodePool or node class are as it says (node-pools/up-to-date). */
export const nodeUpdates = z
  .object({
    upToDate: count('Nodes as the object says now.'),
    updating: count('Older nodes that are being replaced, or are replaced in their turn.'),
    blocked: count('Older nodes that something keeps; condition NodesUpToDate says what.'),
  })
  .optional()
  .describe('How many nodes are up to date.');

/** The generation of the spec that a status is about. */
export const observedGeneration = integer({ min: 0, format: 'int64' })
  .optional()
  .describe('The generation of the spec that this status is about.');
