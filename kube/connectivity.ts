import { isDomainError } from '../core/failures.js';
import type { Kind } from './port.js';

export interface ConnectivityListeners {
  /** Called when the API server stops responding and when it responds again; only on changes. */
  readonly onConnectivity?: (state: { readonly connected: boolean; readonly error?: Error }) => void;
  /** Called for a kind that cannot be listed or watched although the server responds (denied, not served). */
  readonly onProblem?: (kind: Kind, error: Error) => void;
}

/** Number of consecutive throttled calls of a kind before they are reported. */
const toleratedThrottles = 5;

/** Tracks whether the API server responds, by kind, and what it refuses. */
export class Connectivity {
  private readonly problems = new Map<Kind, string>();
  private readonly failing = new Set<Kind>();

  constructor(private readonly listeners: ConnectivityListeners) {}

  get connected(): boolean {
    return this.failing.size === 0;
  }

  /** A list or watch of the kind succeeded. */
  reached(kind: Kind): void {
    this.problems.delete(kind);
    this.answered(kind);
  }

  /** The API server responded, possibly with an error. */
  answered(kind: Kind): void {
    if (this.failing.delete(kind) && this.failing.size === 0) this.listeners.onConnectivity?.({ connected: true });
  }

  /** Records a failure; `failures`: the number in a row. */
  failed(kind: Kind, error: Error, failures: number): void {
    if (isDomainError(error, 'Unavailable')) {
      const first = this.failing.size === 0;
      this.failing.add(kind);
      if (first) this.listeners.onConnectivity?.({ connected: false, error });
      return;
    }
    // A refusal is a response.
    this.answered(kind);
    // A server that starts or is busy throttles for a while; it is reported only if that persists.
    if (isDomainError(error, 'Throttled') && failures <= toleratedThrottles) return;
    if (this.problems.get(kind) === error.message) return;
    this.problems.set(kind, error.message);
    this.listeners.onProblem?.(kind, error);
  }
}
