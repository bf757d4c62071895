import { z } from 'zod';
import type { Condition } from '../kubernetes.js';
import {
  atomicList,
  conditions,
  duration,
  integer,
  labelSelector,
  observedGeneration,
  setOf,
} from '../schema/fields.js';
import { withRules } from '../schema/rules.js';
import { defineResource, type Resource, type ResourceObject } from '../schema/resource.js';
import { disruptionReasons } from '../disruption-reasons.js';

const reasons = setOf(z.enum(disruptionReasons), disruptionReasons.length)
  .optional()
  .describe('The reasons to which this applies; absent means all.');

/** A number of nodes, or a percentage of the pool's nodes that is rounded up. */
const nodeCount = z.string().regex(/^((100|[0-9]{1,2})%|[0-9]{1,6})$/);

/** Dollars per hour as a decimal string: not every client preserves floating-point numbers. */
const dollars = z.string().regex(/^[0-9]{1,9}(\.[0-9]{1,9})?$/);

const percent = integer({ min: 0, max: 100 });

const approval = z.object({
  reasons,
  timeout: duration.default('24h').describe('How long to wait for an answer.'),
  onTimeout: z.enum(['Approve', 'Reject']).default('Reject').describe('The answer after the timeout.'),
});

const maintenanceWindow = z.object({
  name: z.string().min(1).max(63).describe('Its name in messages and queries.'),
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
    .describe('Cron expression; each match opens the window.'),
  duration: duration.describe('How long the window stays open.'),
  quota: nodeCount
    .optional()
    .describe('How many nodes may be disrupted each time the window is open; absent sets no limit.'),
});

const rate = z.object({
  reasons,
  nodes: nodeCount.describe('How many nodes may be disrupted in any period of that length.'),
  per: duration.describe('The length of the period, such as 5m.'),
});

const savings = z.object({
  minimumPercent: percent.default(0).describe('A command must save at least this share of the cost of its nodes.'),
  minimumDollarsPerHour: dollars.default('0').describe('A command must save at least this much.'),
});

const spotRatio = z.object({
  spotPercent: percent.describe('Share of vCPUs that runs on spot; the rest runs on-demand.'),
  minimumOnDemandVCPU: integer({ min: 0, max: 1_000_000 }).default(0).describe('vCPUs that always run on-demand.'),
  perZone: z.boolean().default(false).describe('Whether the ratio must hold in every zone.'),
});

const expiration = withRules(
  z.object({
    mode: z
      .enum(['ReplaceFirst', 'Forceful'])
      .default('ReplaceFirst')
      .describe(
        'ReplaceFirst launches the replacement before it drains, within budgets and windows; Forceful deletes at expireAfter.',
      ),
    jitter: duration.default('0s').describe('Expiration begins up to this much earlier, spread over the nodes.'),
    lead: duration.default('15m').describe('How long before expireAfter, or its jittered time, expiration begins.'),
    hardDeadline: duration
      .optional()
      .describe(
        'How long after expireAfter a node may wait for budgets, windows or people before it is removed anyway. Absent waits for ever.',
      ),
  }),
  {
    message: 'hardDeadline is not supported with mode Forceful, which deletes at expireAfter',
    cel: "self.mode != 'Forceful' || !has(self.hardDeadline)",
    holds: ({ mode, hardDeadline }) => mode !== 'Forceful' || hardDeadline === undefined,
    field: 'hardDeadline',
  },
);

const driftRollout = z.object({
  canary: nodeCount.default('1').describe('Nodes in the first wave.'),
  soak: duration.default('10m').describe('How long a wave is observed after its last node is ready.'),
  growthFactor: integer({ min: 1, max: 10 })
    .default(2)
    .describe('Each wave is this many times as large as the one before.'),
  maximumWave: nodeCount.default('25%').describe('The largest size of a wave.'),
  maximumFailurePercent: percent
    .default(20)
    .describe('The rollout stops when more than this share of its nodes failed.'),
  onFailure: z
    .enum(['Stop', 'Rollback'])
    .default('Stop')
    .describe('Stop waits for a person; Rollback restores the last good template.'),
});

const drainStep = z.object({
  after: duration.describe('How long the drain must have been stuck before this step is taken.'),
  action: z
    .enum(['Notify', 'RestartOwner', 'AskApproval', 'Force'])
    .describe(
      'Notify publishes an event. RestartOwner restarts the rollout of the blocking pods, for which the chart gives the permission with rolloutRestarts.enabled. AskApproval asks a person whether to force. Force deletes the pods.',
    ),
});

const repairStep = z.object({
  action: z
    .enum(['Reboot', 'Replace', 'Force'])
    .describe('Reboot reboots the instance, Replace launches a replacement and drains, Force terminates at once.'),
  wait: duration
    .default('10m')
    .describe('How long the node may take to recover, or the drain to end, before the next step.'),
});

const repair = z.object({
  steps: atomicList(
    withRules(z.array(repairStep).min(1).max(3), {
      message: 'each action may occur only once',
      cel: 'self.all(s, self.filter(t, t.action == s.action).size() == 1)',
      holds: (steps) => new Set(steps.map(({ action }) => action)).size === steps.length,
    }),
  )
    .prefault([{ action: 'Force', wait: '10m' }])
    .describe('The steps to try, in this order.'),
  maximumUnhealthyPercent: percent
    .default(20)
    .describe('Nothing is repaired while more than this share of the pool is unhealthy.'),
});

/** The spec of a DisruptionPolicy. Parsed from `{}` it gives the defaults of a NodePool that no policy selects. */
export const disruptionPolicySpec = z.object({
  nodePoolSelector: labelSelector
    .optional()
    .describe('Labels of the NodePools that this policy selects; absent selects all.'),
  weight: integer({ min: 1, max: 100 })
    .optional()
    .describe(
      'Among the policies that select a NodePool, the one with the highest weight applies; among equals, the first by name.',
    ),
  mode: z
    .enum(['Act', 'Recommend'])
    .default('Act')
    .describe('Recommend decides and records what it would do, but leaves every node alone.'),
  approval: atomicList(z.array(approval).max(16))
    .optional()
    .describe('Disruptions that wait for approval by a person; the first entry with the reason applies.'),
  maintenanceWindows: atomicList(
    withRules(z.array(maintenanceWindow).max(32), {
      message: 'each name may occur only once',
      cel: 'self.all(w, self.filter(v, v.name == w.name).size() == 1)',
      holds: (windows) => new Set(windows.map(({ name }) => name)).size === windows.length,
    }),
  )
    .optional()
    .describe(
      'When disruption may begin. A reason that some window names waits for such a window; a window without reasons applies to every reason.',
    ),
  rates: atomicList(z.array(rate).max(16))
    .optional()
    .describe('Limits on how many nodes are disrupted within a period; all of them apply.'),
  savings: savings.prefault({}).describe('What a consolidation must save at least.'),
  nodeCost: dollars
    .optional()
    .describe(
      'What each node costs in addition to the cloud bill, in dollars per hour: agents, licences. It is part of the price of a node in all decisions.',
    ),
  coolDown: duration
    .default('0s')
    .describe('How long consolidation leaves a node alone that it launched or moved pods to.'),
  maxMoveChain: integer({ min: 1, max: 100 })
    .optional()
    .describe(
      'Consolidation of the pool pauses if a workload was moved more often than this in a row within a day; absent never pauses.',
    ),
  spotRatio: spotRatio.optional().describe('How the pool is split between spot and on-demand.'),
  expiration: expiration.prefault({}).describe('How nodes are removed that reach expireAfter.'),
  driftRollout: driftRollout
    .optional()
    .describe('Drifted nodes are replaced in waves; absent replaces one node at a time, as budgets allow.'),
  drainEscalation: atomicList(z.array(drainStep).max(8))
    .optional()
    .describe('What to do when a drain is stuck; absent waits until terminationGracePeriod.'),
  rebalanceRecommendation: z
    .enum(['Ignore', 'Replace'])
    .default('Ignore')
    .describe('Reaction to an EC2 rebalance recommendation: only an event, or a replacement before the interruption.'),
  repair: repair.prefault({}).describe('How unhealthy nodes are repaired.'),
});

const disruptionPolicyStatus = z.object({
  nodePools: z.array(z.string()).optional().describe('The NodePools to which this policy applies.'),
  observedGeneration,
  conditions: conditions.optional().describe('The conditions of the policy.'),
});

export type DisruptionPolicySpec = z.output<typeof disruptionPolicySpec>;
export type MaintenanceWindow = NonNullable<DisruptionPolicySpec['maintenanceWindows']>[number];
export type DisruptionRate = NonNullable<DisruptionPolicySpec['rates']>[number];
export type SpotRatio = NonNullable<DisruptionPolicySpec['spotRatio']>;
export type DriftRollout = NonNullable<DisruptionPolicySpec['driftRollout']>;

interface DisruptionPolicyStatus {
  nodePools?: string[] | undefined;
  observedGeneration?: number | undefined;
  conditions?: Condition[] | undefined;
}

/** A DisruptionPolicy as stored by the API server, with defaults. */
export type DisruptionPolicy = ResourceObject<DisruptionPolicySpec, DisruptionPolicyStatus>;

/** The policy of a NodePool that no policy selects: Karpenter's behaviour, with replace-first expiration. */
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
  description: 'DisruptionPolicy defines how, when and with whose approval the nodes of NodePools are disrupted.',
  spec: disruptionPolicySpec,
  status: disruptionPolicyStatus,
  printerColumns: [
    { name: 'Mode', type: 'string', jsonPath: '.spec.mode' },
    { name: 'Expiration', type: 'string', jsonPath: '.spec.expiration.mode' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Weight', type: 'integer', jsonPath: '.spec.weight', priority: 1 },
  ],
});
