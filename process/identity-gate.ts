import { messageOf } from '../core/error-message.js';
import { setMaxListeners } from 'node:events';
import type { Log } from '../core/telemetry.js';
import { limiterClock } from '../kube/limiter.js';
import type { LimiterClock } from '../kube/limiter.js';
import type { KubeClient } from '../kube/port.js';
import type { ClusterIdentityStore } from './cluster-identity.js';

/** Interval of checks while the name belongs to another cluster. */
const refusedPollMs = 10_000;
const pollMs = 60_000;

interface IdentityGateOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly cluster: string;
  /** UID of `kube-system` of the cluster that had the name before, if this cluster takes it over. */
  readonly takesOverFrom: string | undefined;
  readonly log: Log;
  readonly clock?: LimiterClock;
}

/**
 * Workflow ids and task queues contain the cluster's name: if two installations in one Temporal namespace used the same
 * name for two Kubernetes clusters, they would execute each other's workflows. The process does nothing unless the name
 * belongs to this cluster. It waits instead of exiting: `/readyz` then shows why, and work starts as soon as allowed,
 * whereas an exiting process would be restarted repeatedly.
 */
export class IdentityGate {
  private readonly clock: LimiterClock;
  private problem: string | undefined = 'it is not known yet whether another cluster has the same CLUSTER_NAME';
  private own: string | undefined;

  constructor(private readonly options: IdentityGateOptions) {
    this.clock = options.clock ?? limiterClock;
  }

  /** Why this process waits, as text for people; undefined if it does not. */
  get waitsFor(): string | undefined {
    return this.problem;
  }

  /**
   * Runs `work` while the name belongs to this cluster. Its signal aborts if another cluster takes over the name.
   * Resolves when `signal` aborts or `work` ends; rejects with the error of `work`, unless its signal was aborted.
   */
  async whileOwn(
    register: ClusterIdentityStore,
    signal: AbortSignal,
    work: (own: AbortSignal) => Promise<void>,
  ): Promise<void> {
    while (!isOver(signal)) {
      if (!(await this.poll(register))) {
        await this.clock.sleep(refusedPollMs, signal).catch(() => undefined);
        continue;
      }
      const lost = new AbortController();
      const done = new AbortController();
      const own = AbortSignal.any([signal, lost.signal]);
      setMaxListeners(0, own);
      const watching = this.watch(register, AbortSignal.any([signal, done.signal]), lost);
      try {
        await work(own);
      } catch (error) {
        if (!isOver(lost.signal) || isOver(signal)) throw error;
      } finally {
        done.abort();
        await watching;
      }
      if (!isOver(lost.signal)) return;
    }
  }

  private async watch(register: ClusterIdentityStore, signal: AbortSignal, lost: AbortController): Promise<void> {
    while (!isOver(signal) && !isOver(lost.signal)) {
      await this.clock.sleep(pollMs, signal).catch(() => undefined);
      if (!isOver(signal) && !(await this.poll(register))) lost.abort(new Error(this.problem));
    }
  }

  /** Whether the name belongs to this cluster. Without a response the last result stays. */
  private async poll(register: ClusterIdentityStore): Promise<boolean> {
    try {
      const own = (this.own ??= await kubeSystemUid(this.options.client));
      this.conclude(own, await this.recorded(register, own));
    } catch (error) {
      if (this.problem !== undefined) this.report(`it cannot be found out which cluster this is: ${messageOf(error)}`);
    }
    return this.problem === undefined;
  }

  private async recorded(register: ClusterIdentityStore, own: string): Promise<string | undefined> {
    const { takesOverFrom, cluster, log } = this.options;
    const before = await register.read();
    if (before !== undefined && before !== own && before === takesOverFrom) {
      log.warn(
        { cluster, from: before, uid: own },
        'taking the name of the cluster over, as CLUSTER_TAKES_OVER_FROM says',
      );
      await register.remove();
    } else if (before !== undefined) return before;
    await register.record(own);
    return register.read();
  }

  private conclude(own: string, recorded: string | undefined): void {
    const { cluster, log } = this.options;
    if (recorded !== own) {
      const { found, mend } = foreignName(cluster, own, recorded);
      this.report(`${found}. ${mend}`);
      return;
    }
    if (this.problem !== undefined) log.debug({ cluster, uid: own }, 'the name of the cluster is its own');
    this.problem = undefined;
  }

  /** Logs each problem once. */
  private report(problem: string): void {
    if (this.problem === problem) return;
    this.problem = problem;
    this.options.log.error({ cluster: this.options.cluster, problem }, 'nothing is done');
  }
}

/** The UID that identifies the cluster. Throws if it cannot be read. */
export async function kubeSystemUid(client: Pick<KubeClient, 'get'>): Promise<string> {
  const uid = (await client.get('Namespace', { name: 'kube-system' }))?.metadata.uid ?? '';
  if (uid === '') throw new Error('Namespace kube-system, metadata.uid: found none');
  return uid;
}

/** The message if the name belongs to another cluster. */
export function foreignName(
  cluster: string,
  own: string,
  recorded: string | undefined,
): { readonly found: string; readonly mend: string } {
  return {
    found:
      `CLUSTER_NAME ${cluster} belongs to another cluster in this Temporal namespace: its kube-system has UID ${recorded ?? 'unknown'}, ` +
      `that of this cluster ${own}`,
    mend:
      'Give this one another CLUSTER_NAME or TEMPORAL_NAMESPACE; ' +
      `if the other is gone for good, set CLUSTER_TAKES_OVER_FROM=${recorded ?? ''}`,
  };
}

/** A function call, so that the value is read again after a wait. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}
