import { condition, getExternalWorkflowHandle } from '@temporalio/workflow';
import { backOffMs } from '../../core/back-off.js';
import { workflowNow } from '../clock.js';
import { overAndOver } from '../failed-steps.js';
import type { MoveTargets, SteeredCommand, SteeringState } from '../messages.js';
import { steeredSignal } from '../messages.js';
import type { activitiesOf } from '../proxies.js';
import { notify } from '../relations.js';
import { counted } from '../../core/plurals.js';

/** A drain that takes longer waits for somebody: new pods are not kept off other nodes for as long. */
const steeredForMs = 5 * 60_000;
/** Carried over by continue-as-new, so bounded: commands beyond are carried out all the same. */
const mostMoves = 50;
const leftOver = { firstMs: 60_000, longestMs: 30 * 60_000 };

/**
 * For as long as nodes are drained, the nodes that their pods are not meant for get a soft taint: kube-scheduler prefers the
 * others. Commands side by side are steered to all of their targets. The one writer of that taint; nothing of it stays once no
 * command is under way, and it takes no step of a workflow where no command asks for it.
 */
export class Steering {
  private commands: readonly SteeredCommand[];
  private steered: readonly string[];
  private readonly unanswered = new Set<string>();
  private changed: boolean;
  private busy = false;
  /** Attempts to take off what no command asks for any more. */
  private leftFor = 0;

  constructor(
    private readonly kube: ReturnType<typeof activitiesOf>['kube'],
    carried: SteeringState | undefined,
  ) {
    this.commands = carried?.commands ?? [];
    this.steered = carried?.steered ?? [];
    this.changed = carried !== undefined;
  }

  /** Undefined where there is nothing to carry. */
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

  /** Follows the commands for as long as the workflow runs. */
  async follow(): Promise<void> {
    await overAndOver('steering pods', async () => {
      await this.awaitChange();
      await this.apply();
    });
  }

  private async awaitChange(): Promise<void> {
    const isChanged = (): boolean => this.changed;
    const left = this.commands.length === 0 && this.steered.length > 0;
    if (left) {
      // A taint that could not be taken off yet holds up nothing but itself.
      this.leftFor += 1;
      const wait = backOffMs(this.leftFor, leftOver);
      await condition(isChanged, wait, { summary: `take the soft taint off ${this.steered[0] ?? ''}` });
      return;
    }
    this.leftFor = 0;
    if (this.commands.length === 0) return condition(isChanged);
    const next = Math.min(...this.commands.map(({ until }) => until));
    await condition(isChanged, Math.max(1, next - workflowNow()), { summary: 'steering to end' });
  }

  private async apply(): Promise<void> {
    this.changed = false;
    const now = workflowNow();
    this.commands = this.commands.filter(({ until }) => until > now);
    const asking = [...this.unanswered];
    const targets = [...new Set(this.commands.flatMap((command) => command.targets))];
    this.busy = true;
    try {
      const summary = targets.length === 0 ? 'steer no more' : `steer pods to ${counted(targets.length, 'node')}`;
      const { steered } = await this.kube.steerPods.executeWithOptions({ summary }, [
        { targets, steered: this.steered },
      ]);
      this.steered = steered;
      for (const workflowId of asking) {
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
