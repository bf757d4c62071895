import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { compareText } from '../../core/text.js';
import { DomainError } from '../../core/failures.js';
import { digestOf } from '../../core/hash.js';
import { Cached } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { allPages } from './pages.js';

/** Instance types of the region. */
export interface MachineTypes {
  /** Sorted by name. */
  readonly infos: readonly InstanceTypeInfo[];
  /** By type: names of the zones that offer it. */
  readonly zones: ReadonlyMap<string, ReadonlySet<string>>;
}

/** One reading from EC2, with a text that is equal for equal readings. */
export interface MachineReading extends MachineTypes {
  readonly digest: string;
}

const hour = 3_600_000;

/**
 * Instance types and their zones, read every 12 hours (instance-types/catalogue-age); after a failed reading the old
 * one serves for another 12.
 */
export function createMachineTypes(calls: AwsCalls, clock: Clock): Cached<MachineReading> {
  const load = async (): Promise<MachineReading> => {
    const [infos, offerings] = await Promise.all([
      allPages(
        'ec2:DescribeInstanceTypes',
        (token) =>
          calls.describeInstanceTypes({
            MaxResults: 100,
            NextToken: token,
            Filters: [
              { Name: 'supported-virtualization-type', Values: ['hvm'] },
              { Name: 'processor-info.supported-architecture', Values: ['x86_64', 'arm64'] },
            ],
          }),
        (page) => page.InstanceTypes,
      ),
      allPages(
        'ec2:DescribeInstanceTypeOfferings',
        (token) =>
          calls.describeInstanceTypeOfferings({
            LocationType: 'availability-zone',
            MaxResults: 1000,
            NextToken: token,
          }),
        (page) => page.InstanceTypeOfferings,
      ),
    ]);
    const zones = new Map<string, Set<string>>();
    for (const { InstanceType: type, Location: zone } of offerings) {
      if (type === undefined || zone === undefined) continue;
      zones.set(type, (zones.get(type) ?? new Set<string>()).add(zone));
    }
    const byName = new Map<string, InstanceTypeInfo>();
    for (const info of infos) if (info.InstanceType !== undefined) byName.set(info.InstanceType, info);
    // Every region has some: caching an empty list for half a day would be an outage.
    if (byName.size === 0) throw new DomainError('Unavailable', 'ec2:DescribeInstanceTypes: EC2 lists none');
    if (zones.size === 0) throw new DomainError('Unavailable', 'ec2:DescribeInstanceTypeOfferings: EC2 lists none');
    const sorted = [...byName.values()].sort((a, b) => compareText(a.InstanceType ?? '', b.InstanceType ?? ''));
    return { infos: sorted, zones, digest: digestOf([sorted, zonesInOrder(sorted, zones)]) };
  };
  return new Cached(clock, load, 12 * hour, 12 * hour);
}

/** EC2 lists zones in any order. */
const zonesInOrder = (
  infos: readonly InstanceTypeInfo[],
  zones: ReadonlyMap<string, ReadonlySet<string>>,
): readonly (readonly string[])[] => infos.map(({ InstanceType: type = '' }) => [...(zones.get(type) ?? [])].sort());
