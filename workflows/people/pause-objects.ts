import { condition } from '@temporalio/workflow';
import { backOffMs } from '../../core/back-off.js';
import { workflowNow } from '../clock.js';
import { overAndOver } from '../failed-steps.js';
import type { Pause, PauseScope, PauseWrites } from '../messages.js';
import type { Pauses } from './pauses.js';
import type { activitiesOf } from '../proxies.js';

const again = { firstMs: 5_000, longestMs: 5 * 60_000 };

/**
 * Keeps pauses and their DisruptionPause objects the same. An order takes effect at once and is written after; what somebody
 * writes or deletes in Kubernetes is read when the operator tells of it. Kubernetes is the truth: an entity that was lost finds
 * its pauses there.
 */
export class PauseObjects {
  private unwritten: readonly Pause[];
  private unremoved: readonly PauseScope[];
  private changed = false;
  private busy = false;

  constructor(
    private readonly kube: ReturnType<typeof activitiesOf>['kube'],
    private readonly pauses: Pauses,
    private readonly told: { readonly onChange: () => void; readonly onUnwritten: (why: string | undefined) => void },
    carried: PauseWrites | undefined,
  ) {
    this.unwritten = carried?.write ?? [];
    this.unremoved = carried?.remove ?? [];
  }

  get isBusy(): boolean {
    return this.busy;
  }

  /** What Kubernetes does not have yet; undefined where there is nothing to carry. */
  get state(): PauseWrites | undefined {
    const { unwritten: write, unremoved: remove } = this;
    return write.length + remove.length === 0 ? undefined : { write, remove };
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
    let rests = 0;
    await overAndOver('writing pauses to Kubernetes', async () => {
      const isChanged = (): boolean => this.changed;
      rests = this.state === undefined ? 0 : rests + 1;
      if (rests === 0) await condition(isChanged);
      else await condition(isChanged, backOffMs(rests, again), { summary: 'pauses to be written again' });
      await this.sync();
    });
  }

  /** Writes what is unwritten and takes in what is there. An order that comes meanwhile is kept, and so is what Kubernetes refuses. */
  async sync(): Promise<void> {
    this.changed = false;
    const { unwritten: write, unremoved: remove } = this;
    this.busy = true;
    try {
      const summary = write.length + remove.length === 0 ? 'what is paused?' : 'write pauses to Kubernetes';
      const answer = await this.kube.syncPauses.executeWithOptions({ summary }, [{ write, remove }]);
      const { pauses, unwritten = [], unremoved = [], why } = answer;
      const isRefused = (pause: Pause): boolean => unwritten.some(({ scope }) => isSameScope(scope, pause.scope));
      this.unwritten = this.unwritten.filter((pause) => !write.includes(pause) || isRefused(pause));
      this.unremoved = this.unremoved.filter(
        (scope) => !remove.includes(scope) || unremoved.some((other) => isSameScope(other, scope)),
      );
      this.told.onUnwritten(why);
      if (pauses !== undefined) this.take(pauses);
    } catch (error) {
      this.changed = true;
      throw error;
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
    this.told.onChange();
  }
}

function isSameScope(a: PauseScope, b: PauseScope): boolean {
  return a.kind === b.kind && a.name === b.name && a.reason === b.reason;
}
