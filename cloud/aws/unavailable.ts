import type { UnavailableOffering } from '../port.js';
import type { Clock } from './clock.js';

/** How long an offering that was out of capacity is left alone (section 3.3). */
export const unavailableMs = 180_000;

/** Offerings that are out of capacity, as this process knows them; `*` stands for any type or zone. */
export class UnavailableOfferings {
  private readonly entries = new Map<string, { readonly until: number; readonly reason: string }>();
  private changes = 0;

  constructor(private readonly clock: Clock) {}

  /** Changes whenever the answers of `get` may. */
  get version(): string {
    const now = this.clock.now();
    for (const [key, entry] of this.entries) {
      if (entry.until > now) continue;
      this.entries.delete(key);
      this.changes += 1;
    }
    return String(this.changes);
  }

  mark(offerings: readonly UnavailableOffering[]): void {
    for (const { capacityType, instanceType, zone, reason, until } of offerings) {
      const key = keyOf(capacityType, instanceType, zone);
      this.entries.set(key, { reason, until: until ?? this.clock.now() + unavailableMs });
      this.changes += 1;
    }
  }

  get(
    capacityType: string,
    instanceType: string,
    zone: string,
  ): { readonly until: number; readonly reason: string } | undefined {
    if (this.entries.size === 0) return undefined;
    const now = this.clock.now();
    for (const key of [
      keyOf(capacityType, instanceType, zone),
      keyOf(capacityType, '*', zone),
      keyOf(capacityType, '*', '*'),
    ]) {
      const entry = this.entries.get(key);
      if (entry !== undefined && entry.until > now) return entry;
    }
    return undefined;
  }
}

function keyOf(capacityType: string, instanceType: string, zone: string): string {
  return `${capacityType}/${instanceType}/${zone}`;
}
