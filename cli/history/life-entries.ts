import type { WorkflowKind } from '../../core/ids.js';
import {
  type About,
  attributeOf,
  byText,
  callOf,
  type Describer,
  fieldsOf,
  phaseOf,
  resultOf,
  type Run,
  type Started,
  type Step,
  taintText,
  textOr,
} from './records.js';
import {
  consolidationDescriber,
  expirationDescriber,
  repairDescriber,
  replacementDescriber,
} from './describe-disruption.js';
import type { LaunchInstanceResult, NodeSync } from '../../activities/launch/contract.js';
import { counted } from '../../core/text.js';
import type {
  ExpediteOrder,
  HandleInterruptionResult,
  HoldOrder,
  InterruptionNotice,
  LaunchNodeInput,
  LaunchOutcome,
  Order,
  TerminateNodeInput,
  TerminateNodeResult,
} from '../../workflows/messages.js';
import { hourly } from '../output/table.js';
import type { DrainProgress, TerminationStart } from '../../activities/termination/contract.js';
import { blockedTexts } from '../../workflows/termination/drain-text.js';
import { age } from '../output/status-table.js';
import { timeText } from '../../core/time.js';

const interruptionPhases: ReadonlyMap<string, string> = new Map([
  ['replacing', 'a replacement is launched before the drain'],
  ['replacing ahead', 'a replacement is launched ahead of an interruption'],
]);

/** `handleInterruption`: each notice of the cloud, and the remaining time at the end. */
function interruptionDescriber(): Describer {
  return (step) => {
    if (step.is === 'message') return step.name === 'interruption' ? noticeText(step) : undefined;
    const result = resultOf<HandleInterruptionResult>(step);
    return result === undefined
      ? (taintText(step) ?? interruptionPhases.get(phaseOf(step) ?? ''))
      : interruptionEndText(result);
  };
}

function noticeText({ input }: Extract<Step, { is: 'message' }>): string {
  const { kind, at } = fieldsOf<InterruptionNotice>(input);
  return `interruption notice: ${textOr(kind, 'unknown')}${at === undefined ? '' : `, given at ${timeText(at)}`}`;
}

function interruptionEndText({ outcome, secondsToSpare }: Partial<HandleInterruptionResult>): string {
  if (outcome === 'unknown-instance') return 'interruption over: no NodeClaim has that instance';
  if (outcome === 'noted') return 'interruption noted: the node stays';
  if (outcome === 'handed-over') return 'interruption over: another workflow was terminating the node already';
  if (secondsToSpare === undefined) return 'interruption over: the node is gone';
  const seconds = counted(Math.abs(secondsToSpare), 'second');
  return `interruption over: the node was gone ${seconds} ${secondsToSpare < 0 ? 'after' : 'before'} the cloud was to take the instance`;
}

const orders: ReadonlyMap<string, string> = new Map([
  ['approve', 'approved'],
  ['reject', 'rejected'],
  ['abort', 'aborted'],
  ['retry', 'tried again, as ordered'],
  ['expedite', 'expedited'],
]);

/** Messages of users to any workflow: approvals, orders, pauses. */
function peopleDescriber(): Describer {
  let isAnswered = false;
  return (step) => {
    if (step.is === 'message') {
      const text = orderText(step.name, step.input);
      if (text !== undefined && (step.name === 'approve' || step.name === 'reject')) isAnswered = true;
      return text;
    }
    if (attributeOf(step, 'awaitingApproval') === true) {
      isAnswered = false;
      return 'a person is asked for approval';
    }
    return pauseText(step) ?? defaultText(step, isAnswered);
  };
}

function orderText(name: string, input: unknown): string | undefined {
  if (name === 'hold') return typeof input === 'boolean' ? undefined : holdText(fieldsOf<HoldOrder>(input));
  const what = orders.get(name);
  if (what === undefined) return undefined;
  const { actor, reason } = fieldsOf<Order>(input);
  // Orders without an actor are refused; workflows expedite each other without one.
  if (typeof actor !== 'string' && name !== 'expedite') return undefined;
  return `${what} by ${byText(actor, reason)}`;
}

const holdText = ({ on, actor, reason }: Partial<HoldOrder>): string | undefined =>
  typeof actor !== 'string' ? undefined : `${on === false ? 'released' : 'held'} by ${byText(actor, reason)}`;

function pauseText(step: Step): string | undefined {
  const paused = attributeOf(step, 'paused');
  if (paused === true) return 'waits: held by a pause or by a person';
  return paused === false ? 'goes on' : undefined;
}

function defaultText(step: Step, isAnswered: boolean): string | undefined {
  const phase = phaseOf(step);
  if (isAnswered || (phase !== 'approved' && phase !== 'rejected')) return undefined;
  return `${phase}: no answer in time`;
}

/** `terminateNode`: taint, drain with its blockers, escalation, force, volumes, instance, finalizers. */
function terminationDescriber(): Describer {
  let held = '';
  return (step) => {
    const drain = drainOf(step);
    if (drain?.state === 'blocked') {
      const before = held;
      held = drain.blockedBy.join(', ');
      return held === before ? undefined : blockedLine(drain);
    }
    const done = drain?.state === 'done' ? drainedText(step, drain) : undefined;
    return done ?? beginText(step) ?? escalationText(step) ?? endText(step);
  };
}

function drainOf(step: Step): DrainProgress | undefined {
  const call =
    callOf<unknown, DrainProgress>(step, 'drainNode') ?? callOf<unknown, DrainProgress>(step, 'awaitVolumesDetached');
  const { state, blockedBy = [], remaining = 0, evicted = 0, ...more } = call?.result ?? {};
  return state === undefined ? undefined : { state, blockedBy, remaining, evicted, ...more };
}

/** The end of the drain, with that of the volumes where the same look saw it. */
function drainedText(step: Step, { volumesDetached }: DrainProgress): string {
  if (callOf(step, 'drainNode') === undefined) return 'volumes are detached';
  return volumesDetached === true ? 'drained; volumes are detached' : 'drained';
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

const podsShown = 5;

/** `launchNode`: the pods, the reason, the instance, the Node. */
function launchDescriber({ pods }: About): Describer {
  let isRegistered = false;
  return (step) => {
    if (step.is === 'started') return step.isContinued ? undefined : begunText(step, pods);
    const launched = callOf<unknown, LaunchInstanceResult>(step, 'launchInstance');
    if (launched !== undefined) return attemptText(launched.result as LaunchInstanceResult);
    const sync = nodeOf(step);
    if (sync !== undefined) {
      const before = isRegistered;
      isRegistered = true;
      return nodeText(sync, before);
    }
    const outcome = resultOf<LaunchOutcome>(step) as LaunchOutcome | undefined;
    return outcome === undefined ? undefined : outcomeText(outcome);
  };
}

function begunText({ input, summary, details }: Started, pods: readonly string[]): string {
  const { nodePool, reason } = fieldsOf<LaunchNodeInput>(input);
  const forPods = pods.length === 0 ? '' : ` for ${counted(pods.length, 'pod')}: ${podsText(pods)}`;
  // What follows the first paragraph is guidance for the Temporal UI (workflows/start-details.ts).
  const why = details?.split('\n\n', 1)[0] ?? (pods.length === 0 ? summary : undefined);
  const parts = [
    `launch began${poolText(nodePool)}${forPods}`,
    ...(reason === undefined ? [] : [`replaces nodes (${reason})`]),
    ...(why === undefined ? [] : [why]),
  ];
  return parts.join('; ');
}

/** A standalone NodeClaim has no NodePool. */
function poolText(nodePool: unknown): string {
  return nodePool === '' ? '' : ` in NodePool ${textOr(nodePool, 'unknown')}`;
}

function podsText(pods: readonly string[]): string {
  const more = pods.length - podsShown;
  return `${pods.slice(0, podsShown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function attemptText(result: LaunchInstanceResult): string | undefined {
  switch (result.state) {
    case 'launched': {
      const { instanceId, instanceType, capacityType, zone, pricePerHour } = result.instance;
      const price = pricePerHour === undefined ? '' : `, ${hourly(pricePerHour)} per hour`;
      return `instance ${instanceId} launched: ${instanceType} ${capacityType} in ${zone}${price}`;
    }
    case 'refused':
      return `launch refused (${result.reason}): ${result.message}`;
    case 'failed':
      return `launch attempt failed: ${result.message}`;
    default:
      return undefined;
  }
}

type Seen = Extract<NodeSync, { nodeName: string }>;

function nodeOf(step: Step): Seen | undefined {
  const sync = callOf<unknown, NodeSync>(step, 'syncNode')?.result as NodeSync | undefined;
  return sync?.state === 'registered' || sync?.state === 'initialized' ? sync : undefined;
}

function nodeText({ state, nodeName, message }: Seen, isRegistered: boolean): string | undefined {
  const registered = `registered as Node ${nodeName}`;
  if (state === 'initialized') return isRegistered ? 'initialized' : `${registered} and initialized`;
  return isRegistered ? undefined : `${registered}${message === '' ? '' : `; not initialized yet: ${message}`}`;
}

function outcomeText(outcome: LaunchOutcome): string | undefined {
  if (outcome.outcome === 'deleted')
    return `launch given up (${outcome.reason}): ${outcome.message}; the NodeClaim is deleted`;
  return outcome.outcome === 'superseded' ? 'launch stopped, for the NodeClaim is being deleted' : undefined;
}

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
