import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Node } from '../api/kubernetes.js';
import { annotations, labels } from '../api/labels.js';
import { compareUrgency, waitOf } from '../cluster/disruption-wait.js';
import { labelsOf } from '../cluster/node-labels.js';
import { recordsOf } from '../cluster/pool-records.js';
import { conditionOf } from '../core/conditions.js';
import { parseWorkflowId, type WorkflowKind } from '../core/ids.js';
import { lookUp } from '../core/own.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** Maximum number of workflows signalled for one change of a NodePool's budget: a change allows only some of them. */
const mostSignalled = 20;
/** Minimum time between signals for one NodePool, milliseconds. */
const gapMs = 5000;

type Context = Pick<OperatorContext, 'cache' | 'starter' | 'log'>;
/** The key of workflows that wait for the budget of a NodePool. */
const budgetOf = (nodePool: string): string => `budget/${nodePool}`;

/**
 * Signals disruptions when something changes that they wait for (budgets/woken): after a change of a pause all that it may
 * concern, running or waiting; after a change of a NodePool's budget the most urgent that wait for it. Each workflow checks
 * by itself whether it may go on; one without a signal checks later.
 */
export function watchWaitingDisruptions(context: Context): () => void {
  const { cache, log } = context;
  const queue = new WorkQueue('waking disruptions that wait', (changed) => wake(context, changed), log, 1);
  const budget = (nodePool: string | undefined): void => {
    if (nodePool !== undefined) queue.addAfter(budgetOf(nodePool), gapMs);
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
  for (const workflowId of new Set(found)) await starter.wake(workflowId);
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
