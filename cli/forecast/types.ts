import { z } from 'zod';
import type { KubernetesObject } from '../../api/kubernetes.js';
import type { NodeClass } from '../../cloud/port.js';
import type { PackingInput } from '../../packing/types.js';

/** What a forecast reads of a cluster. */
export interface ForecastSnapshot {
  readonly input: PackingInput;
  /** Empty: the snapshot does not tell which node classes there are. */
  readonly nodeClasses: readonly NodeClass[];
  /** Whether spot nodes may be replaced by cheaper spot nodes. */
  readonly spotToSpot: boolean;
}

/** An object that would be applied, with the list of the snapshot that it belongs to. */
export interface AppliedObject {
  readonly list: string;
  readonly object: KubernetesObject;
  /** Its file and line, for messages. */
  readonly at: string;
}

const dollars = z.number().describe('dollars per hour');
const names = z.array(z.string());

const refused = z.object({
  at: z.string().describe('file:line'),
  object: z.string().describe('kind and name'),
  field: z.string().describe('the field, empty where the whole object is refused'),
  why: z.string(),
});

const skipped = z.object({ at: z.string(), object: z.string(), why: z.string() });

const changedObject = z.object({
  change: z.enum(['added', 'changed', 'removed']),
  object: z.string(),
  fields: z.array(z.object({ field: z.string(), from: z.string(), to: z.string() })),
});

const launch = z.object({
  pool: z.string(),
  instanceType: z.string(),
  zone: z.string(),
  capacityType: z.string(),
  nodes: z.number(),
  pricePerHour: dollars.describe('dollars per hour of all of them'),
});

const group = z.object({ pool: z.string(), reason: z.string(), nodes: names });

const disruption = z.object({
  pool: z.string(),
  reason: z.enum(['Drifted', 'Empty', 'Underutilized', 'Deleted']),
  without: z.number().describe('nodes that go if nothing is applied'),
  with: z.number(),
  from: z.string().optional().describe('RFC 3339: when budgets and windows first allow it; absent: now'),
  fromWithout: z.string().optional().describe('the same if nothing is applied'),
});

const turn = z.object({
  pool: z.string(),
  wave: z.number().optional().describe('of a rollout in waves'),
  from: z.string().describe('RFC 3339'),
  until: z.string().describe('RFC 3339: when the last of them is replaced, each taken to need ten minutes'),
  nodes: names,
});

const pool = z.object({
  pool: z.string(),
  nodesWithout: z.number(),
  nodesWith: z.number(),
  pricePerHourWithout: dollars,
  pricePerHourWith: dollars,
});

const podWithoutPlace = z.object({
  pod: z.string(),
  node: z.string().describe('where it runs now; empty while it is pending'),
  why: z.string(),
});

/** `stowage plan --with FILE -o json`. */
export const forecastDocument = z.object({
  version: z.literal(1),
  outcome: z.enum(['unchanged', 'changed', 'refused']).describe('exit status 0, 3 and 1'),
  summary: z.string(),
  objects: z.array(changedObject),
  refused: z.array(refused),
  skipped: z.array(skipped).describe('objects of kinds that nothing here depends on'),
  pricePerHour: z.object({
    now: dollars.describe('of the nodes as they are'),
    without: dollars.describe('when pending pods have nodes, drift is replaced and nothing is left to save'),
    with: dollars.describe('the same after the change'),
  }),
  pools: z.array(pool),
  launches: z.array(launch).describe('nodes launched with the change that are not launched without it'),
  drifted: z.array(group).describe('nodes that drift by the change'),
  noLongerDrifted: z.array(group),
  disruptions: z.array(disruption),
  turns: z.array(turn).describe('when budgets, windows and waves let drifted nodes go'),
  turnsWithout: z.array(turn).describe('the same if nothing is applied'),
  stays: z.array(z.object({ node: z.string(), pool: z.string(), why: z.string() })).describe('drifted nodes that stay'),
  withoutPlace: z.array(podWithoutPlace).describe('pods that have a place without the change and none with it'),
  placed: names.describe('pods that have a place with the change and none without it'),
  notes: names,
});

/**
 * Its JSON schema, for docs/forecast.schema.json.
 * @public
 */
export const forecastSchema = (): object => z.toJSONSchema(forecastDocument);

export type Forecast = z.infer<typeof forecastDocument>;
export type DriftTurn = z.infer<typeof turn>;
export type RefusedObject = z.infer<typeof refused>;
export type Skipped = z.infer<typeof skipped>;
export type ChangedObject = z.infer<typeof changedObject>;
