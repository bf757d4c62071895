import type { CreateClaimsInput, CreatedClaim } from '../../activities/provisioning/contract.js';
import type { Engine } from './engine.js';
import { callOf } from './read-fields.js';
import type { Run, RunRef, Step } from './records.js';

type Created = Readonly<{ created: readonly CreatedClaim[] }>;

/** Plans start batches of launches, which start launches: the plan is in the grandparent. */
const generations = 2;

/**
 * Pods for which a claim was planned, from the history of the workflow that created it; empty if that is not retained.
 */
export async function readPlannedPods(
  engine: Engine,
  runs: readonly Run[],
  claimName: string,
): Promise<readonly string[]> {
  const launch = runs.find(({ kind }) => kind === 'launch');
  let parent = launch === undefined ? undefined : parentOf(launch.steps);
  for (let i = 0; i < generations && parent !== undefined; i++) {
    // Its history may be deleted before that of the launch.
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
