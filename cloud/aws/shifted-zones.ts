import { DomainError } from '../../core/failures.js';
import type { CloudInstance } from '../port.js';
import { zoneOfProviderId } from './instances.js';
import type { Subnets } from './networks.js';
import { shiftOf, type ZonalShifts } from './zonal-shift.js';

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
