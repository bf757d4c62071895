import { condition, getExternalWorkflowHandle } from '@temporalio/workflow';
import { backOffMs } from '../../core/back-off.js';
import { workflowNow } from '../clock.js';
import { repeatForever } from '../entity/failed-steps.js';
import { type MoveTargets, type SteeredCommand, type SteeringState, steeredSignal } from '../messages.js';
import type { activitiesOf } from '../calls/proxies.js';
import { notify } from '../calls/other-workflows.js';
import { counted } from '../../core/text.js';

/**
 * Steering ends after this time even if the drain continues: the drain is then blocked, and new pods should not be kept
 * off other nodes for so long.
 */
const steeredForMs = 5 * 60_000;
/** Bounds the state that continue-as-new carries. Further commands are carried out without steering. */
const mostMoves = 50;
const removalBackOff = { firstMs: 60_000, longestMs: 30 * 60_000 };

/**
 * While nodes are drained, puts a soft taint (`PreferNoSchedule`) on all nodes other than the planned targets, so that
 * kube-scheduler prefers the targets for the evicted pods. Commands at the same time share their targets. No other code
 * writes this taint, and it is removed when no command drains. Adds no events to the history while no command asks for
 * it.
 */
export class Steering {
  private commands: readonly SteeredCommand[];
  private steered: readonly string[];
  private readonly unanswered = new Set<string>();
  private changed: boolean;
  private busy = false;
  /** Number of attempts to remove taints that no command needs. */
  private removalAttempts = 0;

  constructor(
    private readonly kube: ReturnType<typeof activitiesOf>['kube'],
    carried: SteeringState | undefined,
  ) {
    this.commands = carried?.commands ?? [];
    this.steered = carried?.steered ?? [];
    this.changed = carried !== undefined;
  }

  /** State for continue-as-new; undefined if there is none. */
  get state(): SteeringState | undefined {
    const { commands, steered } = this;
    return commands.length === 0 && steered.length === 0 ? undefined : { commands, steered };
  }

  get isBusy(): boolean {
    return this.busy;
  }

  begin({ workflowId, targets }: MoveTargets): void {
    const others = this.commands.filter((command) => command.workflowId !== workflowId);
    if (others.length >= mostMoves) return;
    this.commands = [...others, { workflowId, targets, until: workflowNow() + steeredForMs }];
    this.unanswered.add(workflowId);
    this.changed = true;
  }

  end(workflowId: string): void {
    const left = this.commands.filter((command) => command.workflowId !== workflowId);
    if (left.length === this.commands.length) return;
    this.commands = left;
    this.changed = true;
  }

  /** Keeps the taints as the commands need them, until the workflow ends. */
  async follow(): Promise<void> {
    await repeatForever('steering pods', async () => {
      await this.awaitChange();
      await this.apply();
    });
  }

  private async awaitChange(): Promise<void> {
    const isChanged = (): boolean => this.changed;
    const isLeftOver = this.commands.length === 0 && this.steered.length > 0;
    if (isLeftOver) {
      // Removing a taint has failed before: wait longer after each attempt.
      this.removalAttempts += 1;
      const wait = backOffMs(this.removalAttempts, removalBackOff);
      await condition(isChanged, wait, { summary: `try again to remove the soft taint of ${this.steered[0] ?? ''}` });
      return;
    }
    this.removalAttempts = 0;
    if (this.commands.length === 0) return condition(isChanged);
    const next = Math.min(...this.commands.map(({ until }) => until));
    await condition(isChanged, Math.max(1, next - workflowNow()), { summary: 'the end of steering' });
  }

  private async apply(): Promise<void> {
    this.changed = false;
    const now = workflowNow();
    this.commands = this.commands.filter(({ until }) => until > now);
    const awaitingAnswer = [...this.unanswered];
    const targets = [...new Set(this.commands.flatMap((command) => command.targets))];
    this.busy = true;
    try {
      const summary =
        targets.length === 0 ? 'remove the soft taints' : `steer pods to ${counted(targets.length, 'node')}`;
      const { steered } = await this.kube.steerPods.executeWithOptions({ summary }, [
        { targets, steered: this.steered },
      ]);
      this.steered = steered;
      for (const workflowId of awaitingAnswer) {
        this.unanswered.delete(workflowId);
        await notify(() => getExternalWorkflowHandle(workflowId).signal(steeredSignal));
      }
    } catch (error) {
      this.changed = true;
      throw error;
    } finally {
      this.busy = false;
    }
  }
}
