import { annotations } from '../../api/labels.js';
import type { Lease } from '../../api/kubernetes.js';
import { messageOf } from '../../core/error-message.js';
import { lookUp } from '../../core/own.js';
import type { ActivityDeps } from '../../activities/deps.js';
import type { NamespacedName } from '../../core/refs.js';

/** Periodic work of the leader that is neither a workflow nor about a single object. */
const loopNames = ['collectGarbage', 'sweepCloud'] as const;
export type LeaderLoop = (typeof loopNames)[number];

/** A loop whose last round failed. */
export interface FailingLoop {
  readonly loop: LeaderLoop;
  /** The first failure since the last success, milliseconds of the epoch. */
  readonly since: number;
  readonly why: string;
}

const longestReason = 500;

/** The failing loops of the leader, from the annotation of its lease; empty for invalid text. */
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
 * Counts results of the leader's loops in metrics, and writes the failing ones to an annotation of its lease, where every
 * other process reads them (garbage-collection/failures-are-visible).
 */
export class LeaderLoops {
  private readonly failing = new Map<LeaderLoop, Omit<FailingLoop, 'loop'>>();
  /** The annotation as last written; undefined before. */
  private written: string | undefined;

  constructor(
    private readonly context: Pick<ActivityDeps, 'kube' | 'log' | 'metrics' | 'now'>,
    private readonly lease?: NamespacedName,
  ) {}

  /** The loops that fail now. */
  get all(): readonly FailingLoop[] {
    return [...this.failing].map(([loop, failure]) => ({ loop, ...failure }));
  }

  /** Records the end of a round, with its failures. */
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
      this.context.log.warn(
        { error: messageOf(error) },
        'could not write failing loops to the lease, trying again later',
      );
    }
  }
}
