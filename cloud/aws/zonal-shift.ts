import { messageOf } from '../../core/error-message.js';
import { Cached } from './cached.js';
import type { AwsCalls, ManagedResource } from './calls.js';
import type { Clock } from './clock.js';
import { DomainError } from '../../core/failures.js';
import type { CloudInstance } from '../port.js';
import { zoneOfProviderId } from './instances.js';
import type { Subnets } from './networks.js';

/** A zone from which traffic is shifted away. */
export interface ShiftedZone {
  /** Name or id of the zone, as given by ARC. */
  readonly zone: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

const pollMs = 30_000;
/** Shifts last for hours: known shifts stay in effect while ARC is unavailable. */
const keepMs = 3_600_000;

/** Zones under an applied ARC zonal shift of the cluster that has not ended (zonal-shift/shifted-zone). */
export class ZonalShifts {
  private readonly shifts: Cached<readonly ShiftedZone[]>;
  /** Time of the last failed call to ARC. */
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

  /** The current shifts; none if ARC cannot be called and none are known (zonal-shift/unknown). */
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
      const problem = `zonal shifts: ${messageOf(error)}; until they are known no zone is avoided`;
      if (problem !== this.reported) this.onProblem?.(problem);
      this.reported = problem;
      return [];
    }
  }
}

/** The shift of a zone, which may be given by name or id. */
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
 * Zones with a zonal shift: EC2 is not asked about their instances, and nothing is changed there
 * (zonal-shift/shifted-zone).
 */
export class ShiftedZones {
  /** Instances as last seen, by provider id. */
  private seen = new Map<string, CloudInstance>();

  constructor(
    /** Undefined if zonal shift is disabled: no zone is shifted. */
    private readonly shifts: ZonalShifts | undefined,
    private readonly subnets: Subnets,
  ) {}

  /** The instance as last seen, if its zone is shifted. */
  async known(providerId: string): Promise<CloudInstance | undefined> {
    const known = this.seen.get(providerId);
    return known !== undefined && (await this.isShifted(providerId)) ? known : undefined;
  }

  /** Records the state of one instance; undefined: it is gone. */
  remember(providerId: string, instance: CloudInstance | undefined): void {
    if (this.shifts === undefined) return;
    if (instance === undefined) this.seen.delete(providerId);
    else this.seen.set(providerId, instance);
  }

  /** Adds to the listed instances those last seen in shifted zones: they still exist. */
  async withHidden(listed: readonly CloudInstance[]): Promise<readonly CloudInstance[]> {
    if (this.shifts === undefined) return listed;
    const found = new Map<string, CloudInstance>(listed.map((instance) => [instance.providerId, instance]));
    for (const [providerId, instance] of this.seen) {
      if (!found.has(providerId) && (await this.isShifted(providerId))) found.set(providerId, instance);
    }
    this.seen = found;
    return [...found.values()];
  }

  /** Throws `Unavailable` if the instance's zone is shifted: modifying calls wait until the shift ends. */
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
