import { workflowNow } from '../clock.js';
import type { ExpediteOrder, TerminateNodeInput, TerminationState } from '../messages.js';

type EndTimes = Pick<TerminateNodeInput, 'deadline' | 'instanceEndsAt'>;

/**
 * The deadline after which a drain ignores PodDisruptionBudgets and do-not-disrupt, who ordered it, and whether any pod
 * was deleted in spite of them: an order with a deadline forces nothing if all pods leave before it
 * (termination/forced-pods).
 */
export class Deadline {
  /** Milliseconds of the epoch; absent: no deadline. */
  at: number | undefined;
  /** When the cloud takes the instance, milliseconds of the epoch. */
  instanceEndsAt: number | undefined;
  /**
   * The earliest deadline that was written to the NodeClaim (annotation
   * `karpenter.sh/nodeclaim-termination-timestamp`).
   */
  announced: number | undefined;
  /** Who ordered the deadline; undefined if it is the NodeClaim's own or another disruption's. */
  private by: string | undefined;
  private forcing: string | undefined;

  constructor({ deadline, instanceEndsAt }: EndTimes, carried?: TerminationState['force']) {
    this.at = deadline;
    this.instanceEndsAt = instanceEndsAt;
    this.by = carried?.by;
    this.forcing = carried?.forcedBy;
  }

  /** Who ordered the deletion of protected pods; undefined if none was deleted by an order. */
  get forcedBy(): string | undefined {
    return this.forcing;
  }

  /** The deadline and the end of the instance, where they are known. */
  get ends(): EndTimes {
    const { at, instanceEndsAt } = this;
    return {
      ...(at === undefined ? {} : { deadline: at }),
      ...(instanceEndsAt === undefined ? {} : { instanceEndsAt }),
    };
  }

  /** State for the next run. */
  get carried(): EndTimes & { readonly force?: TerminationState['force'] } {
    const { by, forcing } = this;
    return {
      ...this.ends,
      ...(by === undefined && forcing === undefined
        ? {}
        : { force: { ...(by === undefined ? {} : { by }), ...(forcing === undefined ? {} : { forcedBy: forcing }) } }),
    };
  }

  /** Notes the deadline that is written on the NodeClaim already. */
  noteAnnounced(deadline: number | undefined): void {
    this.announced = deadline;
    if (deadline !== undefined) this.at = Math.min(deadline, this.at ?? deadline);
  }

  /** Takes in an earlier deadline that was written to the NodeClaim meanwhile. It is not attributed to an order. */
  noteStamped(deadline: number | undefined): void {
    if (deadline === undefined || (this.at !== undefined && this.at <= deadline)) return;
    this.at = deadline;
    this.announced = deadline;
    this.by = undefined;
  }

  /**
   * Takes in an order. The earlier deadline applies; `by` is who orders a forced drain. Returns whether a time became
   * earlier.
   */
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

  /**
   * Notes that protected pods were deleted past the deadline. Returns who ordered it; undefined if it is the
   * NodeClaim's own.
   */
  forced(): string | undefined {
    this.forcing ??= this.by;
    return this.by;
  }
}
