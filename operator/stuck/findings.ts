import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Condition, Pod } from '../../api/kubernetes.js';
import { conditionOf } from '../../core/conditions.js';
import { isPending, podKey } from '../../core/pods.js';
import { refusalsOn, refusalText } from '../../cluster/refused-pods.js';
import { foreignReason, foreignRemedy } from '../foreign-workflow.js';
import type { ForeignWorkflow } from '../foreign-workflow.js';
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
 * - `temporal`: it does not answer.
 * - `missing`: an entity workflow does not run, or somebody else's workflow has an id of ours.
 * - `task`: a workflow task fails, so that its workflow stands still.
 * - `failing`: a step fails and is tried again, or a workflow has failed.
 * - `slow`: a step of planning or of deciding runs for long.
 * - `signals`: a workflow's history grows beyond its bound.
 * - `queue`: a task queue has no worker, or a task is taken by none.
 * - `backlog`: tasks wait in a queue that has workers.
 * - `excluded`: planning cannot work with an object, and leaves it out.
 * - `pool`: a NodePool rests, for its NodeClaims were refused.
 * - `pods`: pods have lacked a node for long.
 */
type StuckKind = (typeof stuckKinds)[number];

/** Something that does not go on as it should. */
export interface Finding {
  readonly kind: StuckKind;
  /** A workflow's id, a task queue, `NodePool NAME`, `pod/NAMESPACE/NAME`. */
  readonly subject: string;
  /** Milliseconds of the epoch; absent when nobody knows. */
  readonly since?: number;
  /** What is the matter: the same text for as long as it is the same matter. */
  readonly why: string;
  /** How often it was tried. */
  readonly attempts?: number;
  /** What a person can do. */
  readonly then: string;
}

/** Tasks are taken within milliseconds by a worker that is there. */
const lateTaskMs = 30_000;
/** A worker asks anew after 60 s at the latest. */
const pollMs = 65_000;
/** Steps of entities that hold everything else up. A pass of planning is bounded; a decision has a minute. */
const slowMs: ReadonlyMap<string, number> = new Map([
  ['provision', 30_000],
  ['disrupt', 120_000],
]);
/** Other workflows try again as a matter of course: throttled calls, late nodes. */
const ordinaryAttempts = 5;
/** Entities continue as new at 1,500 events, long before this; Temporal ends a workflow at 51,200 events or 50 MiB. */
const mostEvents = 10_000;
const mostBytes = 10 * 2 ** 20;
/** A launch takes a minute or two. */
const podsMs = 5 * 60_000;

/** Everything that is stuck, what holds up most first. */
export function findStuck(observed: Observed): readonly Finding[] {
  const { now, engine, pods, pools } = observed;
  const found = [
    ...(engine === undefined ? [unreachable(observed)] : inEngine(engine, now)),
    ...pools.flatMap((pool) => restingPool(pool, pools)),
    ...pools.flatMap((pool) => refusedPods(pool, now)),
    ...waitingPods(pods, now),
  ];
  return found.sort((a, b) => stuckKinds.indexOf(a.kind) - stuckKinds.indexOf(b.kind));
}

/** Of each sort one: what it waits for is in the text (provisioning/refused-pods). */
function refusedPods(pool: NodePool, now: number): Finding[] {
  const then = 'see what its scheduler asks for: nodes are launched for it again, at longer and longer intervals';
  return refusalsOn(pool, now)
    .filter(({ until }) => until > now)
    .map((refusal) => {
      const { pod, at, times } = refusal;
      return { kind: 'pods', subject: `pod/${pod}`, since: at, attempts: times, why: refusalText(refusal), then };
    });
}

/** What keeps new nodes from being planned, if anything does. */
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

function ofTask({ attempt, scheduledAt, isStarted, failingSince, failure }: ObservedTask, now: number): About[] {
  if (attempt > 1) {
    const why = `its workflow task fails${failure === undefined ? '' : `: ${failure}`}`;
    const then = 'fix or roll back the workers: the workflow then resumes where it was';
    return [{ kind: 'task', since: failingSince ?? scheduledAt, why, attempts: attempt - 1, then }];
  }
  if (isStarted || now - scheduledAt < lateTaskMs) return [];
  return [{ kind: 'queue', since: scheduledAt, why: 'no worker takes its workflow task', then: startWorker }];
}

/** The current build where workers have no version. */
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

/** What is wrong with one task queue: nobody polls it, or its tasks wait. */
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
  const subject = `NodePool ${pool.metadata.name ?? ''}`;
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

/** Worked out once for each list of pods: in a cluster at rest it stays the same. */
function pendingOf(pods: readonly Pod[]): readonly Pod[] {
  let pending = knownPending.get(pods);
  if (pending === undefined) knownPending.set(pods, (pending = pods.filter(isPending)));
  return pending;
}

const knownPending = new WeakMap<readonly Pod[], readonly Pod[]>();

/** All of them are one finding: the one that has waited longest speaks for them. */
function waitingPods(pods: readonly Pod[], now: number): Finding[] {
  const late = pendingOf(pods)
    .map((pod) => ({ pod, ...at(unschedulableSince(pod)) }))
    .filter(({ since }) => since !== undefined && now - since >= podsMs)
    .sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
  const [oldest] = late;
  if (oldest === undefined) return [];
  const why = late.length === 1 ? 'it waits for a node' : 'it and others wait for a node';
  const { pod, since } = oldest;
  const [namespace = '', name = ''] = podKey(pod).split('/');
  const then = `stowage why pod/${name} --namespace ${namespace}`;
  return [{ kind: 'pods', subject: `pod/${podKey(pod)}`, ...(since === undefined ? {} : { since }), why, then }];
}

function unschedulableSince({ metadata, status }: Pod): string | undefined {
  return conditionOf(status?.conditions, 'PodScheduled')?.lastTransitionTime ?? metadata.creationTimestamp;
}

function at(text: string | undefined): { since?: number } {
  const since = Date.parse(text ?? '');
  return Number.isNaN(since) ? {} : { since };
}
