import { messageOf } from '../../core/error-message.js';
import { Cached } from './cached.js';
import type { AwsCalls, ManagedResource } from './calls.js';
import type { Clock } from './clock.js';

/** A zone that traffic is shifted away from. */
export interface ShiftedZone {
  /** Name or id of the zone, as ARC says it. */
  readonly zone: string;
  /** Milliseconds of the epoch. */
  readonly until: number;
}

const pollMs = 30_000;
/** Shifts last for hours: what was known holds on while ARC is away. */
const keepMs = 3_600_000;

/** Zones under an ARC zonal shift of the cluster (zonal-shift/shifted-zone): applied, and not over yet. */
export class ZonalShifts {
  private readonly shifts: Cached<readonly ShiftedZone[]>;
  /** When ARC was last asked in vain. */
  private failedAt = Number.NEGATIVE_INFINITY;
  private reported = '';

  constructor(
    calls: Pick<AwsCalls, 'getManagedResource'>,
    private readonly clock: Clock,
    clusterArn: () => Promise<string>,
    private readonly onProblem?: (message: string) => void,
  ) {
    this.shifts = new Cached(
      clock,
      async () => readShifts(await calls.getManagedResource(await clusterArn())),
      pollMs,
      keepMs,
    );
  }

  /** Those that hold now; none while ARC cannot be asked and nothing is known of it (zonal-shift/unknown). */
  async current(): Promise<readonly ShiftedZone[]> {
    const now = this.clock.now();
    return (await this.known(now)).filter(({ until }) => until > now);
  }

  private async known(now: number): Promise<readonly ShiftedZone[]> {
    if (Math.abs(now - this.failedAt) < pollMs) return [];
    try {
      const shifts = await this.shifts.get();
      this.reported = '';
      return shifts;
    } catch (error) {
      this.failedAt = now;
      const problem = `zonal shifts: ${messageOf(error)}; until they are known no zone is left alone`;
      if (problem !== this.reported) this.onProblem?.(problem);
      this.reported = problem;
      return [];
    }
  }
}

/** The shift that a zone is under, told by its name or id. */
export function shiftOf(
  shifts: readonly ShiftedZone[],
  zone: string,
  zoneId: string | undefined,
): ShiftedZone | undefined {
  return shifts.find((shift) => shift.zone === zone || (zoneId !== undefined && shift.zone === zoneId));
}

function readShifts({ zonalShifts = [], autoshifts = [] }: ManagedResource): ShiftedZone[] {
  const applied = (shift: { readonly appliedStatus?: string }): boolean => shift.appliedStatus === 'APPLIED';
  return [
    ...zonalShifts
      .filter(applied)
      .map(({ awayFrom = '', expiryTime = 0 }) => ({ zone: awayFrom, until: expiryTime * 1000 })),
    // An autoshift has no end until AWS ends it.
    ...autoshifts.filter(applied).map(({ awayFrom = '' }) => ({ zone: awayFrom, until: Number.MAX_SAFE_INTEGER })),
  ];
}
