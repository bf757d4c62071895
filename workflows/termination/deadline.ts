import { workflowNow } from '../clock.js';
import type { ExpediteOrder, TerminateNodeInput, TerminationState } from '../messages.js';

type Ends = Pick<TerminateNodeInput, 'deadline' | 'instanceEndsAt'>;

/**
 * When pods lose their protection, who wanted that, and whether any pod did lose it: an order that sets a deadline forces nothing
 * as long as pods leave by themselves (termination/forced-pods).
 */
export class Deadline {
  /** Milliseconds of the epoch; absent: never. */
  at: number | undefined;
  /** When the cloud takes the instance, milliseconds of the epoch. */
  instanceEndsAt: number | undefined;
  /** The earliest that the claim was stamped with. */
  announced: number | undefined;
  /** Who set the deadline that holds; nobody where it is the claim's own, or of another disruption. */
  private by: string | undefined;
  private forcing: string | undefined;

  constructor({ deadline, instanceEndsAt }: Ends, carried?: TerminationState['force']) {
    this.at = deadline;
    this.instanceEndsAt = instanceEndsAt;
    this.by = carried?.by;
    this.forcing = carried?.forcedBy;
  }

  /** Who had pods deleted in spite of what protects them. */
  get forcedBy(): string | undefined {
    return this.forcing;
  }

  /** What the next run goes on with. */
  get carried(): Ends & { readonly force?: TerminationState['force'] } {
    const { at, instanceEndsAt, by, forcing } = this;
    return {
      ...(at === undefined ? {} : { deadline: at }),
      ...(instanceEndsAt === undefined ? {} : { instanceEndsAt }),
      ...(by === undefined && forcing === undefined
        ? {}
        : { force: { ...(by === undefined ? {} : { by }), ...(forcing === undefined ? {} : { forcedBy: forcing }) } }),
    };
  }

  /** The claim carries this one already. */
  stamped(deadline: number | undefined): void {
    this.announced = deadline;
    if (deadline !== undefined) this.at = Math.min(deadline, this.at ?? deadline);
  }

  /** Of deadlines the earlier holds; `by`, where it is to force the drain. Tells whether anything is sooner than it was. */
  shorten({ deadline, instanceEndsAt }: ExpediteOrder, longestGraceMs: number, by?: string): boolean {
    const asked = deadline ?? (instanceEndsAt === undefined ? workflowNow() + longestGraceMs : undefined);
    const isSooner = asked !== undefined && (this.at === undefined || asked < this.at);
    const endsSooner =
      instanceEndsAt !== undefined && instanceEndsAt < (this.instanceEndsAt ?? Number.POSITIVE_INFINITY);
    if (isSooner) {
      this.at = asked;
      this.by = by;
    }
    if (endsSooner) this.instanceEndsAt = instanceEndsAt;
    return isSooner || endsSooner;
  }

  /** Pods were deleted past the deadline. Gives who is behind that; undefined where it is nobody's order. */
  forced(): string | undefined {
    this.forcing ??= this.by;
    return this.by;
  }
}
