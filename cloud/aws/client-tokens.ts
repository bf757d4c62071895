import type { Clock } from './clock.js';

/** What EC2 did with a request is visible to everybody by then, milliseconds. */
const visibleAfterMs = 60_000;
/** Launches that are remembered; what is forgotten costs a minute, never a second instance. */
const mostKept = 5000;

/**
 * What is known of the client tokens of CreateFleet. EC2 keeps a token with its parameters and its answer: asked again in the same
 * words it gives the same answer, in other words it refuses (`IdempotentParameterMismatch`). By the next attempt the
 * words are other ones: offerings have run out, another subnet has more free addresses.
 * - A request whose answer was lost is repeated in the same words, so that EC2 says what it did.
 * - A token that was answered without an instance is spent: the next attempt has another.
 * - A token that somebody else used in other words, a process that died, is spent once an instance that it launched
 *   would be visible: until then the claim may have one.
 */
export class ClientTokens<Request> {
  /** How many tokens of a name are spent. */
  private readonly spent = new Map<string, number>();
  private readonly lostRequests = new Map<string, Request>();
  private readonly mismatches = new Map<string, number>();

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /** The token that the request of this name goes out with. */
  next(name: string): string {
    const spent = this.spent.get(name) ?? 0;
    return spent === 0 ? name : `${name}-${spent}`;
  }

  /** The request whose answer never came, to be repeated as it was. */
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

  /** EC2 will launch nothing by this token any more. */
  spend(name: string): void {
    this.answered(name);
    keep(this.spent, name, (this.spent.get(name) ?? 0) + 1);
  }

  /** No instance of the claim is visible, and EC2 knows the token by other words. */
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
