import type { WorkflowKind } from '../../core/ids.js';
import type { Run, Step } from './records.js';
import { consolidationTeller, expirationTeller, repairTeller, replacementTeller } from './tell-disruption.js';
import { interruptionTeller } from './tell-interruption.js';
import { launchTeller } from './tell-launch.js';
import { peopleTeller } from './tell-people.js';
import { terminationTeller } from './tell-termination.js';
import type { About, Teller } from './teller.js';

/** Workflows that are about one node, each in its own words. */
const tellers: ReadonlyMap<WorkflowKind, (about: About) => Teller> = new Map([
  ['launch', launchTeller],
  ['terminate', terminationTeller],
  ['interrupt', interruptionTeller],
  ['consolidate', consolidationTeller],
  ['replace', replacementTeller],
  ['expire', expirationTeller],
  ['repair', repairTeller],
]);

export interface Told {
  /** Milliseconds of the epoch. */
  readonly at: number;
  readonly what: string;
  readonly workflowId?: string;
}

/** Whether anything of this kind is told. */
export const isTold = (kind: WorkflowKind): boolean => tellers.has(kind);

/** What the runs of one workflow did, in their order. */
export function tellWorkflow(runs: readonly Run[], about: About): readonly Told[] {
  const [first] = runs;
  const begin = first === undefined ? undefined : tellers.get(first.kind);
  if (first === undefined || begin === undefined) return [];
  let own = begin(about);
  let people = peopleTeller();
  return runs.flatMap(({ workflowId, steps }) =>
    steps.flatMap((step) => {
      // An id may be used again, as after a restore of etcd: nothing of that was told before.
      if (step.is === 'started' && !step.isContinued) [own, people] = [begin(about), peopleTeller()];
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
