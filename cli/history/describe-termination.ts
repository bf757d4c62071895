import type { DrainProgress, TerminationStart } from '../../activities/termination/contract.js';
import { counted } from '../../core/text.js';
import type { ExpediteOrder, TerminateNodeInput, TerminateNodeResult } from '../../workflows/messages.js';
import { blockedTexts } from '../../workflows/termination/drain-text.js';
import { age } from '../output/status-table.js';
import { attributeOf, byText, callOf, fieldsOf, resultOf, textOr } from './read-fields.js';
import type { Step } from './records.js';
import type { Describer } from './describer.js';
import { timeText } from '../../core/time.js';

/** Progress of a termination, by the first call of an activity. */
const stages: ReadonlyMap<string, string> = new Map([
  ['awaitVolumesDetached', 'drained; volumes are detached'],
  ['terminateInstance', 'the instance is being terminated'],
  ['finishTermination', 'finalizers are removed'],
]);

/** `terminateNode`: taint, drain with its blockers, escalation, force, volumes, instance, finalizers. */
export function terminationDescriber(): Describer {
  let held = '';
  const seen = new Set<string>();
  const stageText = (step: Step): string | undefined => {
    if (step.is !== 'activity' || seen.has(step.name)) return undefined;
    seen.add(step.name);
    return stages.get(step.name);
  };
  return (step) => {
    const drain = drainOf(step);
    if (drain?.state === 'blocked') {
      const before = held;
      held = drain.blockedBy.join(', ');
      return held === before ? undefined : blockedLine(drain);
    }
    return beginText(step) ?? escalationText(step) ?? stageText(step) ?? endText(step);
  };
}

function drainOf(step: Step): DrainProgress | undefined {
  const call =
    callOf<unknown, DrainProgress>(step, 'drainNode') ?? callOf<unknown, DrainProgress>(step, 'awaitVolumesDetached');
  const { state, blockedBy = [], remaining = 0, evicted = 0, ...more } = call?.result ?? {};
  return state === undefined ? undefined : { state, blockedBy, remaining, evicted, ...more };
}

function blockedLine({ blockedBy, blockers, blockedSince, remaining }: DrainProgress): string {
  if (blockedBy.length === 0) return 'nothing holds the drain up any more';
  const what = blockers === undefined ? blockedBy.join(', ') : blockedTexts(blockers).join('; ');
  const since = blockedSince === undefined ? '' : ` since ${timeText(blockedSince)}`;
  return `drain blocked${since} by ${what}; ${counted(remaining, 'pod')} left`;
}

function beginText(step: Step): string | undefined {
  if (step.is === 'started') {
    if (step.isContinued) return undefined;
    const { reason, deadline } = fieldsOf<TerminateNodeInput>(step.input);
    const until = deadline === undefined ? '' : `; pods lose their protection at ${timeText(deadline)}`;
    return `termination began (${textOr(reason, 'unknown')})${until}`;
  }
  const begun = callOf<unknown, TerminationStart>(step, 'beginTermination')?.result as TerminationStart | undefined;
  if (begun?.state === 'gone') return 'the NodeClaim was gone already';
  if (begun?.state !== 'terminating' || begun.nodeName === undefined) return undefined;
  const { nodeName, deadline } = begun;
  return `Node ${nodeName} tainted${deadline === undefined ? '' : `; pods lose their protection at ${timeText(deadline)}`}`;
}

type Stuck = Readonly<{ stuckMs: number }>;
type Restarted = Readonly<{ restarted: readonly string[]; refused: readonly { owner: string; why: string }[] }>;
type PublishedEvent = Readonly<{ reason: string; message: string }>;

/** Escalation of a stuck drain, by policy, users or notices of the cloud. */
function escalationText(step: Step): string | undefined {
  if (step.is === 'message') return step.name === 'expedite' ? expeditedText(fieldsOf(step.input)) : undefined;
  if (attributeOf(step, 'awaitingApproval') === true) return 'escalation: a person is asked whether to force the drain';
  const notified = callOf<Stuck, unknown>(step, 'notifyStuckDrain');
  if (notified !== undefined)
    return `escalation: an event was published, after ${age(notified.input.stuckMs ?? 0)} without progress`;
  const restarts = callOf<unknown, Restarted>(step, 'restartOwners');
  if (restarts !== undefined) return restartedText(restarts.result);
  const event = callOf<PublishedEvent, unknown>(step, 'publishDisruption');
  if (event?.input.reason === 'DrainForced') return textOr(event.input.message, 'drain forced');
  const deadline = callOf<{ deadline: number }, unknown>(step, 'setDeadline')?.input.deadline;
  return deadline === undefined ? undefined : `pods lose their protection at ${timeText(deadline)}`;
}

function restartedText({ restarted = [], refused = [] }: Partial<Restarted>): string {
  const left = refused.map(({ owner, why }) => `${owner} not: ${why}`);
  return `escalation: rollouts restarted: ${[...restarted, ...left].join('; ') || 'none'}`;
}

function expeditedText({ actor, reason, force, instanceEndsAt }: ExpediteOrder): string {
  const how = force === true ? 'drain forced' : 'drain expedited';
  const end = instanceEndsAt === undefined ? '' : `; the instance ends at ${timeText(instanceEndsAt)}`;
  return `${how} by ${byText(actor ?? 'another workflow', reason)}${end}`;
}

function endText(step: Step): string | undefined {
  const result = resultOf<TerminateNodeResult>(step);
  if (result?.outcome !== 'terminated') return undefined;
  const { podsEvicted = 0, durationMs = 0, forcedBy } = result;
  const forced = forcedBy === undefined ? '' : `, forced by ${forcedBy}`;
  return `terminated: ${counted(podsEvicted, 'pod')} evicted in ${age(durationMs)}${forced}`;
}
