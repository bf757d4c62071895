import { isDomainError } from '../core/failures.js';
import type { Kind } from './port.js';

export interface ConnectivityListeners {
  /** Called once when the API server stops answering, once when it answers again, and never twice the same. */
  readonly onConnectivity?: (state: { readonly connected: boolean; readonly error?: Error }) => void;
  /** A kind that cannot be listed or watched though the server answers (denied, not served). */
  readonly onProblem?: (kind: Kind, error: Error) => void;
}

/** How often in a row a kind may be throttled before anyone hears of it. */
const toleratedThrottles = 5;

/** Whether the API server answers, by kind, and what it refuses. */
export class Connectivity {
  private readonly problems = new Map<Kind, string>();
  private readonly failing = new Set<Kind>();

  constructor(private readonly listeners: ConnectivityListeners) {}

  get connected(): boolean {
    return this.failing.size === 0;
  }

  /** The kind can be listed or watched. */
  reached(kind: Kind): void {
    this.problems.delete(kind);
    this.answered(kind);
  }

  /** The API server answered, be it with a refusal. */
  answered(kind: Kind): void {
    if (this.failing.delete(kind) && this.failing.size === 0) this.listeners.onConnectivity?.({ connected: true });
  }

  /** The `failures`th failure in a row. */
  failed(kind: Kind, error: Error, failures: number): void {
    if (isDomainError(error, 'Unavailable')) {
      const first = this.failing.size === 0;
      this.failing.add(kind);
      if (first) this.listeners.onConnectivity?.({ connected: false, error });
      return;
    }
    // To refuse is to answer.
    this.answered(kind);
    // A server that is starting up, or busy, asks for patience; only one that goes on so is a problem.
    if (isDomainError(error, 'Throttled') && failures <= toleratedThrottles) return;
    if (this.problems.get(kind) === error.message) return;
    this.problems.set(kind, error.message);
    this.listeners.onProblem?.(kind, error);
  }
}
