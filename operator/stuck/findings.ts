import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Condition, Pod } from '../../api/kubernetes.js';
import { conditionOf } from '../../core/conditions.js';
import { isPending } from '../../core/pods.js';
import { podRefusalsOn, refusalText } from '../../cluster/refused-pods.js';
import { foreignReason, foreignRemedy } from '../foreign-workflow.js';
import type { ForeignWorkflow } from '../foreign-workflow.js';
import type { FailingLoop } from './leader-loops.js';
import type {
  Observed,
  ObservedActivity,
  ObservedEngine,
  ObservedFailing,
  ObservedFailure,
  ObservedQueue,
  ObservedTask,
  ObservedWorkflow,
} from './observed.js';
import { nameOf, fullName } from '../../core/names.js';

export const stuckKinds = [
  'temporal',
  'missing',
  'task',
  'failing',
  'slow',
  'signals',
  'queue',
  'backlog',
  'excluded',
  'pool',
  'pods',
] as const;

/**
 * - `temporal`: it does not respond.
 * - `missing`: an entity workflow does not run, or a workflow of another application has an id of Stowage.
 * - `task`: a workflow task fails, so its workflow makes no progress.
 * - `failing`: an activity fails and is retried, a workflow has failed, or a loop of the leader fails.
 * - `slow`: an activity of planning or disruption runs for too long.
 * - `signals`: a workflow's history grows beyond its limit.
 * - `queue`: a task queue has no worker, or a task is not started.
 * - `backlog`: tasks wait in a queue that has workers.
 * - `excluded`: planning cannot read an object, and leaves it out.
 * - `pool`: a NodePool backs off because its NodeClaims were refused.
 * - `pods`: pods have lacked a node for long.
 */
type StuckKind = (typeof stuckKinds)[number];

/** Something that makes no progress. */
export interface Finding {
  readonly kind: StuckKind;
  /** A workflow id, a task queue, `NodePool NAME`, `pod/NAMESPACE/NAME`. */
  readonly subject: string;
  /** Milliseconds since the epoch; absent if unknown. */
  readonly since?: number;
  /** The problem; the text is stable while the problem is the same. */
  readonly why: string;
  /** Number of attempts. */
  readonly attempts?: number;
  /** How to fix it. */
  readonly then: string;
}

/** Running workers start tasks within milliseconds. */
const lateTaskMs = 30_000;
/** Workers poll again after at most 60 s. */
const pollMs = 65_000;
/**
 * Activities of entity workflows that block everything else, with their expected duration. A planning pass is bounded;
 * a decision takes at most a minute.
 */
const slowMs: ReadonlyMap<string, number> = new Map([
  ['provision', 30_000],
  ['disrupt', 120_000],
]);
/** Other workflows retry routinely: throttled calls, late nodes. */
const ordinaryAttempts = 5;
/**
 * Entity workflows continue as new at 1,500 events, long before this; Temporal terminates a workflow at 51,200 events
 * or 50 MiB.
 */
const mostEvents = 10_000;
const mostBytes = 10 * 2 ** 20;
/** A launch takes a minute or two. */
const podsMs = 5 * 60_000;

/** Everything that is stuck, the most disruptive problem first. */
export function findStuck(observed: Observed): readonly Finding[] {
  const { now, engine, loops, pods, pools } = observed;
  const found = [
    ...(engine === undefined ? [unreachable(observed)] : inEngine(engine, now)),
    ...loops.map(failingLoop),
    ...pools.flatMap((pool) => restingPool(pool, pools)),
    ...pools.flatMap((pool) => refusedPods(pool, now)),
    ...waitingPods(pods, now),
  ];
  return found.sort((a, b) => stuckKinds.indexOf(a.kind) - stuckKinds.indexOf(b.kind));
}

/** One for each shape of pods: the text has the time of the next attempt (provisioning/refused-pods). */
function refusedPods(pool: NodePool, now: number): Finding[] {
  const then = 'see what its scheduler asks for: nodes are launched for it again, at longer and longer intervals';
  return podRefusalsOn(pool, now)
    .filter(({ until }) => until > now)
    .map((refusal) => {
      const { pod, at, times } = refusal;
      return { kind: 'pods', subject: `pod/${pod}`, since: at, attempts: times, why: refusalText(refusal), then };
    });
}

export function failingLoop({ loop: subject, since, why }: FailingLoop): Finding {
  return { kind: 'failing', subject, since, why: `it fails: ${why}`, then: triedAgain };
}

/** The finding that prevents planning of new nodes, if any. */
export function planningFinding(findings: readonly Finding[], provision: string): Finding | undefined {
  return findings.find(({ kind, subject }) => kind === 'temporal' || (subject === provision && kind !== 'excluded'));
}

function unreachable({ unreachable: why = 'it cannot be reached: no answer' }: Observed): Finding {
  return {
    kind: 'temporal',
    subject: 'Temporal',
    why,
    then: 'nothing is started until it answers: stowage doctor says what is wrong',
  };
}

function inEngine({ workflows, missing, foreign, queues, failed }: ObservedEngine, now: number): Finding[] {
  return [
    ...missing.map(missingEntity),
    ...foreign.map(takenId),
    ...workflows.flatMap((workflow) => inWorkflow(workflow, now)),
    ...queues.flatMap((queue) => inQueue(queue, now)),
    ...failed.map(failedWorkflow),
  ];
}

function missingEntity(workflowId: string): Finding {
  const then = "the operator starts it within two minutes: see the operator's log if it does not";
  return { kind: 'missing', subject: workflowId, why: 'it does not run', then };
}

function takenId(foreign: ForeignWorkflow): Finding {
  return { kind: 'missing', subject: foreign.workflowId, why: foreignReason(foreign), then: foreignRemedy };
}

function failedWorkflow({ workflowId: subject, since, runs: attempts, why }: ObservedFailure): Finding {
  const then = 'unfinished work is started again within two minutes, and continues once this is fixed';
  return { kind: 'failing', subject, since, attempts, why: `it failed: ${why}`, then };
}

function inWorkflow(workflow: ObservedWorkflow, now: number): Finding[] {
  const { workflowId: subject, task, activities, failing, leftOut } = workflow;
  const found = [
    ...(task === undefined ? [] : ofTask(task, now)),
    ...(failing === undefined ? [] : [ofFailing(failing)]),
    ...activities.flatMap((activity) => ofActivity(workflow, activity, now)),
    ...ofHistory(workflow),
    ...(leftOut === undefined ? [] : [ofExcluded(leftOut)]),
  ];
  return found.map((each) => ({ ...each, subject }));
}

type About = Omit<Finding, 'subject'>;

function ofTask(task: ObservedTask, now: number): About[] {
  const { attempt, scheduledAt, isStarted, failingSince, failure, isDiverged } = task;
  if (attempt > 1) {
    const why = `its workflow task fails${failure === undefined ? '' : `: ${failure}`}`;
    const then =
      isDiverged === true
        ? 'it is terminated after a minute, and what the cluster asks for is started again'
        : 'fix or roll back the workers: the workflow then resumes where it was';
    return [{ kind: 'task', since: failingSince ?? scheduledAt, why, attempts: attempt - 1, then }];
  }
  if (isStarted || now - scheduledAt < lateTaskMs) return [];
  return [{ kind: 'queue', since: scheduledAt, why: 'no worker takes its workflow task', then: startWorker }];
}

/** Name of the current build if workers have no version. */
const noVersion = 'without a version';
const startWorker = 'start a worker (stowage run --role worker), or see the log of the workers';

function ofFailing({ since, why }: ObservedFailing): About {
  return { kind: 'failing', since, why, then: triedAgain };
}

function ofExcluded(objects: string): About {
  const then = 'fix or delete the object: everything else is planned meanwhile';
  return { kind: 'excluded', why: `it leaves out what it cannot work with: ${objects}`, then };
}

const triedAgain = 'it is retried automatically once this is fixed';

function ofActivity({ type: workflow }: ObservedWorkflow, activity: ObservedActivity, now: number): About[] {
  const { type, attempt, since, dueAt, runningSince, failure } = activity;
  const slowAfter = slowMs.get(workflow);
  if (failure !== undefined && attempt >= (slowAfter === undefined ? ordinaryAttempts : 2)) {
    const from = since ?? runningSince;
    const why = `${type} fails: ${failure}`;
    return [
      { kind: 'failing', ...(from === undefined ? {} : { since: from }), why, attempts: attempt - 1, then: triedAgain },
    ];
  }
  if (runningSince !== undefined && slowAfter !== undefined && now - runningSince >= slowAfter) {
    const then = 'the cloud or the API server may be slow to answer: see the log of the workers';
    return [{ kind: 'slow', since: runningSince, why: `${type} takes long`, then }];
  }
  if (dueAt === undefined || now - dueAt < lateTaskMs) return [];
  return [{ kind: 'queue', since: dueAt, why: `no worker takes ${type}`, then: startWorker }];
}

function ofHistory({ historyEvents, historyBytes }: ObservedWorkflow): About[] {
  if (historyEvents < mostEvents && historyBytes < mostBytes) return [];
  const why = `its history grows beyond ${mostEvents} events or ${mostBytes / 2 ** 20} MiB: signals pile up`;
  return [
    { kind: 'signals', why, then: 'see what else is reported about it; Temporal ends a workflow at 51,200 events' },
  ];
}

/** Problems of one task queue: no worker polls it, or its tasks wait. */
export function inQueue(queue: ObservedQueue, now: number): Finding[] {
  const { name, tasks, polledAt, build, backlog, backlogAgeMs } = queue;
  const subject = `${name} (${tasks} tasks)`;
  const waiting = backlogAgeMs >= lateTaskMs ? { since: now - backlogAgeMs } : {};
  if (polledAt === undefined || now - polledAt >= pollMs) {
    const since = polledAt === undefined ? waiting : { since: polledAt };
    const why =
      build === undefined ? 'no worker polls it' : `no worker of the current build (${build || noVersion}) polls it`;
    return [{ kind: 'queue', subject, ...since, why, then: startWorker }];
  }
  if (backlog === 0 || backlogAgeMs < lateTaskMs) return [];
  return [{ kind: 'backlog', subject, ...waiting, why: 'tasks wait for a worker', then: 'run more workers' }];
}

function restingPool(pool: NodePool, pools: readonly NodePool[]): Finding[] {
  const refused = refusalOf(pool);
  if (refused === undefined) return [];
  const subject = `NodePool ${nameOf(pool)}`;
  const ofPods = refused.reason === 'NodeClaimRefusedForPods';
  const why = `${ofPods ? 'NodeClaims of it' : 'its NodeClaims'} are refused: ${refused.message ?? ''}`;
  const others = pools.some(
    (each) => each !== pool && each.spec.replicas === undefined && refusalOf(each) === undefined,
  );
  const whose = ofPods ? 'these pods' : 'its pods';
  const meanwhile = ofPods ? ', and all others get nodes of it' : '';
  const then = `${whose} ${others ? 'are planned for other NodePools' : 'wait, for no other NodePool takes them'}${meanwhile}`;
  return [{ kind: 'pool', subject, ...at(refused.lastTransitionTime), why, then }];
}

function refusalOf({ status }: NodePool): Condition | undefined {
  const accepted = conditionOf(status?.conditions, 'NodeClaimsAccepted');
  return accepted?.status === 'False' ? accepted : undefined;
}

/** Cached by the list of pods, which is the same while nothing changes. */
function pendingOf(pods: readonly Pod[]): readonly Pod[] {
  let pending = knownPending.get(pods);
  if (pending === undefined) knownPending.set(pods, (pending = pods.filter(isPending)));
  return pending;
}

const knownPending = new WeakMap<readonly Pod[], readonly Pod[]>();

/** One finding for all of them, described by the pod that has waited longest. */
function waitingPods(pods: readonly Pod[], now: number): Finding[] {
  const late = pendingOf(pods)
    .map((pod) => ({ pod, ...at(unschedulableSince(pod)) }))
    .filter(({ since }) => since !== undefined && now - since >= podsMs)
    .sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
  const [oldest] = late;
  if (oldest === undefined) return [];
  const why = late.length === 1 ? 'it waits for a node' : 'it and others wait for a node';
  const { pod, since } = oldest;
  const [namespace = '', name = ''] = fullName(pod).split('/');
  const then = `stowage why pod/${name} --namespace ${namespace}`;
  return [{ kind: 'pods', subject: `pod/${fullName(pod)}`, ...(since === undefined ? {} : { since }), why, then }];
}

function unschedulableSince({ metadata, status }: Pod): string | undefined {
  return conditionOf(status?.conditions, 'PodScheduled')?.lastTransitionTime ?? metadata.creationTimestamp;
}

function at(text: string | undefined): { since?: number } {
  const since = Date.parse(text ?? '');
  return Number.isNaN(since) ? {} : { since };
}
