import type { CallHooks } from '../temporal-proxy/proxy.js';
import { Tasks, type Task } from './tasks.js';

/** A place at which a worker dies once. */
export interface CrashPoint {
  readonly scenario: string;
  readonly workflowType: string;
  /** `after event N`, or `ACTIVITY N`: its N-th in the workflow has taken effect, and its answer is lost. */
  readonly place: string;
}

export interface CrashOptions {
  /** To which scenario a workflow belongs, by what it was started with; undefined where it is to be left alone. */
  readonly scenarioOf: (task: Task, input: string) => string | undefined;
  /** Ends the worker. */
  readonly kill: () => void;
  /** What never begins a death, and dies with others: all lanes would stand still for it. */
  readonly onlyJoins: (scenario: string) => boolean;
  /** How many points there are of one workflow type in a scenario, at most: of events, and of each activity. */
  readonly most: { readonly events: number; readonly activities: number };
  /** After a death nothing dies for so long, milliseconds: what is passed by meanwhile is for another time. */
  readonly quietMs: number;
  /** What is reached within this after the first point dies with it, milliseconds. */
  readonly gatherMs: number;
}

/**
 * Where a worker dies: at each point once, the first time that any workflow reaches it. What gets there meanwhile is held until the
 * worker is dead, so that one death is that of several points. The process dies for good: none of this is known to it.
 */
export class CrashPoints implements CallHooks {
  readonly reached: CrashPoint[] = [];
  readonly tasks = new Tasks();
  private readonly seen = new Set<string>();
  /** Ids by workflow and type: another attempt is the same activity. */
  private readonly activities = new Map<string, Set<string>>();
  private dying: NodeJS.Timeout | undefined;
  /** Milliseconds of the epoch. */
  private quietUntil = 0;
  private isOn = true;

  constructor(private readonly options: CrashOptions) {}

  /** From now on nothing dies any more. */
  end(): void {
    this.isOn = false;
  }

  /** The worker is dead: what was held for it is of no use, and the next point is the next death. */
  died(): void {
    clearTimeout(this.dying);
    this.dying = undefined;
    this.quietUntil = Date.now() + this.options.quietMs;
  }

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

  /** Whether this is the last that the worker comes to: a point that was not reached yet. */
  private isLast(task: Task, place: string): boolean {
    const scenario = this.options.scenarioOf(task, this.tasks.inputOf(task.workflowId));
    if (!this.isOn || scenario === undefined) return false;
    if (this.dying === undefined && !this.mayDie(scenario)) return false;
    const key = `${scenario} ${task.workflowType} ${place}`;
    if (this.seen.has(key)) return false;
    this.seen.add(key);
    this.reached.push({ scenario, workflowType: task.workflowType, place });
    this.dying ??= setTimeout(() => this.options.kill(), this.options.gatherMs);
    return true;
  }

  /** The how-manieth of its type an activity is in its workflow. */
  private count(workflowId: string, { type, id }: NonNullable<Task['activity']>): number {
    const key = `${workflowId} ${type}`;
    const ids = this.activities.get(key) ?? new Set();
    this.activities.set(key, ids.add(id));
    return [...ids].indexOf(id) + 1;
  }

  private mayDie(scenario: string): boolean {
    return Date.now() >= this.quietUntil && !this.options.onlyJoins(scenario);
  }
}
