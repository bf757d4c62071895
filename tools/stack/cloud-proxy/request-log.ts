import type { Fault } from './faults.js';

/** One request as the proxy saw it. */
export interface LoggedRequest {
  /** Rises by one from request to request. */
  sequence: number;
  /** Milliseconds of the epoch. */
  at: number;
  service: string;
  action: string;
  /** Query parameters with lists as objects keyed 1, 2, 3 ..., or the JSON body. */
  params: unknown;
  /** HTTP status; 0 while running, and when no answer was sent. */
  status: number;
  error?: string;
  durationMs?: number;
  /** The scripted fault that it met. */
  fault?: Fault['kind'];
  /** From the SDK: which attempt of its call it is. */
  attempt?: number;
}

const kept = 20_000;

/** The latest requests, oldest first. */
export class RequestLog {
  #entries: LoggedRequest[] = [];
  #sequence = 0;

  add(entry: Omit<LoggedRequest, 'sequence' | 'status'>): LoggedRequest {
    const logged = { sequence: ++this.#sequence, status: 0, ...entry };
    this.#entries.push(logged);
    if (this.#entries.length > kept * 1.2) this.#entries = this.#entries.slice(-kept);
    return logged;
  }

  list(filter: { service?: string | undefined; action?: string | undefined; after?: number } = {}): LoggedRequest[] {
    return this.#entries.filter(
      ({ service, action, sequence }) =>
        (filter.service === undefined || filter.service === service) &&
        (filter.action === undefined || filter.action === action) &&
        sequence > (filter.after ?? 0),
    );
  }

  clear(): void {
    this.#entries = [];
  }
}
