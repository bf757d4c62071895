import type { Log, Metrics } from '../core/telemetry.js';
import { messageOf } from '../core/error-message.js';
import { failuresOf } from '../core/at-once.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { desiredForClaim, desiredWorkflows, launchDueIn, taintedByClosed, withoutObject } from './desired-workflows.js';
import { desiredForPool } from './desired-for-pool.js';
import type { ObservedCluster, WorkflowStart } from './observed-cluster.js';
import type { Requeue } from './work-queue.js';

/** Temporal, as the reconciler sees it. Starting what runs already is no error. */
export interface WorkflowEngine {
  /** Ids of every open workflow of the cluster. May lag behind by a few seconds. */
  running(): Promise<ReadonlySet<string>>;
  start(workflow: WorkflowStart): Promise<'started' | 'known'>;
  /** Has a running workflow look at its object again. */
  wake(workflowId: string): Promise<void>;
  /** Has `disrupt` look at the cluster. */
  disrupt(): Promise<void>;
}

/** Starts that one pass has under way at a time. */
const startsAtOnce = 20;

/**
 * Holds the workflows that have to run for the cluster (`desired-workflows.ts`) against those that Temporal runs, and starts
 * what is missing. A pass looks at everything; between passes what changes is looked at by itself. Nobody else starts these
 * workflows from outside Temporal, and nothing is kept of what was started before: a workflow that was terminated by hand, or lost with its
 * namespace, is missing in the next pass.
 */
export class WorkflowReconciler {
  /** Known to run at the last pass, or started since. */
  private known = new Set<string>();
  /** Without an object at the last pass: what the cache did not have twice is gone. */
  private objectless: ReadonlySet<string> = new Set();
  private passes = 0;

  constructor(
    private readonly engine: WorkflowEngine,
    private readonly observe: () => ObservedCluster,
    private readonly log: Log,
    private readonly metrics: Pick<Metrics, 'count'>,
  ) {}

  /**
   * Rejects when Temporal cannot say what runs, and once all is done when some of it failed. What is missing comes first, and nothing
   * that fails keeps the rest from being done.
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
      await eachDone(this.objectlessTwice(observed, running), 'workflows could not be woken', (id) =>
        this.engine.wake(id),
      ),
      // `disrupt` frees what a workflow that is closed has left tainted.
      await eachDone(taintedByClosed(observed, running) ? ['disrupt'] : [], 'workflows could not be told', () =>
        this.engine.disrupt(),
      ),
    ];
    throwAny(failures);
  }

  /** What a claim that changed needs now; the time after which its launch is due to be looked for. */
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
    // Lists of workflows lag behind: what was started a moment ago by somebody else was not missing.
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

/** Does `work` for every item; says how many of them `failed`, and why the first did. */
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
