import type { WorkflowKind } from '../../core/ids.js';
import type { Run, Step } from './records.js';
import {
  consolidationDescriber,
  expirationDescriber,
  repairDescriber,
  replacementDescriber,
} from './describe-disruption.js';
import { interruptionDescriber } from './describe-interruption.js';
import { launchDescriber } from './describe-launch.js';
import { peopleDescriber } from './describe-people.js';
import { terminationDescriber } from './describe-termination.js';
import type { About, Describer } from './describer.js';

/** Workflows for one node, each with its describer. */
const describers: ReadonlyMap<WorkflowKind, (about: About) => Describer> = new Map([
  ['launch', launchDescriber],
  ['terminate', terminationDescriber],
  ['interrupt', interruptionDescriber],
  ['consolidate', consolidationDescriber],
  ['replace', replacementDescriber],
  ['expire', expirationDescriber],
  ['repair', repairDescriber],
]);

export interface LifeEntry {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly what: string;
  readonly workflowId?: string;
}

/** Whether workflows of this kind are described. */
export const isDescribed = (kind: WorkflowKind): boolean => describers.has(kind);

/** The steps of the runs of one workflow, in order. */
export function lifeEntries(runs: readonly Run[], about: About): readonly LifeEntry[] {
  const [first] = runs;
  const begin = first === undefined ? undefined : describers.get(first.kind);
  if (first === undefined || begin === undefined) return [];
  let own = begin(about);
  let people = peopleDescriber();
  return runs.flatMap(({ workflowId, steps }) =>
    steps.flatMap((step) => {
      // An id may be reused, as after a restore of etcd: start with new state.
      if (step.is === 'started' && !step.isContinued) [own, people] = [begin(about), peopleDescriber()];
      const what = own(step) ?? people(step) ?? brokenText(step, first.kind);
      return what === undefined ? [] : [{ at: step.at, what, workflowId }];
    }),
  );
}

/** A run that did not complete normally. */
function brokenText(step: Step, kind: WorkflowKind): string | undefined {
  if (step.is !== 'ended' || step.how === 'completed' || step.how === 'continued as new') return undefined;
  const why = step.why === undefined || step.why === '' ? '' : `: ${step.why}`;
  return `workflow ${kind} ${step.how}${why}`;
}
