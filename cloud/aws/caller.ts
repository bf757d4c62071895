import { Readable } from 'node:stream';
import { isClockCorrected, toDomainError } from './errors.js';
import type { Clock } from './clock.js';
import type { IamAction } from './iam-policy.js';

interface CallBudget {
  /** Number of calls allowed at once after a quiet time. */
  readonly burst: number;
  /** Calls per second beyond that. */
  readonly perSecond: number;
}

/**
 * A token bucket shared by all callers of one request budget. When AWS throttles a call, all slow down together: the
 * rate halves and the bucket empties; each success raises the rate a little.
 */
export class Limiter {
  private tokens: number;
  private rate: number;
  private refilledAt: number;
  private turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly budget: CallBudget,
    private readonly clock: Clock,
  ) {
    this.tokens = budget.burst;
    this.rate = budget.perSecond;
    this.refilledAt = clock.now();
  }

  /** The current rate. */
  get perSecond(): number {
    return this.rate;
  }

  /** Resolves when the caller may make one call; first come, first served. */
  acquire(): Promise<void> {
    const mine = this.turn.then(() => this.take());
    this.turn = mine;
    return mine;
  }

  succeeded(): void {
    this.rate = Math.min(this.budget.perSecond, this.rate + this.budget.perSecond / 50);
  }

  throttled(): void {
    this.refill();
    this.tokens = Math.min(0, this.tokens);
    this.rate = Math.max(this.budget.perSecond / 32, this.rate / 2);
  }

  private async take(): Promise<void> {
    for (;;) {
      this.refill();
      if (this.tokens >= 1) break;
      await this.clock.sleep(Math.ceil(((1 - this.tokens) / this.rate) * 1000));
    }
    this.tokens -= 1;
  }

  private refill(): void {
    const now = this.clock.now();
    // If the clock was set back, no time has passed.
    const seconds = Math.max(0, now - this.refilledAt) / 1000;
    this.tokens = Math.min(this.budget.burst, this.tokens + seconds * this.rate);
    this.refilledAt = now;
  }
}

/**
 * Request budgets by kind of call, separate for each action, as EC2 counts. The values are the defaults that EC2
 * publishes. CreateFleet starts above its default: a throttled launch is retried, and most accounts that launch much
 * have raised limits.
 */
const budgets = {
  read: { burst: 100, perSecond: 20 },
  launch: { burst: 100, perSecond: 20 },
  /** Only dry runs use RunInstances; their budget does not slow down launches. */
  tryOut: { burst: 5, perSecond: 2 },
  mutate: { burst: 50, perSecond: 5 },
  tag: { burst: 100, perSecond: 10 },
  /** Separate, so that terminations proceed however many launches there are. */
  terminate: { burst: 100, perSecond: 5 },
  /** For single instances by id. */
  describeById: { burst: 50, perSecond: 10 },
  other: { burst: 200, perSecond: 100 },
  /** Standard queues have no limit that matters here. */
  queue: { burst: 500, perSecond: 500 },
} as const;

const maxAttempts = 4;

export interface CallerOptions {
  readonly clock: Clock;
  /**
   * Called after each call, for metrics and logs. `answered`: AWS responded, even with an error; throttling does not
   * count.
   */
  readonly onCall?: (call: { action: IamAction; durationMs: number; code: string; answered: boolean }) => void;
}

/** Makes one call within a budget and retries it if that is safe. */
export type Caller = <T>(
  action: IamAction,
  budget: keyof typeof budgets,
  send: () => Promise<T>,
  idempotent?: boolean,
) => Promise<T>;

/** Limits calls by their budgets, retries them, and turns what fails into domain errors. */
export function createCaller(options: CallerOptions): Caller {
  const limiters = new Map<string, Limiter>();
  const limiterOf = (action: IamAction, budget: keyof typeof budgets): Limiter => {
    const key = `${budget}/${action}`;
    const limiter = limiters.get(key) ?? new Limiter(budgets[budget], options.clock);
    limiters.set(key, limiter);
    return limiter;
  };
  /**
   * Throttled calls and calls with a wrong timestamp never took effect and may be repeated. A call without a response
   * is repeated only if it is idempotent.
   */
  return async (action, budget, send, idempotent = true) => {
    const limiter = limiterOf(action, budget);
    for (let attempt = 1; ; attempt++) {
      try {
        return await callOnce(action, { limiter, send, options });
      } catch (error) {
        const { type } = toDomainError(error, action);
        const again = type === 'Throttled' || isClockCorrected(error) || (type === 'Unavailable' && idempotent);
        if (!again || attempt >= maxAttempts) throw error;
        await options.clock.sleep(100 * 2 ** attempt * (0.5 + Math.random()));
      }
    }
  };
}

/** One attempt, under the limiter; reports the result to `onCall`. */
async function callOnce<T>(
  action: IamAction,
  { limiter, send, options: { clock, onCall } }: { limiter: Limiter; send: () => Promise<T>; options: CallerOptions },
): Promise<T> {
  await limiter.acquire();
  const start = clock.now();
  const report = (code: string, answered = true): void =>
    onCall?.({ action, durationMs: clock.now() - start, code, answered });
  try {
    const answer = await send();
    limiter.succeeded();
    report('');
    return answer;
  } catch (error) {
    const failure = toDomainError(error, action);
    if (failure.type === 'Throttled') limiter.throttled();
    const { code } = failure.details;
    const isAnswered = failure.type !== 'Throttled' && failure.type !== 'Unavailable';
    report(typeof code === 'string' && code !== '' ? code : failure.type, isAnswered);
    throw failure;
  }
}

/** A request without its signature, and the verbatim response of AWS. */
export interface Exchange {
  /** As in the names of permissions, such as `ec2`. */
  readonly service: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface Answered {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  body: Readable;
}

type Handler = (args: { request: unknown }) => Promise<{ response: unknown }>;

/** The common part of all SDK clients. */
interface Client {
  readonly middlewareStack: {
    add(middleware: (next: Handler) => Handler, options: { step: 'deserialize'; priority: 'low'; name: string }): void;
  };
}

/** Reports every request and response of a client to `hear`; requests without a response are not reported. */
export function watchExchanges(client: unknown, service: string, hear: (exchange: Exchange) => void): void {
  // Closer to the wire than the step that parses the response, so that errors are reported too.
  (client as Client).middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { method, path, headers, body } = args.request as Sent;
      const response = result.response as Answered;
      const text = await textOf(response.body);
      response.body = Readable.from([text]);
      hear({
        service,
        method,
        path,
        headers: { ...headers, authorization: '' },
        body: bodyText(body),
        answer: { status: response.statusCode, headers: response.headers, body: text.toString('utf8') },
      });
      return result;
    },
    { step: 'deserialize', priority: 'low', name: 'watchExchanges' },
  );
}

/** The SDK's byte arrays warn if they are converted in another way. */
function bodyText(body: unknown): string {
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return typeof body === 'string' ? body : '';
}

async function textOf(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
