import { condition } from '@temporalio/workflow';
import { backOffMs } from '../../core/back-off.js';
import { isSameScope } from '../../core/pause-scope.js';
import { workflowNow } from '../clock.js';
import { repeatForever } from '../entity/failed-steps.js';
import type { Pause, PauseScope, PauseWrites } from '../messages.js';
import type { Pauses } from './pauses.js';
import type { activitiesOf } from '../calls/proxies.js';

const writeBackOff = { firstMs: 5_000, longestMs: 5 * 60_000 };

/**
 * Keeps pauses and DisruptionPause objects in sync. An order is in force at once and written afterwards; objects that people
 * create or delete are read when the operator signals a change. The objects are the source of truth, so a new `disrupt` reads its
 * pauses from them.
 */
export class PauseObjects {
  private unwritten: readonly Pause[];
  private unremoved: readonly PauseScope[];
  private changed = false;
  private busy = false;

  constructor(
    private readonly kube: ReturnType<typeof activitiesOf>['kube'],
    private readonly pauses: Pauses,
    private readonly callbacks: {
      readonly onChange: () => void;
      readonly onUnwritten: (why: string | undefined) => void;
    },
    carried: PauseWrites | undefined,
  ) {
    this.unwritten = carried?.write ?? [];
    this.unremoved = carried?.remove ?? [];
  }

  get isBusy(): boolean {
    return this.busy;
  }

  /** Writes that are still to be made; undefined if there are none. */
  get state(): PauseWrites | undefined {
    const { unwritten: write, unremoved: remove } = this;
    return write.length + remove.length === 0 ? undefined : { write, remove };
  }

  /** The DisruptionPause objects may have changed. */
  notify(): void {
    this.changed = true;
  }

  /** Notes what an order has changed since `before`, to be written. */
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

  /** Syncs after each change, until the workflow ends. */
  async follow(): Promise<void> {
    let rests = 0;
    await repeatForever('writing pauses to Kubernetes', async () => {
      const isChanged = (): boolean => this.changed;
      rests = this.state === undefined ? 0 : rests + 1;
      if (rests === 0) await condition(isChanged);
      else await condition(isChanged, backOffMs(rests, writeBackOff), { summary: 'pauses to be written again' });
      await this.sync();
    });
  }

  /**
   * Makes the pending writes and reads the objects. Orders that arrive meanwhile and writes that Kubernetes refuses stay pending.
   */
  async sync(): Promise<void> {
    this.changed = false;
    const { unwritten: write, unremoved: remove } = this;
    this.busy = true;
    try {
      const summary = write.length + remove.length === 0 ? 'read DisruptionPauses' : 'write DisruptionPauses';
      const answer = await this.kube.syncPauses.executeWithOptions({ summary }, [{ write, remove }]);
      const { pauses, unwritten = [], unremoved = [], why } = answer;
      const isRefused = (pause: Pause): boolean => unwritten.some(({ scope }) => isSameScope(scope, pause.scope));
      this.unwritten = this.unwritten.filter((pause) => !write.includes(pause) || isRefused(pause));
      this.unremoved = this.unremoved.filter(
        (scope) => !remove.includes(scope) || unremoved.some((other) => isSameScope(other, scope)),
      );
      this.callbacks.onUnwritten(why);
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
    // A pause that has ended by the workflow's clock is over, even if the API server's clock differs.
    const isOver = ({ until }: Pause): boolean => until !== undefined && until <= workflowNow();
    const next = [...found.filter((pause) => !isPending(pause) && !isOver(pause)), ...this.unwritten];
    if (JSON.stringify(next) === JSON.stringify(this.pauses.all)) return;
    this.pauses.replace(next);
    this.callbacks.onChange();
  }
}
