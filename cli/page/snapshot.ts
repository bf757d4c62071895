import { z } from 'zod';

/** Other answers of the API, for the page. */
export type { Life } from '../history/life.js';
export type { ActivityReport } from '../report/sums.js';
export type { Why } from '../why-answers.js';

/** The version of `/api/v1`: fields may be added, none changes its meaning. */
export const pageVersion = 1;

/** CPU in millicores, memory in MiB, GPUs of any vendor. */
const amounts = z.tuple([z.number(), z.number(), z.number()]).describe('CPU in millicores, memory in MiB, GPUs');
export type Amounts = z.infer<typeof amounts>;

const milliseconds = z.number().describe('milliseconds since the epoch');
const dollars = z.number().describe('dollars per hour');

const nodeStates = ['launching', 'registering', 'initializing', 'ready', 'not ready', 'draining'] as const;
const nodeMarks = ['interrupted', 'drifted', 'tainted', 'paused', 'waiting', 'do-not-disrupt', 'reserved'] as const;

const pageNode = z.object({
  name: z.string().describe('name of the Node; of the NodeClaim while there is no Node'),
  claim: z.string(),
  pool: z.string(),
  type: z.string(),
  zone: z.string(),
  capacityType: z.string(),
  pricePerHour: dollars.describe('dollars per hour; 0 if unknown'),
  created: milliseconds,
  state: z.enum(nodeStates),
  marks: z.array(z.enum(nodeMarks)),
  allocatable: amounts,
  daemons: amounts.describe('requests of DaemonSet pods and static pods'),
  pods: z
    .array(z.tuple([z.number(), z.number(), z.number(), z.number(), z.number()]))
    .describe('equal pods: index into workloads, count, and the requests of each'),
  waits: z.string().optional().describe('what its disruption waits for'),
});
export type PageNode = z.infer<typeof pageNode>;

/** A pod of a node. */
export const nodePod = z.object({
  name: z.string().describe('namespace/name'),
  workload: z.string(),
  requests: amounts,
  isDaemon: z.boolean(),
});
export type NodePod = z.infer<typeof nodePod>;

const pageCommand = z.object({
  workflowId: z.string(),
  reason: z.string(),
  phase: z.string(),
  nodes: z.array(z.string()),
  launches: z.array(
    z.object({
      name: z.string().describe('as in moves'),
      pool: z.string(),
      type: z.string(),
      zone: z.string(),
      capacityType: z.string(),
      pricePerHour: dollars,
      pods: z.number(),
    }),
  ),
  moves: z.array(z.object({ pod: z.string(), from: z.string(), to: z.string() })),
  savesPerHour: dollars,
});
export type PageCommand = z.infer<typeof pageCommand>;

/** Something that a person should decide or repair. */
const pageNeed = z.object({
  kind: z.enum(['question', 'drain', 'stuck', 'problem', 'declined']),
  subject: z.string(),
  text: z.string(),
  yes: z.string().optional().describe('what approval does'),
  until: z.string().optional().describe('RFC 3339'),
  unanswered: z.string().optional().describe('what happens without an answer until then'),
  orders: z.array(z.string()).describe('commands to run'),
  workflowId: z.string().optional(),
});
export type PageNeed = z.infer<typeof pageNeed>;

const pagePool = z.object({
  name: z.string(),
  ready: z.string(),
  message: z.string(),
  nodes: z.number(),
  pricePerHour: dollars,
  leastPossiblePerHour: dollars.optional(),
  limits: z.array(z.string()),
  budgets: z
    .array(
      z.object({
        nodePool: z.string(),
        reason: z.string(),
        allowed: z.number(),
        disrupting: z.number(),
        total: z.number(),
        ruledBy: z.string().optional().describe('the budget or window that applies'),
        changesAt: z.string().optional().describe('when a budget or window opens or closes next, RFC 3339'),
      }),
    )
    .describe('how many nodes may be disrupted now, by reason'),
});

/** The replacement of a NodePool's drifted nodes. */
const pageRollout = z.object({
  pool: z.string(),
  nodes: z.number(),
  drifted: z.number(),
  disrupting: z.number(),
  workflowId: z.string().optional(),
  wave: z.string().optional().describe('the wave under way, of DisruptionPolicies with waves'),
  phase: z.string(),
  until: z.string().optional().describe('RFC 3339'),
});

/** What consolidation saves, by the commands that ended since then. */
const pageSavings = z.object({
  since: milliseconds,
  commands: z.number(),
  predictedPerHour: dollars,
  measuredCommands: z.number(),
  measuredRealisedPerHour: dollars,
});

const decisionKinds = [
  'launch',
  'ready',
  'drift',
  'interruption',
  'wait',
  'drain',
  'gone',
  'pause',
  'resume',
  'answer',
] as const;

const pageDecision = z.object({
  at: milliseconds,
  kind: z.enum(decisionKinds),
  what: z.string(),
  subject: z.string(),
  by: z.string().describe('a person, or empty for Stowage'),
});
export type PageDecision = z.infer<typeof pageDecision>;

/** A point of the price over time. */
const pagePoint = z.object({
  at: milliseconds,
  pricePerHour: dollars,
  leastPossiblePerHour: dollars.optional(),
  byPool: z.record(z.string(), dollars),
});
export type PagePoint = z.infer<typeof pagePoint>;

/** The price over a time, oldest first. */
export const pagePast = z.object({
  source: z.enum(['Prometheus', 'operator']).describe('the operator has what it saw since it leads, for a day'),
  points: z.array(pagePoint),
});
export type PagePast = z.infer<typeof pagePast>;

export const pageSnapshot = z.object({
  version: z.literal(pageVersion),
  cluster: z.string(),
  at: milliseconds,
  problems: z.array(z.object({ what: z.string(), since: milliseconds })).describe('what this page lacks now'),
  temporal: z.string().describe('address of the Temporal UI with the namespace; empty if unknown'),
  pricePerHour: dollars,
  leastPossiblePerHour: dollars.optional(),
  saved: pageSavings.optional(),
  needs: z.array(pageNeed),
  pools: z.array(pagePool),
  pauses: z.array(z.object({ scope: z.string(), because: z.string(), by: z.string(), until: milliseconds.optional() })),
  nodes: z.array(pageNode),
  workloads: z.array(z.string()).describe('namespace/Kind/name of what owns pods'),
  waiting: z.array(z.object({ why: z.string(), pods: z.array(z.string()), count: z.number() })),
  commands: z.array(pageCommand),
  rollouts: z.array(pageRollout),
  stays: z.array(z.object({ why: z.string(), nodes: z.array(z.string()) })),
  nextWindow: z.string(),
  decisions: z.array(pageDecision),
  series: z.array(pagePoint),
});
export type PageSnapshot = z.infer<typeof pageSnapshot>;

/** What has changed since the last message of the stream. Lists are sent whole, nodes one by one. */
export const pageChange = pageSnapshot
  .omit({ nodes: true, version: true, cluster: true, series: true })
  .partial()
  .extend({
    at: milliseconds,
    nodes: z.array(pageNode).optional().describe('nodes that are new or changed'),
    gone: z.array(z.string()).optional().describe('names of nodes that are gone'),
    point: pagePoint.optional(),
  });
export type PageChange = z.infer<typeof pageChange>;
