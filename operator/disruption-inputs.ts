import type { Node, PodDisruptionBudget } from '../api/kubernetes.js';
import { labels, taints, annotations } from '../api/labels.js';
import { recordsOf } from '../cluster/pool-records.js';
import { settleInTurn } from '../core/at-once.js';
import { isTrue, conditionOf } from '../core/conditions.js';
import { parseWorkflowId, type WorkflowKind } from '../core/ids.js';
import { hasTaint } from '../core/taints.js';
import type { Kind, Kinds } from '../kube/port.js';
import type { OperatorContext } from './context.js';
import type { Log } from '../core/telemetry.js';
import type { Starter } from './starter.js';
import { WorkQueue } from './work-queue.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { compareUrgency, waitOf } from '../cluster/disruption-wait.js';
import { labelsOf } from '../cluster/node-labels.js';
import { lookUp } from '../core/own.js';

/**
 * Signals `disrupt` on changes by users and controllers that allow or prevent disruption: pools, policies, overlays,
 * PodDisruptionBudgets, annotations and labels on nodes. Pod changes reach it through conditions of NodeClaims
 * (consolidation/last-pod-event); without a signal it searches every five minutes.
 */
export function watchDisruptionInputs(context: OperatorContext, signalDisrupt: () => void): () => void {
  const { cache } = context;
  const follow = <K extends Kind>(kind: K, keyOf: (object: Kinds[K]) => unknown, then: () => void): (() => void)[] => {
    if (!cache.kinds.includes(kind)) return [];
    // A deletion has the last state in `object`, without `previous`.
    return [
      cache.on(kind, ({ type, object, previous }) => {
        if (type !== 'modified' || previous === undefined || keyOf(object) !== keyOf(previous)) then();
      }),
    ];
  };
  const generation = ({ metadata }: { readonly metadata: { readonly generation?: number } }): number | undefined =>
    metadata.generation;
  const stops = [
    ...follow('NodePool', ofPool, signalDisrupt),
    ...follow('PodDisruptionBudget', allows, signalDisrupt),
    ...follow('DisruptionPolicy', generation, signalDisrupt),
    ...follow('NodeOverlay', generation, signalDisrupt),
    ...follow('DisruptionPause', generation, signalDisrupt),
    watchWaitingDisruptions(context),
    // A joining node can be disrupted only once it is initialized, which its NodeClaim shows (claim-conditions.ts).
    cache.on('Node', ({ type, object, previous }) => {
      const isChanged = previous !== undefined && ofNode(object) !== ofNode(previous);
      if (type === 'deleted' || (isChanged && isInUse(previous) && isInUse(object))) signalDisrupt();
    }),
  ];
  // For changes made while no operator ran.
  signalDisrupt();
  return () => {
    for (const stop of stops) stop();
  };
}

/** Budgets, policies and templates; the labels that policies select; whether nodes of it are being disrupted. */
function ofPool(pool: Kinds['NodePool']): string {
  const { metadata, status } = pool;
  // `disrupt` started the commands itself.
  const isDisrupted = recordsOf(pool).records.disrupting.some(
    ({ owner }) => parseWorkflowId(owner)?.kind !== 'consolidate',
  );
  return JSON.stringify([metadata.generation, metadata.labels, isTrue(status?.conditions, 'Ready'), isDisrupted]);
}

function allows({ metadata, status }: PodDisruptionBudget): string {
  return `${metadata.generation ?? 0} ${(status?.disruptionsAllowed ?? 0) > 0}`;
}

/** Other annotations are irrelevant, and agents write them constantly (consolidation/when-it-searches). */
const ownAnnotation = /^([^/]*\.)?(karpenter\.sh|karpenter\.k8s\.aws|stowage\.dev)\//;

function isInUse(node: Node): boolean {
  const { labels: own, deletionTimestamp } = node.metadata;
  const joins = own?.[labels.nodePool] !== undefined && own[labels.initialized] !== 'true';
  return !joins && deletionTimestamp === undefined && !hasTaint(node, taints.disrupted);
}

function ofNode({ metadata, spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => ownAnnotation.test(key));
  return JSON.stringify([annotations, metadata.labels, spec?.unschedulable, ready]);
}

/** One event changes many objects, such as the end of a node: they are signalled together. */
const settleMs = 1000;
/**
 * Minimum time between signals. During a series of changes each signal costs a workflow task, and its search result is
 * outdated when it ends (Karpenter searches every ten seconds).
 */
const gapMs = 5000;

/**
 * Signals `disrupt` that something changed, for all parts of the operator: retried until it succeeds, and sent at most
 * once in `gapMs`. Changes in between are signalled after that time.
 */
export class DisruptSignals {
  private readonly queue: WorkQueue;
  private pause: NodeJS.Timeout | undefined;
  private more = false;

  constructor({ starter, log }: { readonly starter: Pick<Starter, 'disrupt'>; readonly log: Log }) {
    this.queue = new WorkQueue('signalling disrupt', () => this.send(starter), log, 1);
  }

  signal(): void {
    this.more = true;
    if (this.pause === undefined) this.sendAfter(settleMs);
  }

  stop(): void {
    clearTimeout(this.pause);
    this.queue.stop();
  }

  private async send(starter: Pick<Starter, 'disrupt'>): Promise<undefined> {
    this.more = false;
    await starter.disrupt();
    this.sendAfter(gapMs);
    return undefined;
  }

  private sendAfter(pauseMs: number): void {
    this.pause = setTimeout(() => {
      if (this.more) this.queue.add('cluster');
      else this.pause = undefined;
    }, pauseMs);
    this.pause.unref();
  }
}

/** Maximum number of workflows signalled for one change of a NodePool's budget: a change allows only some of them. */
const mostSignalled = 20;
/** Minimum time between signals for one NodePool, milliseconds. */
const quietMs = 5000;

type Context = Pick<OperatorContext, 'cache' | 'starter' | 'log'>;
/** The key of workflows that wait for the budget of a NodePool. */
const budgetOf = (nodePool: string): string => `budget/${nodePool}`;

/**
 * Signals disruptions when something changes that they wait for (budgets/woken): after a change of a pause all that it may
 * concern, running or waiting; after a change of a NodePool's budget the most urgent that wait for it. Each workflow checks
 * by itself whether it may go on; one without a signal checks later.
 */
function watchWaitingDisruptions(context: Context): () => void {
  const { cache, log } = context;
  const queue = new WorkQueue('waking disruptions that wait', (changed) => wake(context, changed), log, 1);
  const budget = (nodePool: string | undefined): void => {
    if (nodePool !== undefined) queue.addAfter(budgetOf(nodePool), quietMs);
  };
  const budgets = (): void => {
    for (const { metadata } of cache.all('NodePool')) budget(metadata.name);
  };
  const stops = [
    cache.on('NodePool', ({ object, previous }) => {
      if (previous === undefined || allowsMore(object, previous)) budget(object.metadata.name);
    }),
    // A node that is gone or Ready again no longer counts against the budget.
    cache.on('NodeClaim', ({ type, object }) => {
      if (type === 'deleted') budget(labelsOf(object).nodePool);
    }),
    cache.on('Node', ({ object, previous }) => {
      if (readyOf(object) !== (previous && readyOf(previous))) budget(object.metadata.labels?.[labels.nodePool]);
    }),
    ...(cache.kinds.includes('DisruptionPolicy') ? [cache.on('DisruptionPolicy', budgets)] : []),
    ...(cache.kinds.includes('DisruptionPause')
      ? [
          cache.on('DisruptionPause', ({ type, object, previous }) => {
            if (type !== 'modified' || object.metadata.generation !== previous?.metadata.generation)
              queue.add('pauses');
          }),
        ]
      : []),
  ];
  // Changes made while no operator ran.
  queue.add('pauses');
  budgets();
  return () => {
    for (const stop of stops) stop();
    queue.stop();
  };
}

/** Whether the spec changed, or fewer nodes are being disrupted. */
const allowsMore = (pool: NodePool, before: NodePool): boolean =>
  pool.metadata.generation !== before.metadata.generation ||
  recordsOf(pool).records.disrupting.length < recordsOf(before).records.disrupting.length;

const readyOf = ({ status }: Node): string | undefined => conditionOf(status?.conditions, 'Ready')?.status;

async function wake({ cache, starter }: Context, changed: string): Promise<undefined> {
  const claims = cache.all('NodeClaim').filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const isOfPool = (claim: NodeClaim): boolean => budgetOf(labelsOf(claim).nodePool) === changed;
  const found = changed === 'pauses' ? pausable(claims) : waitingForBudget(claims.filter(isOfPool));
  // An annotation may name anything: what Temporal refuses delays no other.
  await settleInTurn([...new Set(found)], (workflowId) => starter.wake(workflowId));
  return undefined;
}

const pausableKinds: ReadonlySet<WorkflowKind | undefined> = new Set(['consolidate', 'replace', 'expire', 'repair']);

const pausable = (claims: readonly NodeClaim[]): readonly string[] =>
  claims.flatMap((claim) => {
    const wait = waitOf(claim);
    if (wait?.for === 'Pause') return [wait.workflow];
    const owner = lookUp(claim.metadata.annotations, annotations.disruptionOwner) ?? '';
    return pausableKinds.has(parseWorkflowId(owner)?.kind) ? [owner] : [];
  });

function waitingForBudget(claims: readonly NodeClaim[]): readonly string[] {
  return claims
    .flatMap((claim) => waitOf(claim) ?? [])
    .filter((wait) => wait.for === 'Budget')
    .sort(compareUrgency)
    .slice(0, mostSignalled)
    .map(({ workflow }) => workflow);
}
