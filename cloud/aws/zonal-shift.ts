import { messageOf } from '../../core/error-message.js';
import { Cached } from './cached.js';
import type { AwsCalls, ManagedResource } from './calls.js';
import type { Clock } from './clock.js';
import { DomainError } from '../../core/failures.js';
import type { CloudInstance } from '../port.js';
import { zoneOfProviderId } from './instances.js';
import type { Subnets } from './networks.js';

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

/**
 * Zones that a zonal shift leads away from: EC2 is not asked about their instances, and nothing is changed there
 * (zonal-shift/shifted-zone).
 */
export class ShiftedZones {
  /** Instances as they were last seen, by provider id. */
  private seen = new Map<string, CloudInstance>();

  constructor(
    /** Undefined where zonal shifts are not followed: no zone is shifted. */
    private readonly shifts: ZonalShifts | undefined,
    private readonly subnets: Subnets,
  ) {}

  /** The instance as it was last seen, where its zone is shifted. */
  async known(providerId: string): Promise<CloudInstance | undefined> {
    const known = this.seen.get(providerId);
    return known !== undefined && (await this.isShifted(providerId)) ? known : undefined;
  }

  /** What EC2 said of one instance; undefined: that it is gone. */
  remember(providerId: string, instance: CloudInstance | undefined): void {
    if (this.shifts === undefined) return;
    if (instance === undefined) this.seen.delete(providerId);
    else this.seen.set(providerId, instance);
  }

  /** What EC2 listed, and what was there before in zones that are shifted: it is still there. */
  async withHidden(listed: readonly CloudInstance[]): Promise<readonly CloudInstance[]> {
    if (this.shifts === undefined) return listed;
    const found = new Map<string, CloudInstance>(listed.map((instance) => [instance.providerId, instance]));
    for (const [providerId, instance] of this.seen) {
      if (!found.has(providerId) && (await this.isShifted(providerId))) found.set(providerId, instance);
    }
    this.seen = found;
    return [...found.values()];
  }

  /** Throws `Unavailable` where the instance's zone is shifted: calls that change something wait until the shift is over. */
  async refuse(action: string, providerId: string): Promise<void> {
    if (!(await this.isShifted(providerId))) return;
    const zone = zoneOfProviderId(providerId);
    throw new DomainError('Unavailable', `${action}: withheld, a zonal shift leads away from ${zone}`);
  }

  private async isShifted(providerId: string): Promise<boolean> {
    const zone = zoneOfProviderId(providerId);
    const shifts = (await this.shifts?.current()) ?? [];
    return shiftOf(shifts, zone, this.subnets.zoneIdOf(zone)) !== undefined;
  }
}
