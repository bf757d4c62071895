import { matches } from './pools.js';

/**
 * Something that goes wrong with a call.
 * - `error`: the answer is the error `code`; the call has no effect.
 * - `throttle`: `error` with RequestLimitExceeded and status 503.
 * - `delay`: the call is held up by `delayMs`, then goes on.
 * - `lost`: the call takes effect and its answer never comes: the connection is cut. Never a dry run, which has no effect.
 * - `cut`: the connection is cut and the call has no effect.
 * - `hang`: no answer until the caller gives up; the call has no effect.
 */
export interface Fault {
  kind: 'error' | 'throttle' | 'delay' | 'lost' | 'cut' | 'hang';
  /** The action's name, with `*`; default any. */
  action?: string;
  /** `ec2`, `sqs`, `ssm`, `iam`, `pricing`, `eks` ...; default any. */
  service?: string;
  /** Only calls whose parameters, as JSON, contain this text. */
  containing?: string;
  /** How many calls it happens to; default 1, 0 for ever. */
  times?: number;
  /** How many matching calls go through before the first; default 0. */
  after?: number;
  code?: string;
  message?: string;
  status?: number;
  delayMs?: number;
}

interface Armed extends Fault {
  id: number;
  left: number;
  skip: number;
}

/** The faults that tests and people have scripted, in the order in which they were added. */
export class Faults {
  #armed: Armed[] = [];
  #nextId = 1;

  list(): readonly (Fault & { id: number; left: number })[] {
    return this.#armed;
  }

  add(fault: Fault): number {
    const id = this.#nextId++;
    const times = fault.times ?? 1;
    this.#armed.push({ ...fault, id, left: times === 0 ? Number.MAX_SAFE_INTEGER : times, skip: fault.after ?? 0 });
    return id;
  }

  clear(): void {
    this.#armed = [];
  }

  /** The fault that happens to this call, if any; counts it. */
  next(service: string, action: string, params: unknown): Fault | undefined {
    for (const fault of this.#armed) {
      if (!matches(fault.service, service) || !matches(fault.action, action)) continue;
      if (fault.kind === 'lost' && isDryRun(params)) continue;
      if (fault.containing !== undefined && !JSON.stringify(params).includes(fault.containing)) continue;
      if (fault.skip > 0) {
        fault.skip--;
        continue;
      }
      fault.left--;
      if (fault.left <= 0) this.#armed = this.#armed.filter((each) => each !== fault);
      return fault;
    }
    return undefined;
  }
}

const isDryRun = (params: unknown): boolean =>
  typeof params === 'object' && params !== null && 'DryRun' in params && params.DryRun === 'true';
