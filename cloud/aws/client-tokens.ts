import type { Clock } from './clock.js';

/** Time after which the effect of a request is visible to all callers, milliseconds. */
const visibleAfterMs = 60_000;
/** Maximum number of launches that are tracked. Losing one costs a delay of a minute, never a second instance. */
const mostKept = 5000;

/**
 * Tracks the client tokens of CreateFleet. EC2 stores a token with its parameters and response: a repeated request with
 * the same parameters gets the same response, with other parameters it fails (`IdempotentParameterMismatch`).
 * Parameters differ between attempts: offerings become unavailable, another subnet has more free addresses.
 * - A request whose response was lost is repeated with the same parameters, so that EC2 reports its result.
 * - A token whose response had no instance is spent: the next attempt uses another.
 * - A token that another process used with other parameters before it died is spent after the time in which an instance
 * launched with it becomes visible: until then the claim may have one.
 */
export class ClientTokens<Request> {
  /** By name: the number of spent tokens. */
  private readonly spent = new Map<string, number>();
  private readonly lostRequests = new Map<string, Request>();
  private readonly mismatches = new Map<string, number>();

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /** The token for the next request of this name. */
  next(name: string): string {
    const spent = this.spent.get(name) ?? 0;
    return spent === 0 ? name : `${name}-${spent}`;
  }

  /** The request whose response was lost, to be repeated unchanged. */
  unanswered(name: string): Request | undefined {
    return this.lostRequests.get(name);
  }

  lost(name: string, request: Request): void {
    keep(this.lostRequests, name, request);
  }

  answered(name: string): void {
    this.lostRequests.delete(name);
    this.mismatches.delete(name);
  }

  /** Marks the token as spent: EC2 launches nothing more with it. */
  spend(name: string): void {
    this.answered(name);
    keep(this.spent, name, (this.spent.get(name) ?? 0) + 1);
  }

  /** Handles a mismatch: EC2 knows the token with other parameters, and no instance of the claim is visible. */
  mismatched(name: string): void {
    const now = this.clock.now();
    const since = this.mismatches.get(name) ?? now;
    if (now - since >= visibleAfterMs) this.spend(name);
    else keep(this.mismatches, name, since);
  }
}

function keep<T>(kept: Map<string, T>, key: string, value: T): void {
  const [oldest] = kept.keys();
  if (kept.size >= mostKept && !kept.has(key) && oldest !== undefined) kept.delete(oldest);
  kept.set(key, value);
}
