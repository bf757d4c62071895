import { messageOf } from '../core/error-message.js';
import { setMaxListeners } from 'node:events';
import type { Log, Metrics } from '../core/telemetry.js';
import { observed, notObserved, unobserved } from '../kube/lease-observation.js';
import type { LeaseObservation } from '../kube/lease-observation.js';
import { limiterClock } from '../kube/limiter.js';
import type { LimiterClock } from '../kube/limiter.js';
import type { KubeClient } from '../kube/port.js';
import type { NamespacedName } from '../core/refs.js';

/** Karpenter renews every two seconds, so its lease changes between two polls. */
const pollMs = 5000;

interface KarpenterGateOptions {
  readonly client: Pick<KubeClient, 'get'>;
  /** Karpenter's leader lease. */
  readonly lease: NamespacedName;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'set'>;
  readonly clock?: LimiterClock;
}

/**
 * Two autoscalers on one cluster would interfere: while Karpenter's leader lease is held, or its state is unknown, this
 * process does nothing. Each process polls the lease itself, as long as it runs.
 */
export class KarpenterGate {
  private readonly name: string;
  private readonly clock: LimiterClock;
  private observed: LeaseObservation = unobserved;
  private failure = '';
  private period = nextPeriod();

  constructor(private readonly options: KarpenterGateOptions) {
    this.name = `${options.lease.namespace}/${options.lease.name}`;
    this.clock = options.clock ?? limiterClock;
    this.measure();
  }

  /** Why this process waits, as text for people; undefined if it does not. */
  get waitsFor(): string | undefined {
    const { state, holder } = this.observed;
    if (state === 'free') return undefined;
    if (state === 'held') return `Karpenter is running: ${holder ?? ''} holds the lease ${this.name}`;
    const why = this.failure === '' ? 'is being watched' : `cannot be read: ${this.failure}`;
    return `it is not known yet whether Karpenter is running: its lease ${this.name} ${why}`;
  }

  /** Polls the lease until `signal` aborts. Never rejects: if the API server is unavailable the last state stays. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!isOver(signal)) {
      // A request without a response does not keep the process from ending.
      await unlessAborted(this.poll(signal), signal);
      await this.clock.sleep(pollMs, signal).catch(() => undefined);
    }
  }

  /**
   * Runs `work` while the lease is free. Its signal aborts when the lease is held again: `work` must stop then, and is
   * run again when the lease is free. Resolves when `signal` aborts or `work` ends; rejects with the error of `work`,
   * unless its signal was aborted.
   */
  async whileFree(signal: AbortSignal, work: (free: AbortSignal) => Promise<void>): Promise<void> {
    while (!isOver(signal)) {
      const held = await unlessAborted(this.period.begun, signal);
      if (held === undefined) return;
      // The period ended before this continued: wait for the next one.
      if (held.aborted) continue;
      const free = AbortSignal.any([signal, held]);
      setMaxListeners(0, free);
      try {
        await work(free);
      } catch (error) {
        if (!isOver(held) || isOver(signal)) throw error;
      }
      if (!isOver(held)) return;
    }
  }

  private async poll(signal: AbortSignal): Promise<void> {
    const { client, lease } = this.options;
    try {
      const found = await client.get('Lease', lease);
      if (!isOver(signal)) this.succeed(observed(this.observed, found, this.clock.now()));
    } catch (error) {
      if (!isOver(signal)) this.fail(messageOf(error));
    }
  }

  private succeed(sight: LeaseObservation): void {
    const { log } = this.options;
    if (this.failure !== '') log.info({ lease: this.name }, "Karpenter's lease can be read again");
    this.failure = '';
    const before = this.observed.state;
    this.observed = sight;
    if (before !== sight.state) this.turn(before);
  }

  private fail(failure: string): void {
    const { log } = this.options;
    if (this.failure === '') {
      const then = this.observed.state === 'unknown' ? 'nothing is done before it can be' : 'its last state is kept';
      log.warn({ lease: this.name, error: failure }, `Karpenter's lease cannot be read: ${then}`);
    }
    this.failure = failure;
    this.observed = notObserved(this.observed);
  }

  private turn(before: LeaseObservation['state']): void {
    const { log } = this.options;
    const { state, holder } = this.observed;
    this.measure();
    if (state === 'free') {
      log.info({ lease: this.name }, "Karpenter's lease is free: Stowage acts");
      this.period.begin();
      return;
    }
    log.warn({ lease: this.name, holder }, 'Karpenter is running: Stowage does nothing until its lease is free');
    if (before !== 'free') return;
    this.period.end(new Error(`Karpenter's lease ${this.name} is held`));
    this.period = nextPeriod();
  }

  private measure(): void {
    this.options.metrics.set('stowage_karpenter_lease_held', {}, this.observed.state === 'free' ? 0 : 1);
  }
}

/** A period in which the lease is free. */
interface Period {
  /** Resolves when it begins, with a signal that aborts when it ends. */
  readonly begun: Promise<AbortSignal>;
  begin(): void;
  end(reason: Error): void;
}

function nextPeriod(): Period {
  const controller = new AbortController();
  // Many parts of the process listen to this signal.
  setMaxListeners(0, controller.signal);
  let begin = (): void => undefined;
  const begun = new Promise<AbortSignal>((resolve) => (begin = () => resolve(controller.signal)));
  return { begun, begin: () => begin(), end: (reason) => controller.abort(reason) };
}

/** Resolves with undefined when `signal` aborts first. `promise` must not reject. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve) => {
    const end = (): void => resolve(undefined);
    if (signal.aborted) {
      end();
      return;
    }
    signal.addEventListener('abort', end, { once: true });
    void promise.then((value) => {
      signal.removeEventListener('abort', end);
      resolve(value);
    });
  });
}

/** A function call, so that the value is read again after a wait. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}
