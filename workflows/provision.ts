import {
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { ClaimPlan, CreatedClaim, PlanNodesResult } from '../activities/contract.js';
import { workflowIds } from '../core/ids.js';
import { workflowNow } from './clock.js';
import type {
  BatchSummary,
  CacheMark,
  LeavingNode,
  ProvisionInput,
  ProvisionState,
  ReplacementRequest,
} from './messages.js';
import {
  configureSignal,
  leavingSignal,
  nominatedSignal,
  planQuery,
  podsPendingSignal,
  replaceSignal,
  replacementsPlannedSignal,
  searchAttributes,
} from './messages.js';
import { beginLaunch } from './node-launch.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { tell } from './relations.js';
import { answerTo, waitersOf } from './replacement-answers.js';
import type { Round } from './replacement-answers.js';

type Planned = Extract<PlanNodesResult, { state: 'planned' }>;

const eventsPerRun = 4000;
/** Enough for the next pass to see own writes; the cache then has newer versions anyway. */
const marksKept = 500;
const rowsKept = 50;

/**
 * The one creator of NodeClaims for pods (sections 2.1, 2.10). Collects pending pods in a batch window, has them packed,
 * creates the claims and starts a `launchNode` for each. Replacements for leaving nodes are planned in the same passes,
 * so that no pod is counted for twice.
 */
export async function provision(input: ProvisionInput): Promise<never> {
  const run = new ProvisionRun(input);
  while (!run.due()) {
    await run.batch();
  }
  return continueAsNew<typeof provision>({ ...input, window: run.window, carried: run.state() });
}

class ProvisionRun {
  window;
  private readonly progress: Progress;
  private readonly activities;
  private batches: number;
  private readonly chain: string;
  private pending: Set<string>;
  private marks: CacheMark[];
  private replacements: ReplacementRequest[];
  private leaving: LeavingNode[];
  private last: BatchSummary | undefined;

  constructor(private readonly input: ProvisionInput) {
    this.window = input.window;
    this.activities = activitiesOf(input.cluster);
    const { carried } = input;
    this.batches = carried?.batches ?? 0;
    this.chain = carried?.chain ?? workflowInfo().runId;
    this.pending = new Set(carried?.pending);
    this.marks = [...(carried?.marks ?? [])];
    this.replacements = [...(carried?.replacements ?? [])];
    this.leaving = [...(carried?.leaving ?? [])];
    this.last = carried?.last;
    setHandler(podsPendingSignal, (uids) => uids.forEach((uid) => this.pending.add(uid)));
    setHandler(replaceSignal, (request) => {
      if (!this.replacements.some(({ id }) => id === request.id)) this.replacements.push(request);
    });
    setHandler(leavingSignal, ({ nodes, until, marks }) => {
      this.leaving = this.leaving.filter(({ node }) => !nodes.includes(node));
      if (until > workflowNow()) this.leaving.push(...nodes.map((node) => ({ node, until })));
      this.marks = [...this.marks, ...marks].slice(-marksKept);
    });
    setHandler(configureSignal, ({ window }) => void (this.window = window));
    setHandler(planQuery, () => this.last);
    this.progress = new Progress(
      'Provisioning: pending pods become nodes',
      [{ key: searchAttributes.cluster, value: input.cluster }],
      {},
      'idle',
    );
  }

  due(): boolean {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    return continueAsNewSuggested || historyLength > eventsPerRun;
  }

  state(): ProvisionState {
    return {
      batches: this.batches,
      chain: this.chain,
      pending: [...this.pending],
      marks: this.marks,
      replacements: this.replacements,
      leaving: this.leaving,
      ...(this.last === undefined ? {} : { last: this.last }),
    };
  }

  /** Waits for work and does one batch of it. */
  async batch(): Promise<void> {
    this.progress.enter('idle', { waitingFor: 'pending pods' });
    await condition(() => this.pending.size > 0 || this.replacements.length > 0);
    if (this.replacements.length === 0) await this.fillWindow();
    const requests = this.replacements;
    this.replacements = [];
    this.pending = new Set();
    this.batches += 1;
    this.holdPlaces(requests);
    let round = 0;
    let plan: Planned;
    let more: boolean;
    const rounds: Round[] = [];
    const rows: BatchSummary['claims'][number][] = [];
    do {
      plan = await this.plan();
      const fresh = await this.create(plan, round, requests);
      rounds.push({ plan, created: fresh });
      rows.push(...fresh.map((claim) => rowOf(claim, plan.claims[claim.index])));
      more = plan.more && fresh.length > 0;
      round += 1;
    } while (more);
    await this.answer(requests, rounds);
    this.summarise(plan, rows);
  }

  /** Section 2.1: the window stays open while new pods arrive within `idleMs`, at most `maxMs`. */
  private async fillWindow(): Promise<void> {
    const closesAt = workflowNow() + this.window.maxMs;
    this.progress.enter('batching', { waitingFor: 'more pods', until: closesAt });
    for (let size = this.pending.size, open = true; open; size = this.pending.size) {
      const wait = Math.min(this.window.idleMs, closesAt - workflowNow());
      if (wait <= 0) return;
      open = await condition(() => this.pending.size > size || this.replacements.length > 0, wait, {
        summary: 'batch window',
      });
      if (this.replacements.length > 0) return;
    }
  }

  private holdPlaces(requests: readonly ReplacementRequest[]): void {
    const now = workflowNow();
    this.leaving = this.leaving.filter(({ until }) => until > now);
    for (const { nodes, holdMs } of requests) {
      for (const node of nodes) this.leaving.push({ node, until: now + holdMs });
    }
  }

  private async plan(): Promise<Planned> {
    this.progress.enter('packing', { facts: { batch: this.batches } });
    const without = [...new Set(this.leaving.map(({ node }) => node))].sort();
    for (;;) {
      const result = await this.activities.packing.planNodes.executeWithOptions(
        { summary: `pack batch ${this.batches}` },
        [{ marks: this.marks, without }],
      );
      if (result.state === 'planned') return result;
      this.progress.enter('packing', { waitingFor: result.reason });
      await sleep(1000, { summary: result.reason });
    }
  }

  private async create(
    plan: Planned,
    round: number,
    requests: readonly ReplacementRequest[],
  ): Promise<readonly CreatedClaim[]> {
    if (plan.nominated.length > 0) {
      const until = workflowNow() + plan.nominationMs;
      await tell(() =>
        getExternalWorkflowHandle(workflowIds.disrupt(this.input.cluster)).signal(
          nominatedSignal,
          plan.nominated.map((node) => ({ node, until })),
        ),
      );
    }
    if (plan.claims.length === 0) return [];
    this.progress.enter('creating', { facts: { claims: plan.claims.length } });
    const reason = requests[0]?.reason ?? 'provisioned';
    const { created } = await this.activities.kube.createClaims.executeWithOptions(
      { summary: describeClaims(plan.claims), startToCloseTimeout: '5 minutes' },
      [{ planId: `${this.chain}/${this.batches}/${round}`, claims: plan.claims, typeLists: plan.typeLists, reason }],
    );
    this.marks = [...this.marks, ...created.map(markOf)].slice(-marksKept);
    await Promise.all(created.map((claim) => this.launch(claim, plan, requests)));
    return created;
  }

  private async launch(claim: CreatedClaim, plan: Planned, requests: readonly ReplacementRequest[]): Promise<void> {
    const { cluster } = this.input;
    const [notify, ...alsoNotify] = waitersOf(plan, claim.index, requests);
    const { name, uid, nodePool, index } = claim;
    const { podCount = 0, cheapest, why } = plan.claims[index] ?? {};
    await beginLaunch(
      {
        cluster,
        claim: { name, uid },
        nodePool,
        ...(notify === undefined ? {} : { notify }),
        ...(alsoNotify.length === 0 ? {} : { alsoNotify }),
      },
      { summary: `${name}: ${podCount} pods, ${cheapest?.instanceType ?? 'any type'}`, details: why },
    );
  }

  private async answer(requests: readonly ReplacementRequest[], rounds: readonly Round[]): Promise<void> {
    for (const request of requests) {
      await tell(() =>
        getExternalWorkflowHandle(request.replyTo).signal(replacementsPlannedSignal, answerTo(request, rounds)),
      );
    }
  }

  private summarise(plan: Planned, claims: BatchSummary['claims']): void {
    this.last = {
      batch: this.batches,
      claims: claims.slice(0, rowsKept),
      onExistingNodes: plan.onExistingNodes,
      unschedulable: plan.unschedulable,
      ...(plan.firstReason === undefined ? {} : { firstReason: plan.firstReason }),
      pricePerHour: plan.pricePerHour,
      lowerBoundPerHour: plan.lowerBoundPerHour,
    };
    this.progress.note({
      batch: this.batches,
      'claims created': claims.length,
      'pods on existing nodes': plan.onExistingNodes,
      unschedulable: plan.unschedulable,
      'first reason': plan.firstReason ?? '',
      'price per hour': plan.pricePerHour,
    });
  }
}

function rowOf({ name }: CreatedClaim, plan: ClaimPlan | undefined): BatchSummary['claims'][number] {
  return { name, instanceType: plan?.cheapest.instanceType ?? '', pods: plan?.podCount ?? 0 };
}

function markOf({ name, resourceVersion }: CreatedClaim): CacheMark {
  return { kind: 'NodeClaim', name, resourceVersion };
}

function describeClaims(claims: readonly ClaimPlan[]): string {
  const first = claims[0]!;
  const rest = claims.length === 1 ? '' : ` and ${claims.length - 1} more`;
  return `${first.nodePool}: ${first.cheapest.instanceType} for ${first.podCount} pods${rest}`;
}
