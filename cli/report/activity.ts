import { z } from 'zod';

const dollars = z.number().describe('dollars per hour');
const time = z.string().describe('ISO 8601');

/** One closed workflow. */
const doneRow = z.object({
  workflowId: z.string(),
  kind: z.string(),
  reason: z.string(),
  nodePool: z.string(),
  nodeClaim: z.string(),
  outcome: z.string().describe('the phase in which it ended, or how it failed'),
  savedPerHour: dollars,
  startedAt: z.string(),
  closedAt: z.string(),
});
export type DoneRow = z.infer<typeof doneRow>;

/** The measured saving of a completed command at the last measurement: an hour or a day after it. */
const measured = z.object({
  workflowId: z.string(),
  reason: z.string(),
  nodes: z.array(z.string()).readonly(),
  afterMs: z.number().describe('time since the command, milliseconds'),
  predictedPerHour: dollars,
  realisedPerHour: dollars,
});
export type Measured = z.infer<typeof measured>;

/** Pods that were deleted despite their protection. */
const forced = z.object({
  at: time,
  nodePool: z.string(),
  nodeClaim: z.string(),
  by: z.string(),
  what: z.string().describe('names of the pods'),
  workflowId: z.string(),
});
export type Forced = z.infer<typeof forced>;

/** An order of a user to a workflow. */
const orderGiven = z.object({
  at: time,
  order: z.string(),
  by: z.string(),
  because: z.string(),
  isForced: z.boolean().describe('whether it allowed pods to lose their protection'),
  about: z.string(),
  workflowId: z.string(),
});
export type OrderGiven = z.infer<typeof orderGiven>;

/** All actions in one cluster since a time. */
export const activity = z.object({
  cluster: z.string(),
  since: time,
  until: time,
  rows: z.array(doneRow).readonly(),
  measured: z.array(measured).readonly(),
  forced: z.array(forced).readonly(),
  orders: z.array(orderGiven).readonly(),
  notes: z.array(z.string()).readonly().describe('what is not counted, one sentence each'),
});
export type Activity = z.infer<typeof activity>;
