import { compareText } from './text.js';

/** How long an offering that was out of capacity is left alone, in milliseconds (launch/unavailable-offerings). */
export const unavailableMs = 180_000;

/** An offering that refused; `*` stands for any type or zone. */
export interface RefusedOffering {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly reason: string;
  /** The placement group, or its partition as `group/number`, within which it refused; absent: outside of any. */
  readonly placement?: string;
  /** Milliseconds of the epoch; absent: three minutes from when it is marked. */
  readonly until?: number;
}

/** A refusal as it is remembered. */
export interface RememberedRefusal extends RefusedOffering {
  /** Left alone until then; afterwards it may be tried again. */
  readonly until: number;
  /** How long this pause is, milliseconds: refusing again soon after it doubles it. */
  readonly forMs: number;
}

/** Which offering is asked about. */
type Offering = Pick<RefusedOffering, 'capacityType' | 'instanceType' | 'zone' | 'placement'>;

/** The longest that an offering is left alone for refusing again and again. */
const longestMs = 8 * unavailableMs;
/** A refusal is remembered this many times as long as its pause, to tell the next one from it. */
const remembered = 2;

/**
 * Offerings that are out of capacity. One that refuses again when it is tried after its time is left alone for twice as
 * long, up to 24 minutes. `now` gives milliseconds of the epoch.
 */
export class UnavailableOfferings {
  private readonly entries = new Map<string, RememberedRefusal>();
  private readonly closed = new Set<string>();
  private changes = 0;

  constructor(
    private readonly now: () => number,
    carried: readonly RememberedRefusal[] = [],
  ) {
    for (const entry of carried) this.set(offeringKey(entry), entry);
  }

  /** Changes whenever the answers of `get` may. */
  get version(): string {
    const now = this.now();
    for (const key of this.closed) {
      if ((this.entries.get(key)?.until ?? 0) > now) continue;
      this.closed.delete(key);
      this.changes += 1;
    }
    return String(this.changes);
  }

  add(offerings: readonly RefusedOffering[]): void {
    const now = this.now();
    this.forget(now);
    for (const offering of offerings) {
      const key = offeringKey(offering);
      const known = this.entries.get(key);
      const { until } = offering;
      if (until !== undefined) this.set(key, { ...offering, until, forMs: known?.forMs ?? unavailableMs });
      else if (known === undefined) this.set(key, { ...offering, until: now + unavailableMs, forMs: unavailableMs });
      else if (known.until > now) this.set(key, { ...offering, until: known.until, forMs: known.forMs });
      else {
        const forMs = Math.min(longestMs, 2 * known.forMs);
        this.set(key, { ...offering, until: now + forMs, forMs });
      }
    }
  }

  /** An offering that gave an instance is trusted as before. */
  succeeded(capacityType: string, instanceType: string, zone: string, placement?: string): void {
    const key = offeringKey({ capacityType, instanceType, zone, ...(placement === undefined ? {} : { placement }) });
    if (!this.entries.delete(key)) return;
    this.closed.delete(key);
    this.changes += 1;
  }

  get(
    capacityType: string,
    instanceType: string,
    zone: string,
    placement?: string,
  ): { readonly until: number; readonly reason: string } | undefined {
    if (this.closed.size === 0) return undefined;
    const now = this.now();
    const where = placement === undefined ? {} : { placement };
    const any = '*';
    for (const [type, place] of [
      [instanceType, zone],
      [any, zone],
      [instanceType, any],
      [any, any],
    ] as const) {
      const entry = this.entries.get(offeringKey({ capacityType, instanceType: type, zone: place, ...where }));
      if (entry !== undefined && entry.until > now) return entry;
    }
    return undefined;
  }

  /** Every refusal that still matters, those first whose time is over first; `until` may be past. */
  all(): readonly RememberedRefusal[] {
    const now = this.now();
    return [...this.entries.values()]
      .filter((entry) => forgottenAt(entry) > now)
      .sort((a, b) => a.until - b.until || compareText(offeringKey(a), offeringKey(b)));
  }

  /** When the next offering may be tried again or be forgotten; undefined when nothing is remembered. */
  nextChange(): number | undefined {
    const now = this.now();
    const times = this.all().map((entry) => (entry.until > now ? entry.until : forgottenAt(entry)));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  private set(key: string, entry: RememberedRefusal): void {
    this.entries.set(key, entry);
    this.closed.add(key);
    this.changes += 1;
  }

  private forget(now: number): void {
    for (const [key, entry] of this.entries) {
      if (forgottenAt(entry) > now) continue;
      this.entries.delete(key);
      if (this.closed.delete(key)) this.changes += 1;
    }
  }
}

function forgottenAt({ until, forMs }: RememberedRefusal): number {
  return until + remembered * forMs;
}

/** What tells one offering from another. */
export function offeringKey({ capacityType, instanceType, zone, placement }: Offering): string {
  const key = `${capacityType}/${instanceType}/${zone}`;
  return placement === undefined ? key : `${key}/${placement}`;
}
