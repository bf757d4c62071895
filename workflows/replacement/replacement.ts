import { isCancellation, log, workflowInfo } from '@temporalio/workflow';
import { counted } from '../../core/plurals.js';
import type { Candidate, ClaimRef } from '../messages.js';
import type { Oversight } from '../people/oversight.js';
import { activitiesOf } from '../proxies.js';
import type { Ending } from '../termination/node-end.js';
import { endNode } from '../termination/node-end.js';
import type { Readiness, ReplacementSource } from './source.js';

type Going = Pick<Candidate, 'claim' | 'node'>;

/**
 * The steps by which every workflow replaces nodes before it terminates them (commands/replacements-first): taint, launch, wait until
 * the replacements are initialized, drain. Until the drain all of it can be undone: then no taint stays, and `provision` plans
 * the nodes as nodes that stay (commands/given-back). When and why is for the workflow to say:
 *
 *     await replacement.taint('Drifted', [candidate]);
 *     await replacement.launch(withinMs);
 *     const { state } = await replacement.awaitReady(withinMs, () => oversight.isHeld);
 *     if (state === 'ready') await replacement.drain({ claim, nodePool, reason: 'drifted' });
 *     ...
 *     finally: await replacement.undo();
 */
export class NodeReplacement<Source extends ReplacementSource = ReplacementSource> {
  private reason = '';
  private going: readonly Going[] = [];
  private isFinal = false;
  private launched = false;

  constructor(
    private readonly cluster: string,
    readonly source: Source,
  ) {}

  get claims(): readonly ClaimRef[] {
    return this.source.claims;
  }

  /** Whether something was launched, or asked for, that has not been given back. */
  get isLaunched(): boolean {
    return this.launched;
  }

  /** Keeps new pods off the nodes; gives those that could be tainted. */
  async taint<Node extends Going>(reason: string, candidates: readonly Node[]): Promise<readonly Node[]> {
    // Noted before the effect: an attempt that failed may have tainted half of them.
    this.isTaintedAlready(reason, candidates);
    const { tainted } = await this.kube.taintCandidates.executeWithOptions(
      { summary: `taint ${counted(candidates.length, 'node')}` },
      [{ reason, candidates, owner: workflowInfo().workflowId }],
    );
    return candidates.filter(({ claim }) => tainted.includes(claim.uid));
  }

  /** Another step of this workflow has tainted them. */
  isTaintedAlready(reason: string, candidates: readonly Going[]): void {
    this.reason = reason;
    this.going = candidates;
  }

  /** Goes on with these alone; others that were tainted are freed where `free` names them. */
  async narrow(to: readonly Going[], free: readonly Going[] = []): Promise<void> {
    if (free.length > 0) await this.untaint(free);
    this.going = to;
  }

  /** Launches replacements, whose room is kept for `holdMs`; gives why not all of them can be, where that is known at once. */
  async launch(holdMs: number): Promise<string | undefined> {
    this.launched = true;
    const nodes = this.going.map(({ node }) => node);
    return this.source.launch({ nodes, reason: this.reason.toLowerCase(), holdMs });
  }

  async awaitReady(ms: number, interrupt: () => boolean = () => false): Promise<Readiness> {
    return this.source.awaitReady(ms, interrupt);
  }

  /**
   * Waits while a pause or a person holds the workflow, with everything undone meanwhile. `restore` does it anew before the
   * workflow goes on; without it the caller begins anew.
   */
  async whileHeld(oversight: Oversight, restore: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    await oversight.gate({ release: () => this.undo(), restore });
  }

  /** The nodes stay, for now or for good. Harmless when repeated, and when there is nothing to undo. */
  async undo(): Promise<void> {
    if (this.isFinal) return;
    const { going } = this;
    this.going = [];
    this.launched = false;
    try {
      if (going.length > 0) await this.untaint(going);
    } catch (error) {
      if (isCancellation(error)) throw error;
      // `disrupt` finds taints that nobody owns any more.
      log.warn('could not take the taints off', { error });
    }
    await this.source.giveBack();
  }

  /** The nodes go, whatever comes: nothing is undone any more. */
  passPointOfNoReturn(): void {
    this.isFinal = true;
  }

  /** Has a node drained and terminated; `elsewhere` where another workflow does that already. Nothing is undone any more. */
  async drain(ending: Omit<Ending, 'cluster'>): Promise<'ended' | 'elsewhere'> {
    this.passPointOfNoReturn();
    return endNode({ cluster: this.cluster, ...ending });
  }

  private async untaint(candidates: readonly Going[]): Promise<void> {
    await this.kube.untaintCandidates.executeWithOptions({ summary: `untaint ${counted(candidates.length, 'node')}` }, [
      { candidates, owner: workflowInfo().workflowId },
    ]);
  }

  private get kube() {
    return activitiesOf(this.cluster).kube;
  }
}
