import { getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import { backOffMs } from '../../core/back-off.js';
import { workflowIds } from '../../core/ids.js';
import { counted } from '../../core/text.js';
import { signalProvision } from '../calls/entity-signals.js';
import { workflowNow } from '../clock.js';
import { setSignalHandler } from '../handlers.js';
import { AwaitedLaunches } from '../launch/awaited-launches.js';
import {
  type ClaimRef,
  type ReplacementRequest,
  type ReplacementsPlanned,
  deletingNodesSignal,
  replacementsPlannedSignal,
  replaceSignal,
} from '../messages.js';
import { notify } from '../calls/other-workflows.js';
import type { Readiness, ReplacementSource } from './source.js';

/**
 * Intervals at which a request is repeated, because `provision` may have lost it with its state. `provision` ignores a
 * request that it already has.
 */
const repeats = { firstMs: 30_000, longestMs: 5 * 60_000 };

/**
 * Requests replacements from `provision` for the pods of nodes that will be removed, and waits until each is
 * initialized or has failed. Only `provision` creates NodeClaims for pods, so nothing is launched twice for one pod.
 * Build it before the first await of a workflow.
 */
export class ViaProvision implements ReplacementSource {
  private planned: ReplacementsPlanned | undefined;
  private readonly launches: AwaitedLaunches;
  private requests = 0;
  /** The request under which `provision` treats these nodes as gone. */
  private request: ReplacementRequest | undefined;
  private asked = { times: 0, at: 0 };

  constructor(private readonly cluster: string) {
    // The answer to an earlier request may arrive after the next request.
    setSignalHandler(replacementsPlannedSignal, (planned) => {
      if (planned.id === this.request?.id) this.planned ??= planned;
    });
    this.launches = new AwaitedLaunches(cluster);
  }

  async launch({ nodes, reason, reserveMs: holdMs }: Parameters<ReplacementSource['launch']>[0]): Promise<undefined> {
    await this.release();
    // `runId` would change after a reset, and the answers in the history would not match the request.
    const { workflowId, originalExecutionRunId } = workflowInfo();
    const id = `${workflowId}/${originalExecutionRunId}/${this.requests++}`;
    this.planned = undefined;
    this.request = { id, nodes, replyTo: workflowId, reason, holdMs };
    this.asked = { times: 0, at: 0 };
    await this.ask(this.request);
    return undefined;
  }

  private async ask(request: ReplacementRequest): Promise<void> {
    this.asked = { times: this.asked.times + 1, at: workflowNow() };
    await signalProvision(this.cluster, replaceSignal, request);
  }

  /** Asks again while there is no answer. */
  private async askAgain(): Promise<void> {
    const { request, planned, asked } = this;
    if (request === undefined || planned !== undefined) return;
    if (workflowNow() < asked.at + backOffMs(asked.times, repeats)) return;
    await this.ask(request);
  }

  async awaitReady(ms: number, interrupt: () => boolean): Promise<Readiness> {
    const how = await this.launches.until({
      claims: () => this.claims,
      settled: () => this.verdict() !== undefined,
      interrupt,
      meanwhile: () => this.askAgain(),
      ms,
      summary: 'replacements to be initialized',
    });
    if (how === 'interrupted') return { state: how };
    if (how === 'late')
      return { state: how, why: `no replacement within ${counted(Math.round(ms / 60_000), 'minute')}` };
    if (this.verdict() === 'ready') return { state: 'ready' };
    const why = this.planned?.firstReason ?? this.launches.firstFailure(this.claims);
    return { state: 'failed', why: why ?? 'the replacement did not become ready' };
  }

  async release(): Promise<void> {
    const { request } = this;
    if (request === undefined) return;
    this.request = undefined;
    await notify(() =>
      getExternalWorkflowHandle(workflowIds.provision(this.cluster)).signal(deletingNodesSignal, {
        nodes: request.nodes,
        until: 0,
        marks: [],
        request: request.id,
      }),
    );
  }

  get claims(): readonly ClaimRef[] {
    return this.planned?.claims ?? [];
  }

  private verdict(): 'ready' | 'failed' | undefined {
    if (this.planned === undefined) return undefined;
    const { claims, unplaced } = this.planned;
    const verdict = this.launches.verdict(claims);
    return verdict === 'ready' && unplaced > 0 ? 'failed' : verdict;
  }
}
