import { backOffMs } from '../../core/back-off.js';
import { workflowNow } from '../clock.js';
import { activitiesOf } from '../calls/proxies.js';
import type { CandidateRef, DisruptionMethod, RefusedNode } from '../messages.js';
import type { Oversight } from '../people/oversight.js';
import type { Progress } from '../progress.js';
import type { NodeReplacement, Tainted } from './replacement.js';
import type { Readiness } from './source.js';

/** The operator signals waiting workflows when something changes; these polls find changes whose signal was lost. */
const waitBackOff = { firstMs: 30_000, longestMs: 3_600_000 };
/** Limits a wait, because a policy may change before the time that a refusal names. */
const longestWaitMs = 6 * 3_600_000;

/** The phase of a disruption that may not begin yet. */
const waitingPhase = 'waiting for its turn';

interface TurnDeps {
  readonly cluster: string;
  readonly replacement: () => NodeReplacement;
  readonly oversight: Oversight;
  readonly progress: Progress;
}

interface TurnOptions {
  /** Whether either all nodes are tainted or none. */
  readonly together?: boolean;
  /** Of a command: nodes whose pods prevent it are refused. */
  readonly method?: DisruptionMethod;
  /** What is waited for; other refusals end the disruption. */
  readonly waitsFor?: readonly RefusedNode['for'][];
  readonly atMostMs?: number;
  /** Ends the wait. */
  readonly until?: () => boolean;
}

/**
 * The turn of a disruption (budgets/every-disruption-asks): its nodes are tainted once pauses and budgets allow it.
 * While it waits it reserves nothing.
 */
export class Turn {
  private woken = false;
  /** Whether the NodeClaims no longer record that this workflow waits. */
  private hasLeft = false;
  private refusals = 0;

  constructor(private readonly deps: TurnDeps) {}

  /** Something that is waited for may have changed. */
  wake(): void {
    this.woken = true;
  }

  /**
   * One attempt to taint the nodes. If none may be disrupted now, it waits until that may change and returns undefined:
   * the caller then has to check again what it disrupts, and why.
   */
  async take<Node extends CandidateRef>(
    reason: string,
    nodes: readonly Node[],
    { waitsFor = ['Budget', 'Pause'], atMostMs = longestWaitMs, until, ...more }: TurnOptions = {},
  ): Promise<Tainted<Node> | undefined> {
    this.woken = false;
    this.hasLeft = false;
    const tainted = await this.deps.replacement().taint(reason, nodes, { ...more, waitsFor });
    const [first] = tainted.refused;
    if (tainted.nodes.length > 0 || first === undefined || !waitsFor.includes(first.for)) {
      this.refusals = 0;
      return tainted;
    }
    const { oversight, progress } = this.deps;
    const now = workflowNow();
    const known = (tainted.nextCheckAt ?? 0) > now ? tainted.nextCheckAt! - now : undefined;
    const wait = Math.max(1, Math.min(known ?? backOffMs(++this.refusals, waitBackOff), longestWaitMs, atMostMs));
    progress.enter(waitingPhase, { waitingFor: `${first.node}: ${first.why}`, until: now + wait });
    const isOver = (): boolean => this.woken || oversight.isHeld || until?.() === true;
    await oversight.wait(wait, { summary: `the turn of ${first.node}`, until: isOver });
    if (oversight.isHeld) await this.leave(reason, nodes);
    return undefined;
  }

  /**
   * Call it when the workflow does not wait for its turn, so that less urgent disruptions do not wait for it
   * (budgets/urgent-first).
   */
  async leave(reason: string, nodes: readonly CandidateRef[]): Promise<void> {
    if (this.hasLeft) return;
    this.hasLeft = true;
    const replacement = this.deps.replacement();
    replacement.noteTainted(reason, nodes);
    await replacement.undo();
  }

  /** As `awaitReady` of the replacement; also `interrupted` when a pause has begun, which the operator signals. */
  async awaitReady(
    { reason, nodes }: { readonly reason: string; readonly nodes: readonly CandidateRef[] },
    ms: number,
    stops: () => boolean,
  ): Promise<Readiness> {
    const deadline = workflowNow() + ms;
    for (;;) {
      const rest = Math.max(1, deadline - workflowNow());
      const readiness = await this.deps.replacement().awaitReady(rest, () => stops() || this.woken);
      if (readiness.state !== 'interrupted' || stops()) return readiness;
      this.woken = false;
      if ((await this.findPause(reason, nodes)) !== null) return readiness;
    }
  }

  private async findPause(reason: string, nodes: readonly CandidateRef[]): Promise<string | null> {
    const candidates = nodes.map(({ claim, node, nodePool }) => ({ claim, node, nodePool }));
    return activitiesOf(this.deps.cluster).kube.findPause.executeWithOptions({ summary: 'look for a pause' }, [
      { reason, candidates },
    ]);
  }
}
