import { steerPods } from '../../../activities/consolidation/steering.js';
import { createClaimActivities } from '../../../activities/provisioning/claims.js';
import type { DisruptionCommand } from '../../../disruption/command.js';
import { taintNode } from '../../../activities/termination/mark-nodes.js';
import { validateCandidates } from '../../../activities/disruption/validation.js';
import type { Candidate, CandidateRef, ConsolidateResult } from '../../../workflows/messages.js';
import { beginEnd, launch, terminate } from './nodes.js';
import type { Provision } from './provision.js';
import type { World } from './world.js';

const validationMs = 15_000;

export interface Surroundings {
  readonly world: World;
  readonly provision: Provision;
}

/** `consolidate`: carries one decision out as the workflow does; gives the result that `disrupt` gets. */
export async function carryOut(
  around: Surroundings,
  workflowId: string,
  command: DisruptionCommand,
): Promise<Pick<ConsolidateResult, 'outcome' | 'reason' | 'targets'>> {
  const { world, provision } = around;
  const { decision } = command;
  await world.clock.sleep(command.validationMs ?? validationMs);
  const { valid, why } = await validated(around, command);
  if (valid.length === 0) {
    world.say(`abandoned ${command.candidates.map(({ node }) => node).join(', ')}: ${why}`);
    return { outcome: 'abandoned', reason: why };
  }
  for (const { node } of valid) await taintNode(world.deps, node);
  const places = decision?.replacements.length ?? 0;
  if (places > 0) for (const { node } of valid) provision.deleting.add(node);
  const launched = await replace(world, workflowId, command);
  const targets = [...(decision?.targets ?? []), ...launched];
  const names = targets.map(({ node }) => node);
  const claims = valid.map(({ claim }) => claim);
  const steer = async (to: readonly string[]): Promise<void> => {
    if (decision?.steers === true) await steerPods(world.deps, { claims, targets: to });
  };
  await steer(names);
  for (const { node, claim } of valid) await beginEnd(world, claim.name, node);
  await Promise.all(valid.map(({ node, claim }) => terminate(world, claim.name, node)));
  await steer([]);
  for (const { node } of valid) provision.deleting.delete(node);
  return { outcome: 'done', targets };
}

async function validated(
  { world }: Surroundings,
  { reason, candidates, decision }: DisruptionCommand,
): Promise<{ readonly valid: readonly Candidate[]; readonly why: string }> {
  const judged = { reason, candidates, ...(decision === undefined ? {} : { decision }) };
  const { valid, dropped } = await validateCandidates(world.deps, judged);
  return { valid, why: dropped[0]?.why ?? '' };
}

/** Launches what is planned in place of the nodes; gives it once all of it is initialized. */
async function replace(
  world: World,
  workflowId: string,
  { reason, decision }: DisruptionCommand,
): Promise<{ node: string; nodePool: string }[]> {
  if (decision === undefined || decision.replacements.length === 0) return [];
  const { replacements: claims, typeLists } = decision;
  const input = { planId: `${workflowId}/simulated`, claims, typeLists, reason };
  const { created } = await createClaimActivities(world.deps).createClaims(input);
  await Promise.all(created.map(({ name }) => launch(world, name)));
  return created.map(({ name, nodePool }) => ({ node: name, nodePool }));
}

export const goingOf = ({ candidates }: DisruptionCommand): CandidateRef[] =>
  candidates.map(({ claim, node, nodePool }) => ({ claim, node, nodePool }));
