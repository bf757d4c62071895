import { messageOf } from '../core/error-message.js';
import { setMaxListeners } from 'node:events';
import type { Log } from '../core/telemetry.js';
import { limiterClock } from '../kube/limiter.js';
import type { LimiterClock } from '../kube/limiter.js';
import type { KubeClient } from '../kube/port.js';
import type { ClusterIdentityStore } from './cluster-identity.js';

/** How soon a person's decision takes effect. */
const refusedPollMs = 10_000;
const pollMs = 60_000;

export interface IdentityGateOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly cluster: string;
  /** UID of `kube-system` of the cluster that had the name before, if this one is to have it now. */
  readonly takesOverFrom: string | undefined;
  readonly log: Log;
  readonly clock?: LimiterClock;
}

/**
 * Workflows and task queues go by the cluster's name: two installations that give two Kubernetes clusters one name in one Temporal
 * namespace would execute each other's workflows. Nothing in this process acts unless the name stands for this cluster. It waits
 * rather than ends: `/readyz` then says why, and it acts as soon as it may, where a process that ends would be started again and again.
 */
export class IdentityGate {
  private readonly clock: LimiterClock;
  private problem: string | undefined = 'it is not known yet whether another cluster has the same CLUSTER_NAME';
  private own: string | undefined;

  constructor(private readonly options: IdentityGateOptions) {
    this.clock = options.clock ?? limiterClock;
  }

  /** What keeps this process from acting, for a person; undefined for nothing. */
  get waitsFor(): string | undefined {
    return this.problem;
  }

  /**
   * Runs `work` while the name stands for this cluster. The signal that it gets aborts when another cluster takes the name over.
   * Resolves when `signal` aborts or `work` ends by itself; rejects with what `work` rejects with, unless it was told to stop.
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

  /** Whether the name is this cluster's. What does not answer leaves the last verdict. */
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

  /** Once for each problem. */
  private report(problem: string): void {
    if (this.problem === problem) return;
    this.problem = problem;
    this.options.log.error({ cluster: this.options.cluster, problem }, 'nothing is done');
  }
}

/** By which a cluster is known. Throws where it cannot be read. */
export async function kubeSystemUid(client: Pick<KubeClient, 'get'>): Promise<string> {
  const uid = (await client.get('Namespace', { name: 'kube-system' }))?.metadata.uid ?? '';
  if (uid === '') throw new Error('Namespace kube-system, metadata.uid: found none');
  return uid;
}

/** What a person is told where the name stands for another cluster than this one. */
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

/** Asked anew after a wait. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}
