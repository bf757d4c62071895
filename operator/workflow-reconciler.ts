import type { Log, Metrics } from '../core/telemetry.js';
import { messageOf } from '../core/error-message.js';
import { failuresOf } from '../core/at-once.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { desiredForClaim, desiredWorkflows, launchDueIn, taintedByClosed, withoutObject } from './desired-workflows.js';
import { desiredForPool } from './desired-for-pool.js';
import type { ObservedCluster, WorkflowStart } from './observed-cluster.js';
import type { Requeue } from './work-queue.js';

/** Temporal, as used by the reconciler. Starting a workflow that already runs is not an error. */
export interface WorkflowEngine {
  /** Ids of all open workflows of the cluster. May lag by a few seconds. */
  running(): Promise<ReadonlySet<string>>;
  start(workflow: WorkflowStart): Promise<'started' | 'known'>;
  /** Ends a running workflow whose object is gone. */
  endObjectless(workflowId: string): Promise<void>;
  /** Signals `disrupt` to evaluate the cluster. */
  disrupt(): Promise<void>;
}

/** Concurrent starts of one pass. */
const startsAtOnce = 20;

/**
 * Compares the workflows that have to run for the cluster (`desired-workflows.ts`) with those that Temporal runs, and
 * starts missing ones. A pass checks everything; between passes changed objects are checked individually. Only the
 * reconciler starts these workflows from outside Temporal, and it keeps no record of earlier starts: a workflow that
 * was terminated by hand, or lost with its namespace, is missing in the next pass.
 */
export class WorkflowReconciler {
  /** Running at the last pass, or started since. */
  private known = new Set<string>();
  /** Without an object at the last pass: an object missing in the cache twice is gone. */
  private objectless: ReadonlySet<string> = new Set();
  private passes = 0;

  constructor(
    private readonly engine: WorkflowEngine,
    private readonly observe: () => ObservedCluster,
    private readonly log: Log,
    private readonly metrics: Pick<Metrics, 'count'>,
  ) {}

  /**
   * Rejects if Temporal cannot list the workflows, or, after everything was tried, if some of it failed. Missing
   * workflows are started first; a failure does not stop the others.
   */
  async pass(): Promise<void> {
    const observed = this.observe();
    const running = await this.engine.running();
    this.known = new Set(running);
    const { starts, unreadable } = desiredWorkflows(observed);
    for (const each of unreadable) this.log.warn(each, 'an object does not say which workflows it needs');
    const isRestart = this.passes++ > 0;
    const failures = [
      await this.startMissing(starts, isRestart),
      await eachDone(this.objectlessTwice(observed, running), 'workflows could not be ended', (id) =>
        this.engine.endObjectless(id),
      ),
      // `disrupt` removes taints that a closed workflow has left.
      await eachDone(taintedByClosed(observed, running) ? ['disrupt'] : [], 'workflows could not be signalled', () =>
        this.engine.disrupt(),
      ),
    ];
    throwAny(failures);
  }

  /** Starts the workflows for a changed claim; returns the time after which its launch should be checked. */
  async claimChanged(claim: NodeClaim): Promise<Requeue | undefined> {
    const observed = this.observe();
    throwAny([await this.startMissing(desiredForClaim(observed, claim), false)]);
    const afterMs = launchDueIn(observed, claim);
    return afterMs === undefined ? undefined : { afterMs: afterMs + 100 };
  }

  async poolChanged(pool: NodePool): Promise<undefined> {
    throwAny([await this.startMissing(desiredForPool(this.observe(), pool), false)]);
    return undefined;
  }

  private startMissing(starts: readonly WorkflowStart[], isRestart: boolean): Promise<string | undefined> {
    const missing = starts.filter(({ workflowId }) => !this.known.has(workflowId));
    return eachDone(missing, 'workflows could not be started', (workflow) => this.start(workflow, isRestart));
  }

  private async start(workflow: WorkflowStart, isRestart: boolean): Promise<void> {
    const { workflowId, type } = workflow;
    const outcome = await this.engine.start(workflow);
    this.known.add(workflowId);
    // The list of workflows lags: one that another process started just now was not missing.
    if (!isRestart || outcome === 'known') return;
    this.log.warn({ workflowId }, 'a workflow that has to run was missing: started it');
    this.metrics.count('stowage_workflows_restarted_total', { workflow_type: type });
  }

  private objectlessTwice(observed: ObservedCluster, running: ReadonlySet<string>): readonly string[] {
    const now = new Set(withoutObject(observed, running));
    const gone = [...now].filter((id) => this.objectless.has(id));
    this.objectless = now;
    return gone;
  }
}

/** Runs `work` for every item; throws with the number of failures (`failed`) and the first cause. */
async function eachDone<T>(
  items: readonly T[],
  failed: string,
  work: (item: T) => Promise<void>,
): Promise<string | undefined> {
  const failures = await failuresOf(items, work, { atOnce: startsAtOnce });
  const [first] = failures;
  return first === undefined ? undefined : `${failures.length} of ${items.length} ${failed}: ${messageOf(first.error)}`;
}

function throwAny(failures: readonly (string | undefined)[]): void {
  const texts = failures.filter((text) => text !== undefined);
  if (texts.length > 0) throw new Error(texts.join('; '));
}
