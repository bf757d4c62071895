import {
  allHandlersFinished,
  ApplicationFailure,
  condition,
  getExternalWorkflowHandle,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  ClaimsCreated,
  CreatedClaim,
  PlanNodesInput,
  PlanNodesResult,
} from '../../activities/provisioning/contract.js';
import { failures as failureTypes } from '../../core/failures.js';
import { backOffMs } from '../../core/back-off.js';
import type { NamespacedName } from '../../core/refs.js';
import type { Resume } from '../../packing/types.js';
import { workflowNow } from '../clock.js';
import type {
  BatchSummary,
  CacheMark,
  DeletingNodes,
  ProvisionInput,
  ProvisionState,
  PodExplanation,
  ReplacementRequest,
  RestingPool,
  TimedMark,
} from '../messages.js';
import {
  deletingNodesSignal,
  explainPodUpdate,
  leftOutMemo,
  planQuery,
  podsPendingSignal,
  replaceSignal,
  replacementsPlannedSignal,
  searchAttributes,
} from '../messages.js';
import { runEntity } from '../entity/run-entity.js';
import { isHistoryLong, untilHistoryFull } from '../history-limit.js';
import { FailedSteps } from '../entity/failed-steps.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { notify } from '../calls/other-workflows.js';
import { batchFacts, batchSummary, claimsText, rowOf } from './batch-summary.js';
import { DeletingNodeList } from './deleting-nodes.js';
import { answerTo, waitersOf } from './replacement-answers.js';
import type { PlanRound } from './replacement-answers.js';
import { checkText } from '../people/orders.js';
import { setQueryHandler, setSignalHandler, setUpdateHandler } from '../handlers.js';

type Planned = Extract<PlanNodesResult, { state: 'planned' }>;

/** How many of its own writes `provision` remembers, and for how long: by then the watch cache has them. */
const marksKept = 500;
const marksKeptMs = 60_000;
/** How long a batch waits for the watch cache to be current before it counts as failed. */
const cacheWaitMs = 30_000;
const cacheBackOff = { firstMs: 250, longestMs: 2000 };
/** Bounds how often a batch is planned again without NodePools whose NodeClaims the API server refused. */
const plansPerBatch = 50;

/**
 * Creates all NodeClaims for pods (node-claims/written-from-a-plan). Plans for pending pods, and creates the NodeClaims,
 * whose launches start with them. Replacements for deleting nodes are planned in the same batches, so that no pod gets
 * two nodes. A batch that fails keeps its requests and is tried again.
 */
export async function provision(input: ProvisionInput): Promise<never> {
  const run = new ProvisionRun(input);
  return runEntity<typeof provision>({
    round: () => run.batch(),
    isIdle: allHandlersFinished,
    next: () => [{ ...input, carried: run.state() }],
  });
}

class ProvisionRun {
  private readonly progress: Progress;
  private readonly activities;
  private batches: number;
  private readonly chain: string;
  private isPending: boolean;
  private marks: readonly TimedMark[];
  private replacements: ReplacementRequest[];
  private readonly deleting: DeletingNodeList;
  private resting: readonly RestingPool[];
  private last: BatchSummary | undefined;
  /** Where the next batch continues, if the last one had more pods than it could plan. */
  private resume: Resume | undefined;
  private readonly failed: FailedSteps;

  constructor(input: ProvisionInput) {
    this.activities = activitiesOf(input.cluster);
    const { batches, chain, isPending, marks, replacements, deleting, resting = [], last, resume } = stateOf(input);
    this.batches = batches;
    this.chain = chain;
    this.isPending = isPending;
    this.marks = marks;
    this.replacements = [...replacements];
    this.deleting = new DeletingNodeList(deleting);
    this.resting = resting;
    this.last = last;
    this.resume = resume;
    this.listen();
    this.progress = new Progress(
      'Provisioning: pending pods become nodes',
      [{ key: searchAttributes.cluster, value: input.cluster }],
      {},
      'idle',
    );
    this.failed = new FailedSteps(this.progress);
  }

  private listen(): void {
    setSignalHandler(podsPendingSignal, () => void (this.isPending = true));
    setSignalHandler(replaceSignal, (request) => {
      if (!this.replacements.some(({ id }) => id === request.id)) this.replacements.push(request);
    });
    setSignalHandler(deletingNodesSignal, (deleting) => this.noteDeleting(deleting));
    setQueryHandler(planQuery, () => this.last);
    const explain = async (pod: NamespacedName): Promise<PodExplanation> =>
      this.activities.packing.explainPod.executeWithOptions(
        { summary: `why is pod ${pod.namespace}/${pod.name} where it is?`, scheduleToCloseTimeout: '2 minutes' },
        [pod],
      );
    setUpdateHandler(explainPodUpdate, explain, (pod: Partial<NamespacedName> | undefined) => {
      checkText('namespace', pod?.namespace);
      checkText('name', pod?.name);
    });
  }

  state(): ProvisionState {
    const { batches, chain, isPending, marks, replacements, deleting, resting } = this;
    return {
      batches,
      chain,
      isPending,
      marks,
      replacements,
      deleting: deleting.all,
      ...(resting.length === 0 ? {} : { resting }),
      ...(this.last === undefined ? {} : { last: this.last }),
      ...(this.resume === undefined ? {} : { resume: this.resume }),
    };
  }

  /** Waits for work and plans one batch, which includes pods that the last batch left over. */
  async batch(): Promise<undefined> {
    if (!this.failed.hasFailed) {
      this.progress.enter('idle', { waitingFor: 'pending pods' });
      const hasWork = (): boolean => this.isPending || this.replacements.length > 0 || this.resume !== undefined;
      // Explanations of pods fill the history, too.
      await condition(() => hasWork() || isHistoryLong());
      if (!hasWork()) return undefined;
    }
    const requests = [...this.replacements];
    this.isPending = false;
    this.batches += 1;
    this.deleting.reserve(requests, workflowNow());
    const work = async (): Promise<void> => {
      await this.planUntilPlaced(requests);
      this.replacements = this.replacements.filter((request) => !requests.includes(request));
    };
    // The next attempt plans for all pending pods and answers the same requests.
    await this.failed.attempt('a batch', work, () => void (this.isPending = true));
  }

  /**
   * Plans and creates NodeClaims, again while there is more to plan or NodeClaims were refused, and answers the
   * requests.
   */
  private async planUntilPlaced(requests: readonly ReplacementRequest[]): Promise<void> {
    let plan: Planned;
    let more: boolean;
    const done: PlanRound[] = [];
    const rows: BatchSummary['claims'][number][] = [];
    do {
      plan = await this.plan();
      const { created, resting } = await this.create(plan, done.length, requests);
      done.push({ plan, created });
      rows.push(...created.map((claim) => rowOf(claim, plan.claims[claim.index])));
      // Another NodePool may take the pods of one whose NodeClaims were refused.
      more = (plan.more && created.length > 0) || (resting.length > 0 && done.length < plansPerBatch);
    } while (more);
    this.resume = plan.resume;
    await this.answer(requests, done);
    this.last = batchSummary(this.batches, plan, rows);
    this.progress.addFacts(batchFacts(this.batches, plan, rows.length));
    const leftOut = plan.leftOut ?? '';
    if (leftOut !== (workflowInfo().memo?.[leftOutMemo] ?? '')) upsertMemo({ [leftOutMemo]: leftOut });
  }

  /**
   * Plans without these nodes from now on, or with them again. A replacement request is revoked only by its own id,
   * even before it was planned (commands/given-back).
   */
  private noteDeleting(deleting: DeletingNodes): void {
    this.deleting.take(deleting, workflowNow());
    this.replacements = this.replacements.filter(({ id }) => id !== deleting.request);
    this.mark(deleting.marks);
  }

  /**
   * Plans, after waiting until the watch cache is current. The workflow waits by a timer, so that no worker is
   * occupied.
   */
  private async plan(): Promise<Planned> {
    const until = workflowNow() + cacheWaitMs;
    for (let attempt = 1; ; attempt++) {
      this.progress.enter('packing', { facts: { batch: this.batches } });
      const summary = `pack batch ${this.batches}`;
      const result = await untilHistoryFull(() =>
        this.activities.packing.planNodes.executeWithOptions({ summary }, [this.planInput()]),
      );
      if (result.state === 'planned') return result;
      const waitMs = Math.min(backOffMs(attempt, cacheBackOff), until - workflowNow());
      if (waitMs <= 0) throw ApplicationFailure.create({ message: result.reason, type: failureTypes.unavailable.type });
      this.progress.enter('waiting to plan', { waitingFor: result.reason, until });
      await sleep(waitMs, { summary: `wait for ${result.reason}`.slice(0, 200) });
    }
  }

  private planInput(): PlanNodesInput {
    const now = workflowNow();
    this.marks = this.marks.filter(({ at }) => now - at < marksKeptMs);
    this.resting = this.resting.filter(({ until }) => until > now);
    const { marks, resting, resume } = this;
    return {
      marks: marks.map(({ mark }) => mark),
      without: this.deleting.names,
      ...(resume === undefined ? {} : { resume }),
      ...(resting.length === 0 ? {} : { resting }),
    };
  }

  private mark(marks: readonly CacheMark[]): void {
    const at = workflowNow();
    this.marks = [...this.marks, ...marks.map((mark) => ({ at, mark }))].slice(-marksKept);
  }

  private async create(
    plan: Planned,
    round: number,
    requests: readonly ReplacementRequest[],
  ): Promise<Pick<ClaimsCreated, 'created' | 'resting'>> {
    if (plan.claims.length === 0) return { created: [], resting: [] };
    this.progress.enter('creating', { facts: { claims: plan.claims.length } });
    const reason = requests[0]?.reason ?? 'provisioned';
    const planId = `${this.chain}/${this.batches}/${round}`;
    const waiters = plan.claims.map((_, index) => waitersOf(plan, index, requests));
    const { created, refused, resting } = await this.activities.kube.createClaims.executeWithOptions(
      { summary: claimsText(plan.claims), startToCloseTimeout: '5 minutes' },
      [{ planId, claims: plan.claims, typeLists: plan.typeLists, reason, waiters }],
    );
    this.mark(created.map(markOf));
    this.excludePools(resting, refused);
    return { created, resting };
  }

  /**
   * Excludes NodePools whose NodeClaims the API server refused from the next plans; only for the pods that are the
   * cause, where these are known.
   */
  private excludePools(resting: readonly RestingPool[], refused: ClaimsCreated['refused']): void {
    const names = new Set(resting.map(({ nodePool }) => nodePool));
    const known = (name: string): RestingPool | undefined => this.resting.find(({ nodePool }) => nodePool === name);
    // Pods that were refused earlier stay excluded.
    const merged = resting.map((each) => {
      const before = known(each.nodePool)?.pods ?? [];
      return each.pods === undefined ? each : { ...each, pods: [...new Set([...before, ...each.pods])] };
    });
    this.resting = [...this.resting.filter(({ nodePool }) => !names.has(nodePool)), ...merged];
    const [first] = refused;
    if (first !== undefined) this.progress.addFacts({ 'last refused': first.reason });
  }

  private async answer(requests: readonly ReplacementRequest[], rounds: readonly PlanRound[]): Promise<void> {
    for (const request of requests) {
      await notify(() =>
        getExternalWorkflowHandle(request.replyTo).signal(replacementsPlannedSignal, answerTo(request, rounds)),
      );
    }
  }
}

/** The state that the run before carried over; a first run has none. */
function stateOf({ carried }: ProvisionInput): ProvisionState {
  // Ids of children derive from it, and `runId` would change after a reset.
  const chain = workflowInfo().originalExecutionRunId;
  return carried ?? { batches: 0, chain, isPending: false, marks: [], replacements: [], deleting: [] };
}

function markOf({ name, resourceVersion }: CreatedClaim): CacheMark {
  return { kind: 'NodeClaim', name, resourceVersion };
}
