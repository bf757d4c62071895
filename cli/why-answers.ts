import { z } from 'zod';
import { conditionOf, claimLifecycle, brokenConditions } from '../core/conditions.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { labelsOf, poolText } from '../cluster/node-labels.js';
import { parseWorkflowId } from '../core/ids.js';
import type { NodeVerdict, BudgetView } from '../workflows/messages.js';
import { onOneLine, counted } from '../core/text.js';
import { timeText } from '../core/time.js';
import { nameOf, isDeleting } from '../core/names.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { lookUp } from '../core/own.js';
import { parseResources, type Resources } from '../core/quantities.js';
import { pauseLine } from './output/people-table.js';
import { hourly } from './output/table.js';
import { statusPodsText } from './status-objects.js';
import { type ClaimRow, type StatusReport, workflowFacts } from './status-rows.js';

const whyWorkflow = z.object({
  workflowId: z.string(),
  state: z.string(),
  phase: z.string(),
  waitingFor: z.string().optional(),
  until: z.string().optional(),
  facts: workflowFacts,
  failure: z.string().optional().describe('why its last run failed'),
});
export type WhyWorkflow = z.infer<typeof whyWorkflow>;

/** What `stowage why -o json` and the API say. */
export const whySchema = z.object({
  subject: z.string(),
  answer: z.string(),
  details: z.array(z.string()).readonly(),
  workflows: z.array(whyWorkflow).readonly(),
});
export type Why = z.infer<typeof whySchema>;

/** Everything known about a NodeClaim. */
export interface ClaimKnown {
  readonly claim: NodeClaim;
  readonly workflows: readonly WhyWorkflow[];
  /** The verdict of `disrupt` for its node; undefined if there is no node. */
  readonly verdict: Pick<NodeVerdict, 'verdict' | 'why'> | { readonly unknown: string } | undefined;
}

/** The main answer: its progress, whether it is being disrupted, or why it stays. */
export function claimAnswer({ claim, workflows, verdict }: ClaimKnown): string {
  if (isDeleting(claim)) return disruptionText(workflows);
  const missing = claimLifecycle.find((type) => conditionOf(claim.status?.conditions, type)?.status !== 'True');
  if (missing !== undefined) return `is not ready yet: ${conditionText(claim, missing)}`;
  if (verdict === undefined) return 'is ready';
  if ('unknown' in verdict) return `is ready; whether it may go is not known: ${verdict.unknown}`;
  return verdict.verdict === 'going' ? `is being disrupted: ${verdict.why}` : `${verdict.verdict}: ${verdict.why}`;
}

function disruptionText(workflows: readonly WhyWorkflow[]): string {
  const ending = workflows.find(
    ({ workflowId, state, failure }) =>
      (state === 'running' || failure !== undefined) && parseWorkflowId(workflowId)?.kind === 'terminate',
  );
  if (ending === undefined) return 'is being deleted';
  if (ending.failure === undefined) return `is being terminated: ${phaseText(ending)}`;
  return `is being deleted, and its termination failed, which is started again within two minutes: ${ending.failure}`;
}

function conditionText(claim: NodeClaim, type: string): string {
  const { status = 'not set', reason = '', message = '' } = conditionOf(claim.status?.conditions, type) ?? {};
  return [`${type} is ${status}`, reason, message].filter((each) => each !== '').join(': ');
}

/** `NodeClaim default-a of NodePool default (m5.large spot in a)`. */
export function claimText(claim: NodeClaim): string {
  const { nodePool, instanceType, zone, capacityType } = labelsOf(claim);
  const what = instanceType === '' ? 'not launched yet' : `${instanceType} ${capacityType} in ${zone}`;
  return `NodeClaim ${nameOf(claim)} of ${poolText(nodePool)} (${what})`;
}

/**
 * The answer first, then its description, active workflows with their facts, and its launch with the reason; one line
 * for each closed workflow.
 */
export function whyText(why: Why): string {
  const { subject, answer, details, workflows } = onOneLine(why);
  const lines = [`${subject}: ${answer}`, ...details.map((detail) => `  - ${detail}`)];
  for (const workflow of workflows) {
    const { workflowId, state, facts, failure } = workflow;
    lines.push(`  ${workflowId} (${state}): ${failure ?? phaseText(workflow)}`);
    if (state !== 'running' && parseWorkflowId(workflowId)?.kind !== 'launch') continue;
    for (const [fact, value] of Object.entries(facts)) lines.push(`      ${fact}: ${value}`);
  }
  return `${lines.join('\n')}\n`;
}

const phaseText = ({ phase, waitingFor, until }: WhyWorkflow): string =>
  `${phase}${waitingFor === undefined ? '' : `, waits for ${waitingFor}`}${until === undefined ? '' : ` until ${timeText(until)}`}`;

const nodesShown = 10;
const workflowsShown = 20;

/** Everything known about a NodePool. */
export interface PoolKnown {
  readonly name: string;
  /** Undefined for one that was deleted without its nodes. */
  readonly pool: NodePool | undefined;
  readonly report: StatusReport;
  readonly budgets: readonly BudgetView[];
  /** Number of pods by node, for the nodes queried. */
  readonly podsByNode: ReadonlyMap<string, number>;
}

/** The nodes whose pods `poolAnswer` shows. */
export const nodesToShow = ({ claims }: Pick<StatusReport, 'claims'>, nodePool: string): string[] =>
  claims
    .filter((claim) => claim.nodePool === nodePool && claim.node !== '')
    .slice(0, nodesShown)
    .map(({ node }) => node);

/** What prevents launches, then its nodes and their price, the pods that it cannot take, and what limits disruption. */
export function poolAnswer(known: PoolKnown): Why {
  const { name, report } = known;
  return {
    subject: `nodepool ${name}`,
    answer: whatItDoes(known),
    details: [
      ...conditionsOf(known),
      ...nodesOf(known),
      ...report.unplaced
        .filter(({ why }) => poolsIn(why).includes(name))
        .map(({ why, pods }) => `${counted(pods.length, 'pod')} that it cannot take: ${statusPodsText(pods)}: ${why}`),
      ...disruptionOf(known),
      ...report.unread.map((line) => `could not be read: ${line}`),
    ],
    workflows: report.workflows
      .filter(({ nodePool }) => nodePool === name)
      .slice(0, workflowsShown)
      .map(({ workflowId, phase, waitingFor, until, facts }) => ({
        ...{ workflowId, state: 'running', phase, facts },
        ...(waitingFor === '' ? {} : { waitingFor }),
        ...(until === '' ? {} : { until }),
      })),
  };
}

/**
 * The NodePools in messages of pods such as `limited: its limits are used up; gpu, small and 2 more NodePools: ...`
 * (packing/output).
 */
const poolsIn = (why: string): string[] =>
  why.split('; ').flatMap((part) => (part.split(': ')[0] ?? '').split(/, | and /));

function whatItDoes({ name, pool, report: { karpenter, pools } }: PoolKnown): string {
  if (pool === undefined) return `is gone: ${pools.find(({ nodePool }) => nodePool === name)?.message ?? ''}`;
  const { metadata, spec, status } = pool;
  if (metadata.deletionTimestamp !== undefined) return 'is being deleted: it launches nothing, and its nodes drain';
  if (karpenter !== undefined) return `launches nothing: ${karpenter.holder} holds the lease ${karpenter.lease}`;
  const ready = conditionOf(status?.conditions, 'Ready');
  if (ready?.status !== 'True') {
    const { reason = '', message = '' } = ready ?? { message: 'it has no condition Ready' };
    return `launches nothing: it is not Ready: ${[reason, message].filter((text) => text !== '').join(': ')}`;
  }
  const full = fullLimits(pool);
  if (full.length > 0) return `launches nothing more: its limits are used up: ${full.join(', ')}`;
  return spec.replicas === undefined
    ? 'launches nodes for pending pods that fit it'
    : `keeps ${counted(spec.replicas, 'node')}, also without pods`;
}

function fullLimits({ spec, status }: NodePool): string[] {
  const used: Resources = { nodes: status?.nodes ?? 0, ...parseResources(status?.resources) };
  return Object.entries(parseResources(spec.limits))
    .filter(([resource, limit]) => (lookUp(used, resource) ?? 0) >= limit)
    .map(([resource]) => `${resource} ${String(lookUp(spec.limits, resource))}`);
}

function conditionsOf({ pool }: PoolKnown): string[] {
  return brokenConditions(pool?.status?.conditions).map(
    ({ type, reason = '', message = '' }) => `${type} is False: ${reason}: ${message}`,
  );
}

function nodesOf({ name, report: { pools, claims }, podsByNode }: PoolKnown): string[] {
  const row = pools.find(({ nodePool }) => nodePool === name);
  const own = claims.filter(({ nodePool }) => nodePool === name);
  const draining = row?.draining === undefined ? '' : `, ${row.draining} of them draining`;
  const price = row?.pricePerHour === undefined ? '' : ` at ${hourly(row.pricePerHour)} per hour`;
  const limits = row === undefined || row.limits.length === 0 ? '' : `; limits: ${row.limits.join(', ')}`;
  const pods = (node: string): string => {
    const count = podsByNode.get(node);
    return count === undefined ? '' : `, ${counted(count, 'pod')}`;
  };
  const line = ({ nodeClaim, node, instanceType, capacityType, zone, state, message }: ClaimRow): string => {
    const what = instanceType === '' ? '' : ` (${instanceType} ${capacityType} in ${zone})`;
    const why = message === '' ? '' : `: ${message}`;
    return node === ''
      ? `nodeclaim ${nodeClaim}${what}: ${state}${why}`
      : `node ${node}${what}: ${state}${pods(node)}${why}`;
  };
  return [
    `it has ${counted(row?.nodes ?? own.length, 'node')}${draining}${price}${limits}`,
    ...own.slice(0, nodesShown).map(line),
    ...(own.length > nodesShown ? [`and ${own.length - nodesShown} more: stowage status -o json`] : []),
  ];
}

function budgetText({ reason, allowed, disrupting, total, ruledBy, changesAt }: BudgetView): string {
  const rule = ruledBy === undefined ? '' : ` (${ruledBy})`;
  const change = changesAt === undefined ? '' : `; that changes at ${timeText(changesAt)}`;
  return `${reason}: ${allowed} of ${counted(total, 'node')} may be disrupted now${rule}, ${disrupting} being disrupted${change}`;
}

/** Pauses that apply to it, what its budgets allow, and why its nodes stay. */
function disruptionOf({ name, report: { pauses, stays, claims }, budgets }: PoolKnown): string[] {
  const nodes = new Set(claims.filter(({ nodePool }) => nodePool === name).map(({ node }) => node));
  const reaches = ({ scope: { kind, name: of = '' } }: StatusReport['pauses'][number]): boolean =>
    kind === 'cluster' || kind === 'reason' || (kind === 'nodePool' ? of === name : nodes.has(of));
  return [
    ...pauses.filter(reaches).map((pause) => `paused: ${pauseLine(pause)}`),
    ...budgets.filter(({ nodePool }) => nodePool === name).map(budgetText),
    ...stays.flatMap(({ why, nodes: staying }) => {
      const own = staying.filter((node) => nodes.has(node));
      return own.length === 0 ? [] : [`${own.slice(0, nodesShown).join(', ')} could go but stay: ${why}`];
    }),
  ];
}
