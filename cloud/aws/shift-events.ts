import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { admits, requirementsOfPool } from '../../core/launch-options.js';
import type { CloudProvider, PoolEvent, PoolOfClass } from '../port.js';
import type { ZonalShifts } from './zonal-shift.js';

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
    reported = new Map(pools.map((each, i) => [uidOf(each), changes[i]!.told]));
    return changes.flatMap(({ events }) => events);
  };
}

const uidOf = ({ pool }: PoolOfClass): string => pool.metadata.uid ?? '';

/** The pending events of a NodePool, and the shifts known to it afterwards, by zone as named by ARC. */
function eventsOf(
  { pool, nodeClass }: PoolOfClass,
  shifted: ReadonlySet<string>,
  before: ReadonlyMap<string, Zone>,
): { readonly events: readonly PoolEvent[]; readonly told: ReadonlyMap<string, Zone> } {
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
    told: new Map([...before].filter(([shift]) => shifted.has(shift)).concat(begun)),
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
