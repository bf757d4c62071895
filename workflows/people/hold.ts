import { pauseStops } from '../../core/pause-scope.js';
import type { CandidateRef } from '../../disruption/command.js';
import type { HoldOrder } from './oversight-messages.js';
import { refusals } from './oversight-messages.js';
import type { PauseScope } from './pause-messages.js';
import type { Progress } from '../progress.js';
import { withReason } from './consent.js';
import { refuse } from './orders.js';

/** What a pause may stop. */
export interface Disruption {
  readonly reason: string;
  readonly candidates: readonly Pick<CandidateRef, 'node' | 'nodePool'>[];
}

/** Whether one of these pauses stops the disruption. */
export function isHeldByPause(disruption: Disruption | undefined, pauses: readonly PauseScope[]): boolean {
  const { reason = '', candidates = [] } = disruption ?? {};
  return pauses.some((scope) => candidates.some((node) => pauseStops(scope, reason, node)));
}

/** The phase of a workflow that a pause or a person holds. */
export const heldPhase = 'paused';

/** Whether a pause or a person holds a workflow before its next irreversible step. */
export class Hold {
  constructor(
    private readonly progress: Progress,
    private paused: boolean,
    private holder: HoldOrder | undefined,
    /** Called when the workflow begins or ends to be held. */
    private readonly onChange: (held: boolean) => void,
  ) {}

  /** The order of the person who holds it, for continue-as-new. */
  get by(): HoldOrder | undefined {
    return this.holder;
  }

  get isActive(): boolean {
    return this.paused || this.holder !== undefined;
  }

  /** What the workflow waits for while it is held, in words. */
  get waitingFor(): string {
    const { paused, holder } = this;
    const all = [...(paused ? ['the pause to end'] : []), ...(holder ? [`${holder.actor} to release it`] : [])];
    return all.join(' and ');
  }

  /** A pause that applies to the workflow begins or ends. */
  pause(paused: boolean): void {
    this.change(() => void (this.paused = paused));
  }

  /** A person holds the workflow or releases it. */
  order(order: HoldOrder): void {
    this.change(() => void (this.holder = order.on ? order : undefined));
    const by = withReason(order.actor, order.reason);
    this.progress.addFacts({ 'held by': order.on ? by : undefined, 'released by': order.on ? undefined : by });
  }

  /** Throws a refusal if the order changes nothing. */
  checkOrder({ on }: HoldOrder): void {
    const { holder } = this;
    if (on && holder !== undefined)
      throw refuse(refusals.heldAlready, `${withReason(holder.actor, holder.reason)} holds it already`);
    if (!on && holder === undefined)
      throw refuse(
        refusals.nothingHeld,
        this.paused
          ? 'a pause holds it, no person: stowage resume ends that, and stowage status lists it'
          : 'nobody holds it',
      );
  }

  private change(change: () => void): void {
    const before = this.isActive;
    change();
    // The pause and a person may both hold it, and one of them lets go.
    if (this.isActive && this.progress.phase === heldPhase)
      this.progress.enter(heldPhase, { waitingFor: this.waitingFor });
    if (this.isActive !== before) this.onChange(this.isActive);
  }
}
