import { condition } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';
import type { ClaimRef, LaunchOutcome, LaunchEnd } from '../messages.js';
import { launchEndedSignal } from '../messages.js';
import { activitiesOf } from '../calls/proxies.js';
import { setSignalHandler } from '../handlers.js';

/**
 * How often the NodeClaims are read while waiting, because launches that another workflow started send no signal here.
 * It is not a multiple of the launch's own poll of a minute: the read would come at the same moment as the signal.
 * Besides, the time-skipping test server loses a timer that fires in the workflow task that cancels it.
 */
const readEveryMs = 35_000;

interface LaunchWait {
  readonly claims: () => readonly ClaimRef[];
  readonly settled: () => boolean;
  readonly interrupt: () => boolean;
  /** Called each time before the NodeClaims are read. */
  readonly meanwhile?: () => Promise<void>;
  readonly ms: number;
  readonly summary: string;
}

/** Outcomes of the launches that a workflow waits for, from their signals and from reading the NodeClaims. */
export class AwaitedLaunches {
  /** Outcomes by UID of the NodeClaim. */
  private readonly settled = new Map<string, Omit<LaunchEnd, 'uid'>>();

  constructor(private readonly cluster: string) {
    setSignalHandler(launchEndedSignal, ({ uid, ...settlement }) => void this.settled.set(uid, settlement));
  }

  /**
   * `failed` once a launch did not succeed, whatever becomes of the others; `ready` once all have succeeded; undefined
   * before.
   */
  verdict(claims: readonly ClaimRef[]): 'ready' | 'failed' | undefined {
    const outcomes = claims.map((claim) => this.outcomeOf(claim));
    if (outcomes.some((outcome) => outcome !== undefined && outcome !== 'initialized')) return 'failed';
    return outcomes.includes(undefined) ? undefined : 'ready';
  }

  /** Describes the first launch that did not succeed; undefined if all have succeeded or are under way. */
  firstFailure(claims: readonly ClaimRef[]): string | undefined {
    for (const { uid, name } of claims) {
      const settlement = this.settled.get(uid);
      if (settlement === undefined || settlement.outcome === 'initialized') continue;
      return `replacement ${name} did not become ready: ${settlement.message ?? 'its NodeClaim was deleted'}`;
    }
    return undefined;
  }

  /** Waits until `settled` or `interrupt` holds, and reads the NodeClaims now and then; `late` after `ms`. */
  async until({
    claims,
    settled,
    interrupt,
    meanwhile,
    ms,
    summary,
  }: LaunchWait): Promise<'settled' | 'interrupted' | 'late'> {
    const over = (): boolean => settled() || interrupt();
    const deadline = workflowNow() + Math.max(1, ms);
    while (!over()) {
      const rest = deadline - workflowNow();
      if (rest <= 0) return 'late';
      const isOver = await condition(over, Math.min(rest, readEveryMs), { summary });
      if (isOver) continue;
      await meanwhile?.();
      await this.readClaims(claims());
    }
    return settled() ? 'settled' : 'interrupted';
  }

  /** Undefined while the launch is under way. */
  private outcomeOf({ uid }: ClaimRef): LaunchOutcome['outcome'] | undefined {
    return this.settled.get(uid)?.outcome;
  }

  private async readClaims(claims: readonly ClaimRef[]): Promise<void> {
    const { kube } = activitiesOf(this.cluster);
    for (const { name, uid } of claims) {
      if (this.settled.has(uid)) continue;
      const view = await kube.viewClaim.executeWithOptions({ summary: `read NodeClaim ${name}` }, [
        { claim: { name, uid } },
      ]);
      if (view.state !== 'live') this.settled.set(uid, { outcome: 'deleted' });
      else if (view.initialized) this.settled.set(uid, { outcome: 'initialized' });
    }
  }
}
