import type { SimulatedTemporal } from './engine.js';

export interface ScheduleOptions {
  readonly scheduleId: string;
  readonly spec: { readonly intervals?: readonly { readonly every: number }[] };
  readonly action: {
    readonly workflowType: string;
    readonly workflowId: string;
    readonly taskQueue: string;
    readonly args: readonly unknown[];
  };
}

/** The server's Schedules: each starts its workflow at its interval, never beside a run of its own. */
export class Schedules {
  private readonly known = new Map<
    string,
    { readonly options: ScheduleOptions; readonly timer: NodeJS.Timeout | undefined }
  >();

  constructor(private readonly engine: SimulatedTemporal) {}

  find(scheduleId: string): ScheduleOptions | undefined {
    return this.known.get(scheduleId)?.options;
  }

  put(options: ScheduleOptions): void {
    clearInterval(this.known.get(options.scheduleId)?.timer);
    const every = options.spec.intervals?.[0]?.every ?? 0;
    const timer = every > 0 ? setInterval(() => this.fire(options), every) : undefined;
    this.known.set(options.scheduleId, { options, timer });
  }

  /** Starts its workflow now, unless that runs. */
  fire({ action }: ScheduleOptions): void {
    const { workflowType, workflowId, taskQueue, args } = action;
    const id = `${workflowId}-scheduled`;
    if (this.engine.find(id)?.isOpen === true) return;
    const run = this.engine.start(workflowType, { workflowId: id, taskQueue, args });
    // A Schedule's own two actions for each run.
    for (let own = 0; own < 2; own++) this.engine.bill('schedule', run);
  }
}
