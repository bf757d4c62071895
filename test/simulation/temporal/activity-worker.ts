/** A process that serves activities. */
export interface ActivityWorker {
  /** False once the process has died. */
  readonly isAlive: boolean;
  /** Whether it takes tasks of a queue at present; every queue's where this is missing. */
  polls?(taskQueue: string): boolean;
  activity(taskQueue: string, type: string): ((input: unknown) => Promise<unknown>) | undefined;
}
