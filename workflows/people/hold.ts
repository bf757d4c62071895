import type { HoldOrder } from './oversight-messages.js';
import { refusals } from './oversight-messages.js';
import type { Progress } from '../progress.js';
import { withReason } from './consent.js';
import { refuse } from './orders.js';

/** The phase of a workflow that a person holds. */
export const heldPhase = 'held';

/** Whether a person holds a workflow before its next irreversible step. */
export class Hold {
  constructor(
    private readonly progress: Progress,
    private holder: HoldOrder | undefined,
    /** Called when a hold begins or ends. */
    private readonly onChange: (order: HoldOrder) => void,
  ) {}

  /** The order of the person who holds it, for continue-as-new. */
  get by(): HoldOrder | undefined {
    return this.holder;
  }

  get isActive(): boolean {
    return this.holder !== undefined;
  }

  /** What the workflow waits for while it is held. */
  get waitingFor(): string {
    return `${this.holder?.actor ?? 'nobody'} to release it`;
  }

  /** A person holds the workflow or releases it. */
  order(order: HoldOrder): void {
    const before = this.isActive;
    this.holder = order.on ? order : undefined;
    if (this.isActive !== before) this.onChange(order);
    const by = withReason(order.actor, order.reason);
    this.progress.addFacts({ 'held by': order.on ? by : undefined, 'released by': order.on ? undefined : by });
  }

  /** Throws a refusal if the order changes nothing. */
  checkOrder({ on }: HoldOrder): void {
    const { holder } = this;
    if (on && holder !== undefined)
      throw refuse(refusals.heldAlready, `${withReason(holder.actor, holder.reason)} holds it already`);
    if (!on && holder === undefined) throw refuse(refusals.nothingHeld, 'nobody holds it');
  }
}
