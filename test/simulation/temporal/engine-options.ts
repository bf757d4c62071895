import type { Random } from '../../cases/random.js';
import type { AttemptFate } from './activity-task.js';
import type { BilledAction } from './run.js';
import type { SandboxFactory } from './sandbox.js';

/** What decides when things happen, and what goes wrong. */
export interface EngineFaults {
  /** Milliseconds that a task or a message takes now. */
  latencyMs(): number;
  /** What becomes of an attempt of an activity. */
  fateOf(activityType: string, workflowId: string): AttemptFate;
}

export interface EngineOptions {
  readonly random: Random;
  readonly sandboxes: SandboxFactory;
  readonly faults: EngineFaults;
  /** Hears of what happens, for reports. */
  readonly onEvent?: (line: string) => void;
  /** Hears of every action: the type of its workflow, and the name of the signal or activity where it has one. */
  readonly onAction?: (action: BilledAction, workflowType: string, name?: string) => void;
  /** Closed runs are kept with all that they did, to be queried and replayed. */
  readonly keepsClosed?: boolean;
  /** A run whose history gets so long is a problem. */
  readonly mostEvents?: number;
  /** Workers cache no run: each workflow task is taken by one that knows the history alone. */
  readonly cachesNothing?: boolean;
}

export interface StartOptions {
  readonly typedSearchAttributes?: readonly { readonly key: { readonly name: string }; readonly value: unknown }[];
  readonly workflowId: string;
  readonly taskQueue: string;
  readonly args: readonly unknown[];
}
