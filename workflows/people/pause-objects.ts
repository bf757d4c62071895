import { condition, isCancellation, log } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';
import type { Pause, PauseScope } from '../messages.js';
import type { Pauses } from './pauses.js';
import type { activitiesOf } from '../proxies.js';

/**
 * Keeps pauses and their DisruptionPause objects the same. An order takes effect at once and is written after; what somebody
 * writes or deletes in Kubernetes is read when the operator tells of it. Kubernetes is the truth: an entity that was lost finds
 * its pauses there.
 */
export class PauseObjects {
  private unwritten: readonly Pause[] = [];
  private unremoved: readonly PauseScope[] = [];
  private changed = false;
  private busy = false;

  constructor(
    private readonly kube: ReturnType<typeof activitiesOf>['kube'],
    private readonly pauses: Pauses,
    private readonly onChange: () => void,
  ) {}

  get isBusy(): boolean {
    return this.busy || this.changed;
  }

  /** The pauses of Kubernetes may be others by now. */
  notify(): void {
    this.changed = true;
  }

  /** Takes over what an order changed since `before`. */
  write(before: readonly Pause[]): void {
    const { all } = this.pauses;
    const added = all.filter((pause) => !before.includes(pause));
    const removed = before.filter((pause) => !all.some((other) => isSameScope(other.scope, pause.scope)));
    this.unwritten = [...this.unwritten.filter((pause) => all.includes(pause)), ...added];
    this.unremoved = [
      ...this.unremoved.filter((scope) => !all.some((pause) => isSameScope(pause.scope, scope))),
      ...removed.map(({ scope }) => scope),
    ];
    this.changed = true;
  }

  /** Follows for as long as the workflow runs. */
  async follow(): Promise<void> {
    try {
      for (;;) {
        await condition(() => this.changed);
        await this.sync();
      }
    } catch (error) {
      if (!isCancellation(error)) log.warn('pauses are no longer written to Kubernetes', { error });
    }
  }

  /** Writes what is unwritten and takes in what is there. An order that comes meanwhile is kept. */
  async sync(): Promise<void> {
    this.changed = false;
    const { unwritten: write, unremoved: remove } = this;
    this.unwritten = [];
    this.unremoved = [];
    this.busy = true;
    try {
      const summary = write.length + remove.length === 0 ? 'what is paused?' : 'write pauses to Kubernetes';
      const { pauses } = await this.kube.syncPauses.executeWithOptions({ summary }, [{ write, remove }]);
      if (pauses !== undefined) this.take(pauses);
    } finally {
      this.busy = false;
    }
  }

  private take(found: readonly Pause[]): void {
    const isPending = ({ scope }: Pause): boolean =>
      this.unwritten.some((pause) => isSameScope(pause.scope, scope)) ||
      this.unremoved.some((other) => isSameScope(other, scope));
    // Clocks differ: what is over here is over.
    const isOver = ({ until }: Pause): boolean => until !== undefined && until <= workflowNow();
    const next = [...found.filter((pause) => !isPending(pause) && !isOver(pause)), ...this.unwritten];
    if (JSON.stringify(next) === JSON.stringify(this.pauses.all)) return;
    this.pauses.replace(next);
    this.onChange();
  }
}

function isSameScope(a: PauseScope, b: PauseScope): boolean {
  return a.kind === b.kind && a.name === b.name && a.reason === b.reason;
}
