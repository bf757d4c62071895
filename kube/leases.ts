import type { Lease } from '../api/kubernetes.js';
import { observed, unobserved } from './lease-observation.js';
import type { LeaseObservation } from './lease-observation.js';
import { limiterClock } from './limiter.js';
import type { LimiterClock } from './limiter.js';
import type { KubeClient } from './port.js';

type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'patch'>;

export interface LeaderElectionOptions {
  readonly client: LeaseClient;
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process: the pod's name and something random. */
  readonly identity: string;
  /** How long others wait for a leader that is silent; default 12 s. */
  readonly leaseDurationMs?: number;
  /** How long a leader tries to renew before it gives up; default 8 s. Shorter than the lease. */
  readonly renewDeadlineMs?: number;
  /** Between tries; default 1.5 s. */
  readonly retryPeriodMs?: number;
  readonly clock?: LimiterClock;
  /** 0 to 1; spreads tries to acquire. */
  readonly random?: () => number;
  /** Told whenever another holder is seen, undefined for none. */
  readonly onLeader?: (holder: string | undefined) => void;
  /** A try that failed: the API server is away or refuses. Told once for equal messages in a row. */
  readonly onError?: (error: Error) => void;
}

interface Settings extends LeaderElectionOptions {
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly clock: LimiterClock;
}

/**
 * Runs `lead` while this process holds the Lease, with the rules of client-go: wait until the lease is free or was
 * not renewed for its duration as this process saw it, renew every `retryPeriodMs`, stop leading when no renewal
 * succeeded for `renewDeadlineMs`. The defaults are shorter than those of client-go, and a candidate looks when the lease
 * runs out: a leader that was killed is followed within 15 s. `lead` gets a signal that aborts when leadership ends, and must then stop; only
 * when it has does this resolve.
 *
 * - `stopped`: `signal` aborted; the lease was released if it was held, so that a successor need not wait.
 * - `lost`: the lease could not be renewed or was taken. The caller may run again, or exit as controllers do.
 * - `finished`: `lead` returned by itself; the lease was released.
 *
 * Rejects with what `lead` rejects with, unless its signal had aborted.
 */
export async function runAsLeader(
  options: LeaderElectionOptions,
  signal: AbortSignal,
  lead: (leading: AbortSignal) => Promise<void>,
): Promise<'stopped' | 'lost' | 'finished'> {
  const settings: Settings = {
    ...options,
    leaseDurationMs: options.leaseDurationMs ?? 12_000,
    renewDeadlineMs: options.renewDeadlineMs ?? 8_000,
    retryPeriodMs: options.retryPeriodMs ?? 1_500,
    clock: options.clock ?? limiterClock,
  };
  const elector = new Elector(settings);
  if (!(await elector.acquire(signal))) return 'stopped';
  const leading = new AbortController();
  const done = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  const work = lead(AbortSignal.any([signal, leading.signal]))
    .catch((error: unknown) => {
      if (!signal.aborted && !leading.signal.aborted) failure = { error };
    })
    .finally(() => {
      done.abort();
    });
  // The lease is renewed until the work has stopped, however long that takes, so that two never work at once.
  const lost = await elector.renewUntil(done.signal);
  if (lost) {
    elector.lose();
    leading.abort(new Error(`lost the lease ${settings.namespace}/${settings.name}`));
  }
  await work;
  if (!lost) await elector.release();
  if (failure !== undefined) throw failure.error;
  return lost ? 'lost' : signal.aborted ? 'stopped' : 'finished';
}

class Elector {
  private lease: Lease | undefined;
  /** When the lease was last seen to change, by this process's clock: the clocks of others are not trusted. */
  private changedAt = 0;
  private renewedAt = 0;
  private lastError = '';
  private lastHolder: string | undefined;

  constructor(private readonly settings: Settings) {}

  /** Resolves with false when `signal` aborts first. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, retryPeriodMs, random = Math.random } = this.settings;
    while (!isAborted(signal)) {
      if (await this.attempt(retryPeriodMs * 5, signal)) return true;
      // Candidates that started together should not try together.
      const pause = retryPeriodMs * (1 + 0.2 * random());
      await clock.sleep(Math.min(pause, this.expiresInMs() ?? pause), signal).catch(() => undefined);
    }
    return false;
  }

  /** Until the lease of another holder may be taken, as this process saw it; undefined for one that may be now. */
  private expiresInMs(): number | undefined {
    const { leaseDurationSeconds = 0 } = this.lease?.spec ?? {};
    const left = this.changedAt + leaseDurationSeconds * 1000 - this.settings.clock.now();
    return left > 0 ? left : undefined;
  }

  /** Resolves with true when leadership is lost, with false when `signal` aborts. */
  async renewUntil(signal: AbortSignal): Promise<boolean> {
    const { clock, retryPeriodMs, renewDeadlineMs, identity } = this.settings;
    while (!isAborted(signal)) {
      await clock.sleep(retryPeriodMs, signal).catch(() => undefined);
      if (isAborted(signal)) return false;
      const left = this.renewedAt + renewDeadlineMs - clock.now();
      // Seen through even when the work ends meanwhile: what is released must be the newest version.
      if (left > 0 && (await this.attempt(left))) continue;
      const taken = (this.lease?.spec?.holderIdentity ?? identity) !== identity;
      if (taken || clock.now() - this.renewedAt >= renewDeadlineMs) return !isAborted(signal);
    }
    return false;
  }

  /** Nobody is known to lead then, unless another holder was seen. */
  lose(): void {
    if (this.lastHolder !== this.settings.identity) return;
    this.lastHolder = undefined;
    this.settings.onLeader?.(undefined);
  }

  /** Hands the lease on. A failure only makes the successor wait for it to run out. */
  async release(): Promise<void> {
    if (this.lease?.spec?.holderIdentity !== this.settings.identity) return;
    const now = microTime(this.settings.clock.now());
    try {
      await this.write({ holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now });
    } catch (error) {
      this.settings.onError?.(error as Error);
    }
  }

  /** One try to take or keep the lease; one that fails, or takes longer than `limitMs`, is false. */
  private async attempt(limitMs: number, signal?: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const limit = this.settings.clock
      .sleep(limitMs, signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]))
      .then(() => {
        throw new Error(`no answer about the lease within ${limitMs / 1000} s`);
      })
      .catch((error: unknown) => {
        if (over.signal.aborted || signal?.aborted === true) return false;
        throw error;
      });
    try {
      const held = await Promise.race([this.takeOrRenew(), limit]);
      this.lastError = '';
      return held;
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.lastError) this.settings.onError?.(error as Error);
      this.lastError = message;
      return false;
    } finally {
      over.abort();
    }
  }

  private async takeOrRenew(): Promise<boolean> {
    const { client, clock, namespace, name, identity, leaseDurationMs } = this.settings;
    const startedAt = clock.now();
    const renewTime = microTime(startedAt);
    const claim = { holderIdentity: identity, leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000), renewTime };
    if (this.isHeld(startedAt) && (await this.write(claim))) {
      this.renewedAt = startedAt;
      return true;
    }
    const found = await client.get('Lease', { namespace, name });
    if (found === undefined) {
      const spec = { ...claim, acquireTime: renewTime, leaseTransitions: 0 };
      const { outcome, object } = await client.create('Lease', { metadata: { namespace, name }, spec });
      this.observe(object);
      if (outcome === 'created') this.renewedAt = startedAt;
      return outcome === 'created';
    }
    this.observe(found);
    const { holderIdentity: holder = '', leaseDurationSeconds = 0, leaseTransitions = 0 } = found.spec ?? {};
    if (holder !== '' && holder !== identity && this.changedAt + leaseDurationSeconds * 1000 > clock.now())
      return false;
    const taking = holder === identity ? {} : { acquireTime: renewTime, leaseTransitions: leaseTransitions + 1 };
    if (!(await this.write({ ...claim, ...taking }))) return false;
    this.renewedAt = startedAt;
    return true;
  }

  /** As this process knows it. Then the lease need not be read to be renewed: what somebody else has written refuses the write. */
  private isHeld(now: number): boolean {
    const { identity, leaseDurationMs } = this.settings;
    return this.lease?.spec?.holderIdentity === identity && now < this.renewedAt + leaseDurationMs;
  }

  /** Writes over the lease as it was last seen; false when someone else was faster. */
  private async write(spec: Lease['spec']): Promise<boolean> {
    const { client, namespace, name } = this.settings;
    const metadata = { resourceVersion: this.lease?.metadata.resourceVersion };
    const answer = await client.patch('Lease', { namespace, name }, { metadata, spec });
    if (answer.outcome !== 'patched') return false;
    this.observe(answer.object);
    return true;
  }

  private observe(lease: Lease): void {
    const before = JSON.stringify(this.lease?.spec);
    if (JSON.stringify(lease.spec) !== before) this.changedAt = this.settings.clock.now();
    this.lease = lease;
    const holder = lease.spec?.holderIdentity === '' ? undefined : lease.spec?.holderIdentity;
    if (holder !== this.lastHolder) this.settings.onLeader?.(holder);
    this.lastHolder = holder;
  }
}

export interface LeaseQuery {
  readonly client: Pick<KubeClient, 'get'>;
  readonly namespace: string;
  /** Such as `karpenter-leader-election`. */
  readonly name: string;
  /** How long a lease that seems dead is watched for a renewal, milliseconds; default 5 s. */
  readonly observeMs?: number;
  readonly clock?: LimiterClock;
}

/**
 * Who holds that Lease and is alive, by the rules of `looked`; undefined for nobody. For somebody who asks once: who
 * must not act beside the holder goes on looking. Rejects when the API server is away or refuses.
 */
export async function leaseHolder(query: LeaseQuery): Promise<string | undefined> {
  const { client, namespace, name, observeMs = 5000, clock = limiterClock } = query;
  const look = async (before: LeaseObservation): Promise<LeaseObservation> =>
    observed(before, await client.get('Lease', { namespace, name }), clock.now());
  let sight = await look(unobserved);
  if (sight.state === 'unknown') {
    await clock.sleep(observeMs);
    sight = await look(sight);
  }
  return sight.state === 'held' ? sight.holder : undefined;
}

/** Leases count microseconds, and the API server insists on all six digits. */
function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}

/** A call, so that the compiler does not take an earlier answer for the present one. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
