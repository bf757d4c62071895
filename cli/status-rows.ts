import { z } from 'zod';
import { disruptionReasons } from '../api/disruption-reasons.js';
import { stuckKinds } from '../operator/stuck/findings.js';

/* What `stowage status -o json` and the API say. */

const texts = z.array(z.string()).readonly();
const dollars = z.number().describe('dollars per hour');
const time = z.string().describe('ISO 8601');
const milliseconds = z.number().describe('milliseconds since the epoch');
/** A workflow has facts of its kind. */
export const workflowFacts = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** One NodeClaim with its node. */
const claimRow = z.object({
  nodeClaim: z.string(),
  nodePool: z.string(),
  instanceType: z.string(),
  zone: z.string(),
  capacityType: z.string(),
  node: z.string(),
  state: z.string().describe('launching, registering, initializing, ready or terminating'),
  ageMs: z.number(),
  message: z.string(),
});
export type ClaimRow = z.infer<typeof claimRow>;

const question = z.object({
  what: z.string(),
  yes: z.string().describe('what approval does'),
  no: z.string().optional(),
  unanswered: z.string().describe('what happens without an answer'),
  until: time,
  breaks: z.string().optional().describe('pods that lose their protection: approval needs force'),
  moves: z.object({ podCount: z.number(), first: texts }).optional(),
});

/** One active workflow. */
const workflowRow = z.object({
  workflowId: z.string(),
  kind: z.string(),
  nodePool: z.string(),
  nodeClaim: z.string().describe('empty for a rollout, which concerns a NodePool'),
  reason: z.string(),
  phase: z.string(),
  blockedBy: z.string(),
  causes: texts.optional().describe('everything that blocks it, including held pods; from the workflow'),
  question: question.optional(),
  waitingFor: z.string(),
  until: z.string(),
  startedAt: z.string(),
  awaitingApproval: z.boolean(),
  facts: workflowFacts.describe('its decision, and what blocks it'),
});
export type WorkflowRow = z.infer<typeof workflowRow>;

/** The two orders that answer a question. Approval needs force where pods lose their protection. */
export const answersTo = ({ workflowId, question: asked }: WorkflowRow): readonly [yes: string, no: string] => [
  `stowage approve ${workflowId}${asked?.breaks === undefined ? '' : ' --force'}`,
  `stowage reject ${workflowId}`,
];

const poolRow = z.object({
  nodePool: z.string(),
  ready: z.string(),
  message: z.string(),
  nodes: z.number().describe('nodes that the price counts: all with an instance'),
  draining: z.number().optional().describe('how many of them are deleting; absent for none'),
  limits: texts.describe('remaining capacity by resource: cpu 8 of 1000'),
  pricePerHour: dollars.optional(),
  leastPossiblePerHour: dollars.optional().describe('lower bound of the cost of their pods on nodes of the pool'),
  leastPossibleWithout: z.number().optional().describe('pods that the bound omits: nothing could be launched for them'),
});
export type PoolRow = z.infer<typeof poolRow>;

/** An object whose condition needs attention: an invalid DisruptionPolicy, a node class that is not ready. */
const problemRow = z.object({ object: z.string(), message: z.string() });
export type ProblemRow = z.infer<typeof problemRow>;

/** Unschedulable pods, by the reason. */
const unplacedRow = z.object({ why: z.string(), pods: texts });
export type UnplacedRow = z.infer<typeof unplacedRow>;

/** Drifted nodes of a NodePool. */
const driftRow = z.object({
  nodePool: z.string(),
  drifted: z.number(),
  disrupting: z.number().describe('how many of them are deleting'),
  nodes: z.number(),
});
export type DriftRow = z.infer<typeof driftRow>;

/** An offering that is not used for lack of capacity. */
const offeringRow = z.object({
  instanceType: z.string(),
  zone: z.string(),
  capacityType: z.string(),
  reason: z.string(),
  until: time,
});
export type OfferingRow = z.infer<typeof offeringRow>;

const finding = z.object({
  kind: z.enum(stuckKinds),
  subject: z.string(),
  since: milliseconds.optional(),
  why: z.string(),
  attempts: z.number().optional(),
  then: z.string().describe('how to fix it'),
});

const pause = z.object({
  scope: z.object({
    kind: z.enum(['cluster', 'nodePool', 'reason', 'node']),
    name: z.string().optional(),
    reason: z.string().optional(),
  }),
  reason: z.string(),
  actor: z.string(),
  until: milliseconds.optional(),
});

const refused = z.object({
  reason: z.enum(disruptionReasons),
  nodes: z
    .array(z.object({ claim: z.object({ name: z.string(), uid: z.string() }), node: z.string(), nodePool: z.string() }))
    .readonly(),
  saves: dollars,
  why: z.string(),
  at: milliseconds,
  until: milliseconds,
});

export const statusSchema = z.object({
  unread: texts.describe('what could not be read, and why: missing in the report'),
  stuck: z.array(finding).readonly().describe('work that is stuck; empty while Karpenter runs'),
  karpenter: z
    .object({ holder: z.string(), lease: z.string() })
    .optional()
    .describe("the holder of Karpenter's leader lease, while Stowage does nothing"),
  unavailable: z.array(offeringRow).readonly(),
  pools: z.array(poolRow).readonly(),
  leastPossiblePerHour: dollars.optional().describe('lower bound of the cost of all running pods on nodes of any pool'),
  leastPossibleWithout: z.number().optional(),
  claims: z.array(claimRow).readonly(),
  workflows: z.array(workflowRow).readonly(),
  moreUnderWay: z.number().describe('active workflows not in workflows; all that need a user are in it'),
  pauses: z.array(pause).readonly(),
  refused: z.array(refused).readonly().describe('disruptions that users rejected'),
  declined: z
    .array(problemRow)
    .readonly()
    .describe('permanent rejections: declined expirations and repairs, stopped rollouts'),
  problems: z.array(problemRow).readonly(),
  unplaced: z.array(unplacedRow).readonly(),
  drift: z.array(driftRow).readonly(),
  stays: z
    .array(z.object({ why: z.string(), nodes: texts }))
    .readonly()
    .describe('nodes that could be disrupted but stay, by reason'),
  moreStay: z.number().describe('further such nodes without a recorded reason'),
  nextWindow: z
    .object({
      at: time,
      why: z.string(),
      nodePool: z.string(),
      reason: z.enum(disruptionReasons),
    })
    .optional()
    .describe('the next window or budget to open, and for what; absent if nothing waits'),
});
export type StatusReport = z.infer<typeof statusSchema>;
