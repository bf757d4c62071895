import { DomainError } from '../core/failures.js';
import { compareVersions } from './kinds.js';
import type { LimiterClock } from './limiter.js';
import type { Kind, KubeClient, ListOptions } from './port.js';

export interface WatchProbeOptions {
  /**
   * A watch without data for this long is checked, repeatedly; default 3 s for pods, nodes and NodeClaims, 10 s for
   * what people set, a minute for others.
   */
  readonly silentMs: number;
  /** An API server that does not accept a check within this time counts as not responding; default 5 s. */
  readonly answerMs: number;
  /** Time for changes found by the check to arrive on the watch; default 2 s. */
  readonly graceMs: number;
}

/**
 * Kinds that pods wait for are checked sooner. In busy clusters their watches are seldom silent, and so seldom checked;
 * elsewhere each check is one request in four seconds. The many kinds that rarely change would together be most of all
 * requests.
 */
const silentMsByKind: Readonly<Partial<Record<Kind, number>>> = {
  ...{ Pod: 3000, Node: 3000, NodeClaim: 3000 },
  ...{ NodePool: 10_000, EC2NodeClass: 10_000, KWOKNodeClass: 10_000, NodeOverlay: 10_000 },
  ...{ DisruptionPolicy: 10_000, DisruptionPause: 10_000, PodDisruptionBudget: 10_000 },
};

/** How the watch of a kind is checked. */
export function probeOf(kind: Kind, given: Partial<WatchProbeOptions> = {}): WatchProbeOptions {
  return { ...probeDefaults, silentMs: silentMsByKind[kind] ?? 60_000, ...given };
}

const probeDefaults = { answerMs: 5000, graceMs: 2000 };

/** The watch to check. */
interface ProbedWatch {
  readonly kind: Kind;
  readonly selectors: ListOptions | undefined;
  /** The newest version it delivered. */
  readonly version: () => string;
  /** When it last delivered data, milliseconds since the epoch. */
  readonly heardAt: () => number;
  /** Called when the API server accepted a check that began at this time. */
  readonly onAnswer: (beganAt: number, isBehind: boolean) => void;
  /** Called when it did not. */
  readonly onFailure: (error: Error) => void;
}

/**
 * Checks a watch while it is silent: a connection that was never closed may be dead, and its silence looks like a
 * cluster without changes. A second watch from the same version, limited to a second, delivers what the first one has
 * missed. Resolves with true once the first one is behind, with false when `signal` aborts.
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

/** Whether a watch at `version` lacks changes, given `newest` from `newestSince`. */
export function isNewer(newest: string | undefined, version: string): boolean {
  return newest === 'expired' || (newest !== undefined && compareVersions(version, newest) < 0);
}

/** The newest version of the watched objects; undefined if nothing has changed since. */
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
