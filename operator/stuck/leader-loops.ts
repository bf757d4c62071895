import { annotations } from '../../api/labels.js';
import type { Lease } from '../../api/kubernetes.js';
import { messageOf } from '../../core/error-message.js';
import { lookUp } from '../../core/own.js';
import type { ActivityDeps } from '../../activities/deps.js';
import type { NamespacedName } from '../../core/refs.js';

/** Work that the leader does again and again by itself, no workflow and of no one object. */
const loopNames = ['collectGarbage', 'sweepCloud'] as const;
export type LeaderLoop = (typeof loopNames)[number];

/** A loop of which the last round failed. */
export interface FailingLoop {
  readonly loop: LeaderLoop;
  /** When a round failed for the first time since one succeeded, milliseconds of the epoch. */
  readonly since: number;
  readonly why: string;
}

const longestReason = 500;

/** What fails of the work of the operator that leads, as its lease says. Text that says nothing of the kind is nothing. */
export function failingLoops(lease: Lease | undefined): readonly FailingLoop[] {
  let said: unknown;
  try {
    said = JSON.parse(lease?.metadata.annotations?.[annotations.failingLoops] ?? '{}');
  } catch {
    return [];
  }
  return loopNames.flatMap((loop) => {
    const { since, why } = lookUp(Object(said) as Record<string, Partial<FailingLoop> | null>, loop) ?? {};
    return typeof since === 'number' && typeof why === 'string' ? [{ loop, since, why }] : [];
  });
}

/**
 * Counts how rounds of the leader's loops end, and keeps which of them fail on its lease, where every other process reads it
 * (garbage-collection/failures-are-visible).
 */
export class LeaderLoops {
  private readonly failing = new Map<LeaderLoop, Omit<FailingLoop, 'loop'>>();
  /** What the lease says; undefined while that is not known. */
  private written: string | undefined;

  constructor(
    private readonly context: Pick<ActivityDeps, 'kube' | 'log' | 'metrics' | 'now'>,
    private readonly lease?: NamespacedName,
  ) {}

  /** Those that fail now. */
  get all(): readonly FailingLoop[] {
    return [...this.failing].map(([loop, failure]) => ({ loop, ...failure }));
  }

  /** A round that is over, with what failed in it. */
  async ended(loop: LeaderLoop, failures: readonly string[]): Promise<void> {
    const { metrics, now } = this.context;
    const [why] = failures;
    metrics.count('controller_runtime_reconcile_total', {
      controller: loop,
      result: why === undefined ? 'success' : 'error',
    });
    if (why === undefined) this.failing.delete(loop);
    else {
      metrics.count('controller_runtime_reconcile_errors_total', { controller: loop });
      this.failing.set(loop, { since: this.failing.get(loop)?.since ?? now(), why: why.slice(0, longestReason) });
    }
    await this.write();
  }

  private async write(): Promise<void> {
    const text = this.failing.size === 0 ? '' : JSON.stringify(Object.fromEntries(this.failing));
    if (this.lease === undefined || text === this.written) return;
    try {
      const value = text === '' ? null : text;
      await this.context.kube.patch('Lease', this.lease, {
        metadata: { annotations: { [annotations.failingLoops]: value } },
      });
      this.written = text;
    } catch (error) {
      this.context.log.warn({ error: messageOf(error) }, 'could not say on the lease what fails, trying again later');
    }
  }
}
