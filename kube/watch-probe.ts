import { DomainError } from '../core/failures.js';
import { compareVersions } from './kinds.js';
import type { LimiterClock } from './limiter.js';
import type { Kind, KubeClient, ListOptions } from './port.js';

export interface WatchProbeOptions {
  /** A watch that says nothing for this long is checked, and again each time; default 3 s for pods, nodes and NodeClaims, 10 s for others. */
  readonly silentMs: number;
  /** An API server that does not take a check within this time does not answer; default 5 s. */
  readonly answerMs: number;
  /** What the check saw may be on its way to the watch for this long; default 2 s. */
  readonly graceMs: number;
}

/**
 * What pods wait for is checked sooner. Where much happens their watches are seldom silent, and so seldom checked; elsewhere each check is one
 * request in four seconds.
 */
const urgentKinds: ReadonlySet<Kind> = new Set<Kind>(['Pod', 'Node', 'NodeClaim']);
const urgentSilentMs = 3000;

/** How the watch of a kind is checked. */
export function probeOf(kind: Kind, given: Partial<WatchProbeOptions> = {}): WatchProbeOptions {
  return { ...probeDefaults, ...(urgentKinds.has(kind) ? { silentMs: urgentSilentMs } : {}), ...given };
}

const probeDefaults: WatchProbeOptions = { silentMs: 10_000, answerMs: 5000, graceMs: 2000 };

/** The watch that is checked. */
export interface ProbedWatch {
  readonly kind: Kind;
  readonly selectors: ListOptions | undefined;
  /** The newest version that it has brought. */
  readonly version: () => string;
  /** When it last brought anything, milliseconds of the epoch. */
  readonly heardAt: () => number;
  /** The API server took a check that began then. */
  readonly onAnswer: (beganAt: number, isBehind: boolean) => void;
  /** The API server did not. */
  readonly onFailure: (error: Error) => void;
}

/**
 * Checks a watch for as long as it is silent: a connection that nobody closed may be dead all the same, and its silence looks
 * like a cluster in which nothing happens. A second watch from the same version, which ends by itself after a second, brings what
 * the first one has not. Resolves with true once the first one is behind, with false when `signal` aborts.
 */
export async function isStale(
  client: Pick<KubeClient, 'watch'>,
  clock: LimiterClock,
  watched: ProbedWatch,
  { silentMs, answerMs, graceMs }: WatchProbeOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const pause = (ms: number): Promise<void> => clock.sleep(ms, signal, { inBackground: true }).catch(() => undefined);
  const isOver = (): boolean => signal.aborted;
  while (!isOver()) {
    const rest = watched.heardAt() + silentMs - clock.now();
    await pause(rest > 0 ? rest : silentMs);
    if (isOver() || clock.now() - watched.heardAt() < silentMs) continue;
    try {
      const beganAt = clock.now();
      const newest = await newestSince(client, clock, watched, answerMs, signal);
      if (isOver()) break;
      const isBehind = (): boolean => isNewer(newest, watched.version());
      if (isBehind()) await pause(graceMs);
      if (isOver()) break;
      watched.onAnswer(beganAt, isBehind());
      if (isBehind()) return true;
    } catch (error) {
      if (isOver()) break;
      watched.onFailure(error instanceof Error ? error : new Error(String(error)));
    }
  }
  return false;
}

/** Whether `newest`, as `newestSince` gives it, says that a watch at `version` lacks something. */
export function isNewer(newest: string | undefined, version: string): boolean {
  return newest === 'expired' || (newest !== undefined && compareVersions(version, newest) < 0);
}

/** The newest version that the API server has of what is watched; undefined when nothing has happened since. */
export async function newestSince(
  client: Pick<KubeClient, 'watch'>,
  clock: LimiterClock,
  { kind, selectors, version }: Pick<ProbedWatch, 'kind' | 'selectors' | 'version'>,
  answerMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const check = new AbortController();
  const stop = (): void => check.abort();
  signal.addEventListener('abort', stop, { once: true });
  const seen: { isTaken: boolean; newest?: string | undefined } = { isTaken: false };
  const impatience = clock
    .sleep(answerMs, check.signal, { inBackground: true })
    .then(stop)
    .catch(() => undefined);
  try {
    const options = {
      ...selectors,
      resourceVersion: version(),
      timeoutSeconds: 1,
      signal: check.signal,
      onOpen: () => void (seen.isTaken = true),
    };
    const outcome = await client.watch(kind, options, ({ type, object }) => {
      if (type !== 'BOOKMARK') seen.newest = object.metadata.resourceVersion;
    });
    if (outcome === 'expired') return 'expired';
    if (!seen.isTaken && !signal.aborted) {
      throw new DomainError('Unavailable', `the API server does not answer within ${answerMs / 1000} s`);
    }
    return seen.newest;
  } finally {
    signal.removeEventListener('abort', stop);
    check.abort();
    await impatience;
  }
}
