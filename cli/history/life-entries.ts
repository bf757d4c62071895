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

/** Workflows that are about one node, each in its own words. */
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
  /** Milliseconds of the epoch. */
  readonly at: number;
  readonly what: string;
  readonly workflowId?: string;
}

/** Whether anything of this kind is told. */
export const isDescribed = (kind: WorkflowKind): boolean => describers.has(kind);

/** What the runs of one workflow did, in their order. */
export function lifeEntries(runs: readonly Run[], about: About): readonly LifeEntry[] {
  const [first] = runs;
  const begin = first === undefined ? undefined : describers.get(first.kind);
  if (first === undefined || begin === undefined) return [];
  let own = begin(about);
  let people = peopleDescriber();
  return runs.flatMap(({ workflowId, steps }) =>
    steps.flatMap((step) => {
      // An id may be used again, as after a restore of etcd: nothing of that was told before.
      if (step.is === 'started' && !step.isContinued) [own, people] = [begin(about), peopleDescriber()];
      const what = own(step) ?? people(step) ?? brokenText(step, first.kind);
      return what === undefined ? [] : [{ at: step.at, what, workflowId }];
    }),
  );
}

/** A run that ended otherwise than by its own code's end. */
function brokenText(step: Step, kind: WorkflowKind): string | undefined {
  if (step.is !== 'ended' || step.how === 'completed' || step.how === 'continued as new') return undefined;
  const why = step.why === undefined || step.why === '' ? '' : `: ${step.why}`;
  return `workflow ${kind} ${step.how}${why}`;
}
