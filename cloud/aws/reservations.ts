import type { CapacityReservation, DescribeCapacityReservationsCommandInput } from '@aws-sdk/client-ec2';
import type { EC2NodeClassSpec, ResolvedCapacityReservation } from '../../api/aws/ec2-node-class.js';
import { compareText } from '../../core/text.js';
import { isDomainError } from '../../core/failures.js';
import { CachedByKey } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { allPages } from './pages.js';
import { tagFilters } from './tags.js';

type Term = NonNullable<EC2NodeClassSpec['capacityReservationSelectorTerms']>[number];

/** Nodes leave a capacity block this long before it ends (reserved-capacity/block-ends). */
const blockEndLeadMs = 40 * 60_000;
/** Counts are cached for this long. */
const countsMs = 60_000;
/** The end of a block is cached for this long. */
const endsMs = 5 * 60_000;

/** Capacity reservations and their free instances (reserved-capacity/counters). */
export class Reservations {
  private readonly free = new Map<string, number>();
  private readonly readAt = new Map<string, number>();
  private readonly ending: CachedByKey<boolean>;
  private changes = 0;

  constructor(
    private readonly calls: Pick<AwsCalls, 'describeCapacityReservations'>,
    private readonly clock: Clock,
  ) {
    this.ending = new CachedByKey(clock, endsMs);
  }

  /** Changes whenever the results of `available` may. */
  get version(): number {
    return this.changes;
  }

  /** Active reservations that any term selects, by id. */
  async find(terms: readonly Term[]): Promise<ResolvedCapacityReservation[]> {
    const answers = await Promise.all(terms.map((term) => this.describe(term)));
    const found = new Map<string, ResolvedCapacityReservation>();
    for (const reservation of answers.flat()) {
      const { CapacityReservationId: id, EndDate: end } = reservation;
      // EC2 may report one as active for a while after its end.
      if (id === undefined || (end !== undefined && end.getTime() <= this.clock.now())) continue;
      found.set(id, this.resolved(id, reservation));
      this.read(id, reservation.AvailableInstanceCount ?? 0);
    }
    return [...found.values()].sort((a, b) => compareText(a.id, b.id));
  }

  /** Refreshes counts older than a minute, for processes that did not resolve the node class. */
  async refresh(ids: readonly string[]): Promise<void> {
    const now = this.clock.now();
    const stale = ids.filter((id) => Math.abs(now - (this.readAt.get(id) ?? Infinity)) >= countsMs);
    if (stale.length === 0) return;
    // Separately: one missing id fails a whole call.
    await Promise.all(stale.map(async (id) => this.read(id, (await this.active(id))?.AvailableInstanceCount ?? 0)));
  }

  /**
   * Whether it is a capacity block that nodes must leave now, selected by any node class
   * (reserved-capacity/block-ends).
   */
  isEnding(id: string): Promise<boolean> {
    return this.ending.get(id, async () => {
      const reservation = await this.active(id);
      return reservation !== undefined && this.isExpiring(reservation);
    });
  }

  available(id: string): number {
    return this.free.get(id) ?? 0;
  }

  /** Counts an instance launched into it. */
  used(id: string): void {
    this.set(id, Math.max(0, this.available(id) - 1));
  }

  /** After a refusal nothing is left until it is described again. */
  exhausted(id: string): void {
    this.set(id, 0);
  }

  private read(id: string, count: number): void {
    this.readAt.set(id, this.clock.now());
    this.set(id, count);
  }

  private set(id: string, count: number): void {
    if (this.free.get(id) === count) return;
    this.free.set(id, count);
    this.changes += 1;
  }

  private resolved(id: string, reservation: CapacityReservation): ResolvedCapacityReservation {
    const end = reservation.EndDate;
    const block = reservation.ReservationType === 'capacity-block';
    return {
      id,
      availabilityZone: reservation.AvailabilityZone ?? '',
      instanceType: reservation.InstanceType ?? '',
      instanceMatchCriteria: reservation.InstanceMatchCriteria ?? 'targeted',
      ownerID: reservation.OwnerId ?? '',
      reservationType: block ? 'capacity-block' : 'default',
      state: this.isExpiring(reservation) ? 'expiring' : 'active',
      ...(end === undefined ? {} : { endTime: `${end.toISOString().slice(0, 19)}Z` }),
      ...(reservation.Interruptible === true ? { interruptible: true } : {}),
    };
  }

  private isExpiring({ ReservationType: type, EndDate: end }: CapacityReservation): boolean {
    return type === 'capacity-block' && end !== undefined && end.getTime() - this.clock.now() <= blockEndLeadMs;
  }

  private async active(id: string): Promise<CapacityReservation | undefined> {
    const filters = [{ Name: 'state', Values: ['active'] }];
    return (await this.query({ Filters: filters, CapacityReservationIds: [id] }))[0];
  }

  private describe(term: Term): Promise<CapacityReservation[]> {
    const filters = [{ Name: 'state', Values: ['active'] }, ...tagFilters(term.tags)];
    if (term.ownerID !== undefined) filters.push({ Name: 'owner-id', Values: [term.ownerID] });
    if (term.instanceMatchCriteria !== undefined) {
      filters.push({ Name: 'instance-match-criteria', Values: [term.instanceMatchCriteria] });
    }
    const ids = term.id === undefined ? {} : { CapacityReservationIds: [term.id] };
    return this.query({ ...ids, Filters: filters });
  }

  /** Reservations that do not exist are left out. */
  private async query(input: DescribeCapacityReservationsCommandInput): Promise<CapacityReservation[]> {
    try {
      return await allPages(
        'ec2:DescribeCapacityReservations',
        (token) => this.calls.describeCapacityReservations({ ...input, NextToken: token }),
        (page) => page.CapacityReservations,
      );
    } catch (error) {
      if (isDomainError(error, 'NotFound')) return [];
      throw error;
    }
  }
}
