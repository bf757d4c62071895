import type { EC2NodeClassSpec, ResolvedSecurityGroup, ResolvedSubnet } from '../../api/aws/ec2-node-class.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { allPages } from './pages.js';
import { tagFilters } from './tags.js';
import { compareText } from '../../core/text.js';
import { unavailableMs } from '../../core/unavailable-offerings.js';

/** A subnet with the data that launches need. */
interface Subnet extends ResolvedSubnet {
  readonly freeAddresses: number;
}

/** Free addresses are cached for this long (launch/subnets). */
const addressesMs = 5 * 60_000;
/** EC2 allows this many values in a filter. */
const mostIds = 200;

/** Subnets and their free addresses, minus those that launches in progress will use (launch/subnets). */
export class Subnets {
  private readonly free = new Map<string, { addresses: number; at: number }>();
  /** By id: when a launch found no free addresses. */
  private readonly exhausted = new Map<string, number>();
  private readonly zoneIds = new Map<string, string>();
  private readonly public = new Map<string, boolean>();

  constructor(
    private readonly calls: Pick<AwsCalls, 'describeSubnets'>,
    private readonly clock: Clock,
  ) {}

  /** Subnets that any term selects, most free addresses first, then by id. */
  async find(terms: EC2NodeClassSpec['subnetSelectorTerms']): Promise<Subnet[]> {
    const found = new Map<string, Subnet>();
    const answers = await Promise.all(terms.map((term) => this.describe(term.id, term.tags)));
    for (const subnet of answers.flat()) {
      found.set(subnet.id, subnet);
      this.free.set(subnet.id, { addresses: subnet.freeAddresses, at: this.clock.now() });
    }
    return [...found.values()].sort((a, b) => b.freeAddresses - a.freeAddresses || compareText(a.id, b.id));
  }

  /** For each zone the subnet with most free addresses; zones with only exhausted subnets are left out. */
  async choose(subnets: readonly ResolvedSubnet[]): Promise<Map<string, ResolvedSubnet>> {
    await this.refresh(subnets);
    const byZone = new Map<string, ResolvedSubnet>();
    for (const subnet of subnets) {
      if (this.isExhausted(subnet.id)) continue;
      const best = byZone.get(subnet.zone);
      if (best === undefined || this.addressesOf(subnet.id) > this.addressesOf(best.id))
        byZone.set(subnet.zone, subnet);
    }
    return byZone;
  }

  /**
   * Zones whose subnets assign public addresses, which apply if the node class does not decide; none while EC2 is
   * unavailable.
   */
  async publicZones(subnets: readonly ResolvedSubnet[]): Promise<ReadonlySet<string>> {
    if (subnets.some(({ id }) => !this.public.has(id))) await this.refresh(subnets, true).catch(() => undefined);
    return new Set(subnets.filter(({ id }) => this.public.get(id) === true).map(({ zone }) => zone));
  }

  /** Reserves addresses for a launch; the returned function releases those that it did not use. */
  reserve(ids: readonly string[], addresses: number): (usedId: string | undefined) => void {
    for (const id of ids) this.add(id, -addresses);
    return (usedId) => {
      for (const id of ids) if (id !== usedId) this.add(id, addresses);
    };
  }

  /** The id of a zone with known subnets. */
  zoneIdOf(zone: string): string | undefined {
    return this.zoneIds.get(zone);
  }

  /** Excludes a subnet without free addresses from launches. */
  markExhausted(id: string): void {
    this.exhausted.set(id, this.clock.now());
  }

  /** Changes whenever the results of `isExhausted` may. */
  get version(): string {
    return [...this.exhausted.keys()].filter((id) => this.isExhausted(id)).join();
  }

  isExhausted(id: string): boolean {
    const age = this.clock.now() - (this.exhausted.get(id) ?? Infinity);
    // If the clock was set back, the age is unknown.
    const isExhausted = age >= 0 && age < unavailableMs;
    if (!isExhausted) this.exhausted.delete(id);
    return isExhausted;
  }

  private addressesOf(id: string): number {
    return this.free.get(id)?.addresses ?? 0;
  }

  private add(id: string, addresses: number): void {
    const known = this.free.get(id);
    if (known !== undefined) known.addresses += addresses;
  }

  private async refresh(subnets: readonly ResolvedSubnet[], all = false): Promise<void> {
    const now = this.clock.now();
    const stale = subnets
      .map(({ id }) => id)
      .filter((id) => all || Math.abs(now - (this.free.get(id)?.at ?? Infinity)) > addressesMs);
    for (let first = 0; first < stale.length; first += mostIds) {
      const ids = stale.slice(first, first + mostIds);
      for (const subnet of await this.query({ Filters: [{ Name: 'subnet-id', Values: ids }] })) {
        this.free.set(subnet.id, { addresses: subnet.freeAddresses, at: now });
      }
    }
  }

  private describe(id: string | undefined, tags: Readonly<Record<string, string>> | undefined): Promise<Subnet[]> {
    return this.query({ Filters: id === undefined ? tagFilters(tags) : [{ Name: 'subnet-id', Values: [id] }] });
  }

  private async query(input: { Filters: { Name: string; Values: string[] }[] }): Promise<Subnet[]> {
    const subnets = await allPages(
      'ec2:DescribeSubnets',
      (token) => this.calls.describeSubnets({ ...input, MaxResults: 1000, NextToken: token }),
      (page) => page.Subnets,
    );
    for (const { AvailabilityZone: zone, AvailabilityZoneId: id, SubnetId: subnet, MapPublicIpOnLaunch } of subnets) {
      if (zone !== undefined && id !== undefined) this.zoneIds.set(zone, id);
      if (subnet !== undefined) this.public.set(subnet, MapPublicIpOnLaunch === true);
    }
    const usable = subnets.filter((subnet) => subnet.SubnetId !== undefined && subnet.AvailabilityZone !== undefined);
    return usable.map((subnet) => ({
      id: subnet.SubnetId ?? '',
      zone: subnet.AvailabilityZone ?? '',
      ...(subnet.AvailabilityZoneId === undefined ? {} : { zoneID: subnet.AvailabilityZoneId }),
      freeAddresses: subnet.AvailableIpAddressCount ?? 0,
    }));
  }
}

/** Security groups that any term selects, by id. */
export async function findSecurityGroups(
  calls: Pick<AwsCalls, 'describeSecurityGroups'>,
  terms: EC2NodeClassSpec['securityGroupSelectorTerms'],
): Promise<ResolvedSecurityGroup[]> {
  const answers = await Promise.all(
    terms.map((term) => {
      const named = term.name === undefined ? tagFilters(term.tags) : [{ Name: 'group-name', Values: [term.name] }];
      const filters = term.id === undefined ? named : [{ Name: 'group-id', Values: [term.id] }];
      return allPages(
        'ec2:DescribeSecurityGroups',
        (token) => calls.describeSecurityGroups({ Filters: filters, MaxResults: 1000, NextToken: token }),
        (page) => page.SecurityGroups,
      );
    }),
  );
  const groups = new Map<string, ResolvedSecurityGroup>();
  for (const { GroupId: id, GroupName: name } of answers.flat()) {
    if (id !== undefined) groups.set(id, { id, ...(name === undefined ? {} : { name }) });
  }
  return [...groups.values()].sort((a, b) => compareText(a.id, b.id));
}
