import type { Lease } from '../api/kubernetes.js';
import { observed, unobserved } from './lease-observation.js';
import type { LeaseObservation } from './lease-observation.js';
import { limiterClock } from './limiter.js';
import type { LimiterClock } from './limiter.js';
import type { KubeClient } from './port.js';
import type { NamespacedName } from '../core/refs.js';

type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'patch'>;

export interface LeaderElectionOptions extends NamespacedName {
  readonly client: LeaseClient;
  /** Unique to this process: the pod's name and a random suffix. */
  readonly identity: string;
  /** How long other candidates wait without a renewal; default 12 s. */
  readonly leaseDurationMs?: number;
  /** How long a leader tries to renew before it gives up; default 8 s. Shorter than the lease duration. */
  readonly renewDeadlineMs?: number;
  /** Between attempts; default 1.5 s. */
  readonly retryPeriodMs?: number;
  readonly clock?: LimiterClock;
  /** 0 to 1; randomizes attempts to acquire. */
  readonly random?: () => number;
  /** Called when another holder is observed; undefined for none. */
  readonly onLeader?: (holder: string | undefined) => void;
  /**
   * Called for a failed attempt: the API server is unavailable or refuses. Called once for equal consecutive messages.
   */
  readonly onError?: (error: Error) => void;
}

interface Settings extends LeaderElectionOptions {
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly clock: LimiterClock;
}

/**
 * Runs `lead` while this process holds the Lease, with the rules of client-go: wait until the lease is free or was not
 * renewed for its duration as observed by this process, renew every `retryPeriodMs`, stop leading if no renewal
 * succeeded for `renewDeadlineMs`. The defaults are shorter than those of client-go, and a candidate checks when the
 * lease expires: a killed leader is replaced within 15 s. `lead` gets a signal that aborts when leadership ends, and
 * must then stop; this resolves only after it has.
 *
 * - `stopped`: `signal` aborted; the lease was released if held, so that a successor need not wait.
 * - `lost`: the lease could not be renewed or was taken. The caller may run again, or exit as controllers do.
 * - `finished`: `lead` returned; the lease was released.
 *
 * Rejects with the error of `lead`, unless its signal had aborted.
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
  // The lease is renewed until the work has stopped, however long that takes, so that two processes never work
  // concurrently.
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
  /** When the lease was last observed to change, by the local clock; clocks of other processes are not trusted. */
  private changedAt = 0;
  private renewedAt = 0;
  private lastError = '';
  private lastHolder: string | undefined;

  constructor(private readonly settings: Settings) {}

  /** Resolves with false if `signal` aborts first. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, retryPeriodMs, random = Math.random } = this.settings;
    while (!isAborted(signal)) {
      if (await this.attempt(retryPeriodMs * 5, signal)) return true;
      // Randomized, so that candidates that started together do not try together.
      const pause = retryPeriodMs * (1 + 0.2 * random());
      await clock.sleep(Math.min(pause, this.expiresInMs() ?? pause), signal).catch(() => undefined);
    }
    return false;
  }

  /** Time until the lease of another holder expires, as observed by this process; undefined if it may be taken now. */
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
      const age = clock.now() - this.renewedAt;
      // If the clock was set back, the age is unknown, and one attempt decides.
      const left = age < 0 ? retryPeriodMs : renewDeadlineMs - age;
      // Awaited even if the work ends meanwhile, since the release needs the newest version.
      if (left > 0 && (await this.attempt(left))) continue;
      const taken = (this.lease?.spec?.holderIdentity ?? identity) !== identity;
      if (taken || age < 0 || clock.now() - this.renewedAt >= renewDeadlineMs) return !isAborted(signal);
    }
    return false;
  }

  /** Afterwards no leader is known, unless another holder was observed. */
  lose(): void {
    if (this.lastHolder !== this.settings.identity) return;
    this.lastHolder = undefined;
    this.settings.onLeader?.(undefined);
  }

  /** Releases the lease. If that fails, the successor waits until it expires. */
  async release(): Promise<void> {
    if (this.lease?.spec?.holderIdentity !== this.settings.identity) return;
    const now = microTime(this.settings.clock.now());
    try {
      await this.write({ holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now });
    } catch (error) {
      this.settings.onError?.(error as Error);
    }
  }

  /** One attempt to acquire or renew the lease; false if it fails or takes longer than `limitMs`. */
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

  /**
   * As known to this process. The lease then need not be read before it is renewed: a change by another process makes
   * the write fail.
   */
  private isHeld(now: number): boolean {
    const { identity, leaseDurationMs } = this.settings;
    return this.lease?.spec?.holderIdentity === identity && now < this.renewedAt + leaseDurationMs;
  }

  /** Writes the lease with the resourceVersion last observed; false at a conflict. */
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

interface LeaseQuery extends NamespacedName {
  readonly client: Pick<KubeClient, 'get'>;
  /** How long a seemingly expired lease is observed for a renewal, milliseconds; default 5 s. */
  readonly observeMs?: number;
  readonly clock?: LimiterClock;
}

/**
 * The live holder of the Lease, by the rules of `observed`; undefined for none. For a single check: a caller that must
 * not act concurrently with the holder has to keep observing. Rejects if the API server is unavailable or refuses.
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

/** Leases have microseconds, and the API server requires all six digits. */
function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}

/** A function call, so that the compiler does not assume the earlier result. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
