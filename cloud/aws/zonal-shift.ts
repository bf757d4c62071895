import { messageOf } from '../../core/error-message.js';
import { Cached } from './cached.js';
import type { AwsCalls, ManagedResource } from './calls.js';
import type { Clock } from './clock.js';
import { DomainError } from '../../core/failures.js';
import type { CloudInstance, CloudProvider, PoolEvent, PoolOfClass } from '../port.js';
import { zoneOfProviderId } from './instances.js';
import type { Subnets } from './networks.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { admits, requirementsOfPool } from '../../core/launch-options.js';

interface Zone {
  readonly name: string;
  readonly id: string | undefined;
}

/**
 * Publishes events on NodePools about zonal shifts of zones in which they may launch: once at the start and once at the
 * end of each shift (zonal-shift/events). State is kept by the NodePool's uid, so a NodePool created during a shift
 * gets the event too.
 */
export function shiftEvents(shifts: Pick<ZonalShifts, 'current'>): NonNullable<CloudProvider['poolEvents']> {
  let reported = new Map<string, ReadonlyMap<string, Zone>>();
  return async (pools) => {
    const shifted = new Set((await shifts.current()).map(({ zone }) => zone));
    const before = reported;
    const changes = pools.map((each) => eventsOf(each, shifted, before.get(uidOf(each)) ?? new Map<string, Zone>()));
    reported = new Map(pools.map((each, i) => [uidOf(each), changes[i]!.known]));
    return changes.flatMap(({ events }) => events);
  };
}

const uidOf = ({ pool }: PoolOfClass): string => pool.metadata.uid ?? '';

/** The pending events of a NodePool, and the shifts known to it afterwards, by zone as named by ARC. */
function eventsOf(
  { pool, nodeClass }: PoolOfClass,
  shifted: ReadonlySet<string>,
  before: ReadonlyMap<string, Zone>,
): { readonly events: readonly PoolEvent[]; readonly known: ReadonlyMap<string, Zone> } {
  const over = [...before].filter(([shift]) => !shifted.has(shift));
  const begun = [...shifted].flatMap((shift): [string, Zone][] => {
    const zone = before.has(shift) ? undefined : reachedZone(pool, nodeClass as EC2NodeClass, shift);
    return zone === undefined ? [] : [[shift, zone]];
  });
  return {
    events: [
      ...begun.map(([, zone]) => ({ pool, type: 'Warning' as const, ...active(zone) })),
      ...over.map(([, zone]) => ({ pool, type: 'Normal' as const, ...cleared(zone) })),
    ],
    known: new Map([...before].filter(([shift]) => shifted.has(shift)).concat(begun)),
  };
}

/**
 * The zone of a shift (by name or id), if a subnet of the NodePool's node class is in it and the NodePool may launch
 * there.
 */
function reachedZone(pool: NodePool, { status }: EC2NodeClass, shift: string): Zone | undefined {
  const subnet = status?.subnets?.find(({ zone, zoneID }) => zone === shift || zoneID === shift);
  if (subnet === undefined) return undefined;
  const requirements = requirementsOfPool(pool);
  const allows = (key: string, value: string | undefined): boolean =>
    requirements.every((each) => each.key !== key || admits(each, value));
  return allows(labels.zone, subnet.zone) && allows(labels.zoneId, subnet.zoneID)
    ? { name: subnet.zone, id: subnet.zoneID }
    : undefined;
}

const textOf = ({ name, id }: Zone): string => (id === undefined ? name : `${name} (${id})`);

const active = (zone: Zone): { reason: string; message: string } => ({
  reason: 'ZonalShiftActive',
  message: `A zonal shift leads away from zone ${textOf(zone)}: this NodePool launches nothing there`,
});

const cleared = (zone: Zone): { reason: string; message: string } => ({
  reason: 'ZonalShiftCleared',
  message: `The zonal shift away from zone ${textOf(zone)} is over: this NodePool may launch there again`,
});

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
