import type { CallHooks } from '../temporal-proxy/proxy.js';
import type { Deaths } from './deaths.js';
import { Tasks, type Task } from './tasks.js';

interface CrashOptions {
  /** To which scenario a workflow belongs, by what it was started with; undefined where it is to be left alone. */
  readonly scenarioOf: (task: Task, input: string) => string | undefined;
  /** How many points there are of one workflow type in a scenario, at most: of events, and of each activity. */
  readonly most: { readonly events: number; readonly activities: number };
}

/**
 * Where a worker dies: after a workflow task was answered and the server has written its events, and after an activity took effect
 * while Temporal has not heard of it. The process dies for good: none of this is known to it.
 */
export class CrashPoints implements CallHooks {
  readonly tasks = new Tasks();
  /** Ids by workflow and type: another attempt is the same activity. */
  private readonly activities = new Map<string, Set<string>>();

  constructor(
    private readonly deaths: Deaths,
    private readonly options: CrashOptions,
  ) {}

  request(method: string, message: Buffer): boolean {
    const task = this.tasks.answered(method, message);
    if (task?.activity === undefined) return true;
    const count = this.count(task.workflowId, task.activity);
    return count > this.options.most.activities || !this.isLast(task, `${task.activity.type} ${count}`);
  }

  response(method: string, message: Buffer, answer: Buffer): boolean {
    this.tasks.handedOut(method, answer);
    const task = this.tasks.answered(method, message);
    if (task?.event === undefined || task.event > this.options.most.events) return true;
    return !this.isLast(task, `after event ${task.event}`);
  }

  private isLast(task: Task, place: string): boolean {
    const scenario = this.options.scenarioOf(task, this.tasks.inputOf(task.workflowId));
    return scenario !== undefined && this.deaths.isLast({ scenario, of: task.workflowType, place });
  }

  /** The how-manieth of its type an activity is in its workflow. */
  private count(workflowId: string, { type, id }: NonNullable<Task['activity']>): number {
    const key = `${workflowId} ${type}`;
    const ids = this.activities.get(key) ?? new Set();
    this.activities.set(key, ids.add(id));
    return [...ids].indexOf(id) + 1;
  }
}
