/** How long an offering that was out of capacity is left alone, in milliseconds (section 3.3). */
export const unavailableMs = 180_000;

/** An offering that refused; `*` stands for any type or zone. */
export interface RefusedOffering {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly reason: string;
  /** Milliseconds of the epoch; absent: three minutes from when it is marked. */
  readonly until?: number;
}

/** Offerings that are out of capacity, as this process knows them. `now` gives milliseconds of the epoch. */
export class UnavailableOfferings {
  private readonly entries = new Map<string, RefusedOffering & { readonly until: number }>();
  private changes = 0;

  constructor(private readonly now: () => number) {}

  /** Changes whenever the answers of `get` may. */
  get version(): string {
    const now = this.now();
    for (const [key, entry] of this.entries) {
      if (entry.until > now) continue;
      this.entries.delete(key);
      this.changes += 1;
    }
    return String(this.changes);
  }

  mark(offerings: readonly RefusedOffering[]): void {
    for (const offering of offerings) {
      const until = offering.until ?? this.now() + unavailableMs;
      this.entries.set(keyOf(offering.capacityType, offering.instanceType, offering.zone), { ...offering, until });
      this.changes += 1;
    }
  }

  get(
    capacityType: string,
    instanceType: string,
    zone: string,
  ): { readonly until: number; readonly reason: string } | undefined {
    if (this.entries.size === 0) return undefined;
    const now = this.now();
    const keys = [
      keyOf(capacityType, instanceType, zone),
      keyOf(capacityType, '*', zone),
      keyOf(capacityType, instanceType, '*'),
      keyOf(capacityType, '*', '*'),
    ];
    for (const key of keys) {
      const entry = this.entries.get(key);
      if (entry !== undefined && entry.until > now) return entry;
    }
    return undefined;
  }
}

function keyOf(capacityType: string, instanceType: string, zone: string): string {
  return `${capacityType}/${instanceType}/${zone}`;
}
