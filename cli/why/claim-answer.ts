import type { Condition } from '../../api/kubernetes.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { labelsOf, poolText } from '../../cluster/node-labels.js';
import { claimLifecycle } from '../../core/conditions.js';
import { parseWorkflowId } from '../../core/ids.js';
import type { Explanation, NodeVerdict } from '../../workflows/messages.js';
import { onOneLine } from '../../core/text.js';
import { timeText } from '../../core/time.js';
import { nameOf, isDeleting } from '../../core/names.js';

/** The result of `stowage why`, for `-o json`. */
export interface Why {
  readonly subject: string;
  readonly answer: string;
  readonly details: readonly string[];
  readonly workflows: readonly WhyWorkflow[];
}

export interface WhyWorkflow {
  readonly workflowId: string;
  readonly state: string;
  readonly phase: string;
  readonly waitingFor?: string;
  readonly until?: string;
  readonly facts: Explanation['facts'];
  /** Why its last run failed. */
  readonly failure?: string;
}

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
  const missing = claimLifecycle.find((type) => conditionOf(claim, type)?.status !== 'True');
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

const conditionOf = ({ status }: NodeClaim, type: string): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

function conditionText(claim: NodeClaim, type: string): string {
  const { status = 'not set', reason = '', message = '' } = conditionOf(claim, type) ?? {};
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
