import { isCancellation, log, workflowInfo } from '@temporalio/workflow';
import type { DisruptionActivities } from '../../activities/disruption/contract.js';
import { counted } from '../../core/text.js';
import type { Candidate, ClaimRef, RefusedNode } from '../messages.js';
import type { Oversight } from '../people/oversight.js';
import { activitiesOf } from '../calls/proxies.js';
import { type TerminationEnd, type TerminationRequest, runTermination } from '../termination/start-termination.js';
import type { Readiness, ReplacementSource } from './source.js';

/** Which NodeClaim to drain and terminate, why, and until when. */
export type DrainRequest = Omit<TerminationRequest, 'cluster'>;

type ReplacedNode = Pick<Candidate, 'claim' | 'node'>;

/** Which nodes are tainted, and what the others wait for. */
export interface Tainted<Node extends ReplacedNode = ReplacedNode> {
  readonly nodes: readonly Node[];
  readonly refused: readonly RefusedNode[];
  /** When a refusal may change by time alone, milliseconds of the epoch. */
  readonly nextCheckAt?: number;
  /** Nodes of other disruptions, which have no room for the pods of these. */
  readonly alongside: readonly string[];
}

/**
 * The steps by which all workflows replace nodes before they terminate them (commands/replacements-first): taint,
 * launch, wait until the replacements are initialized, drain. Everything before the drain can be undone: the taints are
 * removed, and `provision` plans with the nodes again (commands/given-back). The workflow decides when and why:
 *
 *     const tainted = await turn.take(reason, [candidate]);
 *     await replacement.launch(withinMs);
 *     const { state } = await turn.awaitReady({ reason, nodes: [candidate] }, withinMs, () => oversight.isHeld);
 *     if (state === 'ready') await replacement.drain({ claim, nodePool, reason: 'drifted' });
 *     ...
 *     finally: await replacement.undo();
 */
export class NodeReplacement<Source extends ReplacementSource = ReplacementSource> {
  private reason = '';
  private replaced: readonly ReplacedNode[] = [];
  private isFinal = false;
  private launched = false;

  constructor(
    private readonly cluster: string,
    readonly source: Source,
  ) {}

  get claims(): readonly ClaimRef[] {
    return this.source.claims;
  }

  /** Whether replacements were launched or requested, and that was not undone. */
  get isLaunched(): boolean {
    return this.launched;
  }

  /**
   * Taints the nodes, so that no new pods are scheduled to them, as far as pauses and budgets allow it now
   * (budgets/counted-at-the-taint).
   */
  async taint<Node extends ReplacedNode>(
    reason: string,
    candidates: readonly Node[],
    options: Pick<Parameters<DisruptionActivities['taintCandidates']>[0], 'together' | 'method' | 'waitsFor'> = {},
  ): Promise<Tainted<Node>> {
    // Set before the call: an attempt that fails may have tainted some of them.
    this.noteTainted(reason, candidates);
    const { workflowId: owner, firstExecutionRunId: ownerRun } = workflowInfo();
    const {
      tainted,
      refused = [],
      alongside = [],
      nextCheckAt,
    } = await this.kube.taintCandidates.executeWithOptions({ summary: `taint ${counted(candidates.length, 'node')}` }, [
      { reason, candidates, owner, ownerRun, ...options },
    ]);
    const nodes = candidates.filter(({ claim }) => tainted.includes(claim.uid));
    return { nodes, refused, alongside, ...(nextCheckAt === undefined ? {} : { nextCheckAt }) };
  }

  /** Notes nodes that another step of this workflow has tainted. */
  noteTainted(reason: string, candidates: readonly ReplacedNode[]): void {
    this.reason = reason;
    this.replaced = candidates;
  }

  /** Reduces the nodes that are replaced. The taints of `untainted` are removed. */
  async keepOnly(nodes: readonly ReplacedNode[], untainted: readonly ReplacedNode[] = []): Promise<void> {
    if (untainted.length > 0) await this.untaint(untainted);
    this.replaced = nodes;
  }

  /**
   * Launches replacements and reserves their room for `reserveMs`. Returns why not all can be launched, if that is
   * known at once.
   */
  async launch(reserveMs: number): Promise<string | undefined> {
    this.launched = true;
    const nodes = this.replaced.map(({ node }) => node);
    return this.source.launch({ nodes, reason: this.reason.toLowerCase(), reserveMs });
  }

  async awaitReady(ms: number, interrupt: () => boolean = () => false): Promise<Readiness> {
    return this.source.awaitReady(ms, interrupt);
  }

  /** Undoes the steps, because the nodes stay. Idempotent; does nothing if there is nothing to undo. */
  async undo(): Promise<void> {
    if (this.isFinal) return;
    const { replaced } = this;
    this.replaced = [];
    this.launched = false;
    try {
      if (replaced.length > 0) await this.untaint(replaced);
    } catch (error) {
      if (isCancellation(error)) throw error;
      // `disrupt` removes taints whose workflow has ended.
      log.warn('could not remove the taints', { error });
    }
    await this.source.release();
  }

  /** From here on `undo` does nothing. */
  passPointOfNoReturn(): void {
    this.isFinal = true;
  }

  /** Drains and terminates a node; `elsewhere` if another workflow already does. From here on `undo` does nothing. */
  async drain(ending: DrainRequest): Promise<TerminationEnd> {
    this.passPointOfNoReturn();
    return runTermination({ cluster: this.cluster, ...ending });
  }

  /** Undoes the steps after a drain that did not begin. With several nodes, call it only if the drain of none began. */
  async undoDrain(oversight: Oversight): Promise<void> {
    this.isFinal = false;
    oversight.becomeRevocable();
    await this.undo();
  }

  /** Untaints nodes that stay, such as one of several whose drain did not begin. */
  async untaint(candidates: readonly ReplacedNode[]): Promise<void> {
    await this.kube.untaintCandidates.executeWithOptions({ summary: `untaint ${counted(candidates.length, 'node')}` }, [
      { candidates, owner: workflowInfo().workflowId },
    ]);
  }

  private get kube() {
    return activitiesOf(this.cluster).kube;
  }
}
