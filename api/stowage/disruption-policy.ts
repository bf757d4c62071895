import { z } from 'zod';
import type { Condition } from '../kubernetes.js';
import { atomicList, conditions, duration, integer, labelSelector, setOf } from '../schema/fields.js';
import { withRules } from '../schema/rules.js';
import { defineResource, type Resource, type ResourceObject } from '../schema/resource.js';
import { disruptionReasons } from '../disruption-reasons.js';

const reasons = setOf(z.enum(disruptionReasons), disruptionReasons.length)
  .optional()
  .describe('The reasons that this is about; absent means all.');

/** A number of nodes, or a percentage of the pool's nodes that is rounded up. */
const nodeCount = z.string().regex(/^((100|[0-9]{1,2})%|[0-9]{1,6})$/);

/** Dollars per hour as a decimal text: floating-point numbers do not survive every client. */
const dollars = z.string().regex(/^[0-9]{1,9}(\.[0-9]{1,9})?$/);

const percent = integer({ min: 0, max: 100 });

const approval = z.object({
  reasons,
  timeout: duration.default('24h').describe('How long to wait for a person.'),
  onTimeout: z
    .enum(['Approve', 'Reject'])
    .default('Reject')
    .describe('What counts as the answer when nobody gave one.'),
});

const maintenanceWindow = z.object({
  name: z.string().min(1).max(63).describe('Name in messages and queries.'),
  reasons,
  timeZone: z
    .string()
    .max(64)
    .regex(/^[A-Za-z0-9_]+([/+-][A-Za-z0-9_]+)*$/)
    .default('UTC')
    .describe('IANA time zone of the schedule, such as Europe/Berlin.'),
  schedule: z
    .string()
    .max(256)
    .regex(/^\s*(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4})\s*$/)
    .describe('Cron expression; each hit opens the window.'),
  duration: duration.describe('How long each hit keeps it open.'),
  quota: nodeCount.optional().describe('How many nodes may go in one opening; absent sets no bound.'),
});

const rate = z.object({
  reasons,
  nodes: nodeCount.describe('How many nodes may go in any stretch of time of that length.'),
  per: duration.describe('The stretch of time, such as 5m.'),
});

const savings = z.object({
  minimumPercent: percent.default(0).describe('A move must save at least this share of what its nodes cost.'),
  minimumDollarsPerHour: dollars.default('0').describe('A move must save at least this much.'),
});

const spotRatio = z.object({
  spotPercent: percent.describe('Share of vCPUs that is to run on spot; the rest runs on demand.'),
  minimumOnDemandVCPU: integer({ min: 0, max: 1_000_000 }).default(0).describe('vCPUs that run on demand in any case.'),
  perZone: z.boolean().default(false).describe('Whether the ratio is to hold in every zone.'),
});

const expiration = withRules(
  z.object({
    mode: z
      .enum(['ReplaceFirst', 'Forceful'])
      .default('ReplaceFirst')
      .describe(
        'ReplaceFirst launches the replacement before it drains, inside budgets and windows; Forceful deletes at expireAfter.',
      ),
    jitter: duration
      .default('0s')
      .describe('Expiration begins up to this much before expireAfter, spread over the nodes.'),
    lead: duration.default('15m').describe('How long before expireAfter, or its jittered time, expiration begins.'),
    hardDeadline: duration
      .optional()
      .describe(
        'How long after expireAfter a node may live while it waits for budgets, windows or people; then it goes. Absent waits for them.',
      ),
  }),
  {
    message: 'mode Forceful deletes at expireAfter and knows no hardDeadline',
    cel: "self.mode != 'Forceful' || !has(self.hardDeadline)",
    holds: ({ mode, hardDeadline }) => mode !== 'Forceful' || hardDeadline === undefined,
    field: 'hardDeadline',
  },
);

const driftRollout = z.object({
  canary: nodeCount.default('1').describe('Nodes in the first wave.'),
  soak: duration.default('10m').describe('How long a wave is watched after its last node is ready.'),
  growthFactor: integer({ min: 1, max: 10 }).default(2).describe('Each wave is this many times as large as the last.'),
  maximumWave: nodeCount.default('25%').describe('No wave is larger.'),
  maximumFailurePercent: percent.default(20).describe('The rollout stops when more of its nodes than this failed.'),
  onFailure: z
    .enum(['Stop', 'Rollback'])
    .default('Stop')
    .describe('Stop waits for a person; Rollback goes back to the last good template.'),
});

const drainStep = z.object({
  after: duration.describe('How long the drain has been stuck when this step is taken.'),
  action: z
    .enum(['Notify', 'RestartOwner', 'AskApproval', 'Force'])
    .describe(
      'Tell; restart the rollout of the blocking pods, a right that the chart gives with rolloutRestarts.enabled; ask a person whether to force; delete the pods.',
    ),
});

const repairStep = z.object({
  action: z.enum(['Reboot', 'Replace', 'Force']).describe('Reboot the instance; replace and drain; terminate at once.'),
  wait: duration
    .default('10m')
    .describe('How long the node has to recover, or the drain to end, before the next step.'),
});

const repair = z.object({
  steps: atomicList(
    withRules(z.array(repairStep).min(1).max(3), {
      message: 'each action may stand once',
      cel: 'self.all(s, self.filter(t, t.action == s.action).size() == 1)',
      holds: (steps) => new Set(steps.map(({ action }) => action)).size === steps.length,
    }),
  )
    .prefault([{ action: 'Force', wait: '10m' }])
    .describe('What is tried, in this order.'),
  maximumUnhealthyPercent: percent
    .default(20)
    .describe('Nothing is repaired while more of the pool than this is unhealthy.'),
});

/** The spec of a DisruptionPolicy. Parsed from `{}` it says what holds for a NodePool that no policy selects. */
export const disruptionPolicySpec = z.object({
  nodePoolSelector: labelSelector
    .optional()
    .describe('Labels of the NodePools that this policy rules; absent means every one.'),
  weight: integer({ min: 1, max: 100 })
    .optional()
    .describe('Of the policies that select a pool the heaviest rules it; of equals the first by name.'),
  mode: z
    .enum(['Act', 'Recommend'])
    .default('Act')
    .describe('Recommend decides and records what it would do, and leaves every node alone.'),
  approval: atomicList(z.array(approval).max(16))
    .optional()
    .describe('What waits for a person; the first entry with the reason rules.'),
  maintenanceWindows: atomicList(
    withRules(z.array(maintenanceWindow).max(32), {
      message: 'each name may stand once',
      cel: 'self.all(w, self.filter(v, v.name == w.name).size() == 1)',
      holds: (windows) => new Set(windows.map(({ name }) => name)).size === windows.length,
    }),
  )
    .optional()
    .describe(
      'When disruption may begin: a reason that some window names, or every reason where one names none, waits for a window.',
    ),
  rates: atomicList(z.array(rate).max(16))
    .optional()
    .describe('Bounds on how many nodes go in a stretch of time; each holds.'),
  savings: savings.prefault({}).describe('The least that consolidation must save.'),
  nodeCost: dollars
    .optional()
    .describe(
      'What each node of the pools costs besides what the cloud bills for it, in dollars per hour: agents, licences. It is part of the price of a node in all decisions.',
    ),
  coolDown: duration
    .default('0s')
    .describe('How long a node that consolidation launched or moved pods to is left alone by it.'),
  maxMoveChain: integer({ min: 1, max: 100 })
    .optional()
    .describe(
      'Consolidation of the pool pauses when a workload was moved more often than this in a row within a day; absent never pauses.',
    ),
  spotRatio: spotRatio.optional().describe('How the pool is split between spot and on-demand.'),
  expiration: expiration.prefault({}).describe('How nodes that reached expireAfter go.'),
  driftRollout: driftRollout
    .optional()
    .describe('Drift goes in waves; absent replaces one node at a time, as budgets allow.'),
  drainEscalation: atomicList(z.array(drainStep).max(8))
    .optional()
    .describe('What happens when a drain is stuck; absent waits until terminationGracePeriod.'),
  rebalanceRecommendation: z
    .enum(['Ignore', 'Replace'])
    .default('Ignore')
    .describe('What an EC2 rebalance recommendation does: an event alone, or a replacement ahead of the interruption.'),
  repair: repair.prefault({}).describe('How unhealthy nodes are repaired.'),
});

const disruptionPolicyStatus = z.object({
  nodePools: z.array(z.string()).optional().describe('The NodePools that this policy rules.'),
  conditions: conditions.optional().describe('What holds of the policy.'),
});

export type DisruptionPolicySpec = z.output<typeof disruptionPolicySpec>;
export type PolicyApproval = NonNullable<DisruptionPolicySpec['approval']>[number];
export type MaintenanceWindow = NonNullable<DisruptionPolicySpec['maintenanceWindows']>[number];
export type DisruptionRate = NonNullable<DisruptionPolicySpec['rates']>[number];
export type SpotRatio = NonNullable<DisruptionPolicySpec['spotRatio']>;
export type DriftRollout = NonNullable<DisruptionPolicySpec['driftRollout']>;
export type DrainStep = NonNullable<DisruptionPolicySpec['drainEscalation']>[number];
export type RepairStep = DisruptionPolicySpec['repair']['steps'][number];

export interface DisruptionPolicyStatus {
  nodePools?: string[] | undefined;
  conditions?: Condition[] | undefined;
}

/** A DisruptionPolicy as the API server holds it: defaults filled in. */
export type DisruptionPolicy = ResourceObject<DisruptionPolicySpec, DisruptionPolicyStatus>;

/** What rules a NodePool that no policy selects: Karpenter's behaviour, with replace-first expiration. */
export const defaultDisruptionPolicySpec: DisruptionPolicySpec = disruptionPolicySpec.parse({});

/** DisruptionPolicy `stowage.dev/v1alpha1`: parsing, defaulting, validation and manifest. */
export const disruptionPolicies: Resource<DisruptionPolicy> = defineResource<
  typeof disruptionPolicySpec,
  typeof disruptionPolicyStatus,
  DisruptionPolicy
>({
  group: 'stowage.dev',
  version: 'v1alpha1',
  kind: 'DisruptionPolicy',
  plural: 'disruptionpolicies',
  shortNames: ['dpol'],
  categories: ['karpenter', 'stowage'],
  description: 'DisruptionPolicy says how, when and with whose consent the nodes of NodePools are disrupted.',
  spec: disruptionPolicySpec,
  status: disruptionPolicyStatus,
  printerColumns: [
    { name: 'Mode', type: 'string', jsonPath: '.spec.mode' },
    { name: 'Expiration', type: 'string', jsonPath: '.spec.expiration.mode' },
    { name: 'Valid', type: 'string', jsonPath: '.status.conditions[?(@.type=="ValidationSucceeded")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Weight', type: 'integer', jsonPath: '.spec.weight', priority: 1 },
  ],
});
