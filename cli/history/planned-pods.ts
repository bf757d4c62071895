import type { CreateClaimsInput, CreatedClaim } from '../../activities/provisioning/contract.js';
import type { Engine } from './engine.js';
import { callOf } from './read-fields.js';
import type { Run, RunRef, Step } from './records.js';

type Created = Readonly<{ created: readonly CreatedClaim[] }>;

/** Batches of launches stand between a plan and its launches: the plan is in the parent of the parent. */
const generations = 2;

/** Pods that a claim was planned for, from the history of whoever had it created; empty when that is gone. */
export async function readPlannedPods(
  engine: Engine,
  runs: readonly Run[],
  claimName: string,
): Promise<readonly string[]> {
  const launch = runs.find(({ kind }) => kind === 'launch');
  let parent = launch === undefined ? undefined : parentOf(launch.steps);
  for (let i = 0; i < generations && parent !== undefined; i++) {
    // Its history may be gone before that of the launch.
    const steps: readonly Step[] = await engine.steps(parent).catch(() => []);
    const pods = podsOf(steps, claimName);
    if (pods !== undefined) return pods;
    parent = parentOf(steps);
  }
  return [];
}

function parentOf(steps: readonly Step[]): RunRef | undefined {
  const started = steps.find((step) => step.is === 'started');
  return started?.is === 'started' ? started.parent : undefined;
}

function podsOf(steps: readonly Step[], claimName: string): readonly string[] | undefined {
  for (const step of steps) {
    const call = callOf<CreateClaimsInput, Created>(step, 'createClaims');
    const claim = call?.result.created?.find(({ name }) => name === claimName);
    if (claim !== undefined) return call?.input.claims?.[claim.index]?.pods;
  }
  return undefined;
}
