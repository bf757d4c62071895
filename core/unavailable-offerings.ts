import { compareText } from './text.js';

/** How long an offering without capacity is not used, in milliseconds (launch/unavailable-offerings). */
export const unavailableMs = 180_000;

/** An offering that refused a launch; `*` means any type or zone. */
export interface RefusedOffering {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly reason: string;
  /** The placement group, or its partition as `group/number`, in which it refused; absent: outside of any. */
  readonly placement?: string;
  /** Milliseconds since the epoch; absent: three minutes after it is marked. */
  readonly until?: number;
}

/** A recorded refusal. */
export interface RememberedRefusal extends RefusedOffering {
  /** Not used until then. */
  readonly until: number;
  /** Length of this back-off, milliseconds: a further refusal soon after it doubles it. */
  readonly forMs: number;
}

/** The key of a look-up. */
type Offering = Pick<RefusedOffering, 'capacityType' | 'instanceType' | 'zone' | 'placement'>;

const any = '*';

/** The longest back-off after repeated refusals. */
const longestMs = 8 * unavailableMs;
/** A refusal is recorded for this many times its back-off, to detect repeated refusals. */
const remembered = 2;

/**
 * Offerings without capacity. One that refuses again when it is retried is not used for twice as long, up to 24
 * minutes. `now` gives milliseconds since the epoch.
 */
export class UnavailableOfferings {
  private readonly entries = new Map<string, RememberedRefusal>();
  private readonly closed = new Set<string>();
  private changes = 0;
  private lastNow = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly clock: () => number,
    carried: readonly RememberedRefusal[] = [],
  ) {
    for (const entry of carried) this.set(offeringKey(entry), entry);
  }

  /** Changes whenever the results of `get` may. */
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

  /** A successful launch resets the back-off of its offering. */
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
    const now = this.now();
    if (this.closed.size === 0) return undefined;
    // What is refused without a placement group is refused within one.
    for (const where of placement === undefined ? [{}] : [{ placement }, {}])
      for (const type of [instanceType, any])
        for (const place of [zone, any]) {
          const entry = this.entries.get(offeringKey({ capacityType, instanceType: type, zone: place, ...where }));
          if (entry !== undefined && entry.until > now) return entry;
        }
    return undefined;
  }

  /** Every refusal that still matters, ordered by its end; `until` may be in the past. */
  all(): readonly RememberedRefusal[] {
    const now = this.now();
    return [...this.entries.values()]
      .filter((entry) => forgottenAt(entry) > now)
      .sort((a, b) => a.until - b.until || compareText(offeringKey(a), offeringKey(b)));
  }

  /** When the next offering may be retried or dropped; undefined if there are none. */
  nextChange(): number | undefined {
    const now = this.now();
    const times = this.all().map((entry) => (entry.until > now ? entry.until : forgottenAt(entry)));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** If the clock was set back, so are the ends: a back-off does not become longer. */
  private now(): number {
    const now = this.clock();
    const back = Math.max(0, this.lastNow - now);
    this.lastNow = now;
    if (back > 0) for (const [key, entry] of this.entries) this.set(key, { ...entry, until: entry.until - back });
    return now;
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

/** The identity of an offering. */
export function offeringKey({ capacityType, instanceType, zone, placement }: Offering): string {
  const key = `${capacityType}/${instanceType}/${zone}`;
  return placement === undefined ? key : `${key}/${placement}`;
}
