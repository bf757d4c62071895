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

/** The longest that an offering is left alone for refusing again and again. */
const longestMs = 8 * unavailableMs;

/**
 * Offerings that are out of capacity, as this process knows them. One that refuses again when it is tried after its
 * time is left alone for twice as long, up to 24 minutes. `now` gives milliseconds of the epoch.
 */
export class UnavailableOfferings {
  private readonly entries = new Map<string, RefusedOffering & { readonly until: number }>();
  private readonly refusals = new Map<string, { readonly at: number; readonly forMs: number }>();
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
      const key = keyOf(offering.capacityType, offering.instanceType, offering.zone);
      const until = offering.until ?? this.now() + this.pause(key);
      this.entries.set(key, { ...offering, until });
      this.changes += 1;
    }
  }

  /** An offering that gave an instance is trusted as before. */
  succeeded(capacityType: string, instanceType: string, zone: string): void {
    const key = keyOf(capacityType, instanceType, zone);
    this.refusals.delete(key);
    if (this.entries.delete(key)) this.changes += 1;
  }

  private pause(key: string): number {
    const now = this.now();
    const last = this.refusals.get(key);
    // Reports of one and the same refusal, and refusals long ago, start over.
    const again = last !== undefined && now >= last.at + last.forMs && now < last.at + 3 * last.forMs;
    const same = last !== undefined && now < last.at + last.forMs;
    const forMs = again ? Math.min(longestMs, 2 * last.forMs) : same ? last.forMs : unavailableMs;
    this.refusals.set(key, same ? last : { at: now, forMs });
    return same ? last.at + last.forMs - now : forMs;
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
