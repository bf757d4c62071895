import { labels } from '../../../api/labels.js';
import type { InstanceType, Offering } from '../../../core/instance-type.js';
import { pinnedValue } from '../../../core/launch-options.js';

/** A capacity reservation: so many instances of a type in a zone. */
export interface FakeReservation {
  readonly id: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly count: number;
}

const idLabel = 'karpenter.k8s.aws/capacity-reservation-id';
const typeLabel = 'karpenter.k8s.aws/capacity-reservation-type';
/** Reserved capacity is paid for already: it has a price so that it is preferred, and that is next to nothing. */
const shareOfOnDemand = 1e-7;

/** Capacity reservations of a fake cloud, and which instances have places in them. */
export class FakeReservations {
  private readonly open = new Map<string, FakeReservation>();
  /** Reservations by the provider ids of the instances in them. */
  private readonly places = new Map<string, string>();

  begin(reservation: FakeReservation): void {
    this.open.set(reservation.id, reservation);
  }

  /** No reservation of that id any more. The provider ids of instances that run on demand from now on. */
  end(id: string): readonly string[] {
    this.open.delete(id);
    const freed = [...this.places].filter(([, place]) => place === id).map(([providerId]) => providerId);
    for (const providerId of freed) this.places.delete(providerId);
    return freed;
  }

  get ids(): readonly string[] {
    return [...this.open.keys()];
  }

  /** Changes whenever what is offered does. */
  get key(): string {
    return this.ids.map((id) => `${id} ${this.free(id)}`).join();
  }

  /** The type with an offering for each of its reservations. */
  withReserved(type: InstanceType): InstanceType {
    const own = [...this.open.values()].filter(({ instanceType }) => instanceType === type.name);
    if (own.length === 0) return type;
    const requirements = type.requirements.map((requirement) =>
      requirement.key === labels.capacityType
        ? { ...requirement, values: [...(requirement.values ?? []), 'reserved'] }
        : requirement,
    );
    return { ...type, requirements, offerings: [...type.offerings, ...own.map((each) => this.offering(type, each))] };
  }

  private offering(type: InstanceType, { id, zone }: FakeReservation): Offering {
    const pinned = { [labels.zone]: zone, [labels.capacityType]: 'reserved', [idLabel]: id, [typeLabel]: 'default' };
    const onDemand = type.offerings.find(
      ({ requirements }) => pinnedValue(requirements, labels.capacityType) === 'on-demand',
    );
    return {
      requirements: Object.entries(pinned).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
      price: (onDemand?.price ?? 1) * shareOfOnDemand,
      available: this.free(id) > 0,
      reservationCapacity: this.free(id),
    };
  }

  /** An instance was launched as the offering: in a reservation it takes a place. */
  noteLaunch(providerId: string, { requirements }: Offering): void {
    const id = pinnedValue(requirements, idLabel);
    if (id !== undefined) this.places.set(providerId, id);
  }

  noteGone(providerId: string): void {
    this.places.delete(providerId);
  }

  private free(id: string): number {
    const taken = [...this.places.values()].filter((place) => place === id).length;
    return Math.max(0, (this.open.get(id)?.count ?? 0) - taken);
  }
}
