/** One closed workflow. */
export interface DoneRow {
  readonly workflowId: string;
  readonly kind: string;
  readonly reason: string;
  readonly nodePool: string;
  readonly nodeClaim: string;
  /** The phase in which it ended, or how it failed. */
  readonly outcome: string;
  /** Dollars per hour. */
  readonly savedPerHour: number;
  readonly startedAt: string;
  readonly closedAt: string;
}

/** The measured saving of a completed command at the last measurement: an hour or a day after it. */
export interface Measured {
  readonly workflowId: string;
  readonly reason: string;
  readonly nodes: readonly string[];
  /** Time since the command, milliseconds. */
  readonly afterMs: number;
  /** Dollars per hour. */
  readonly predictedPerHour: number;
  readonly realisedPerHour: number;
}

/** Pods that were deleted despite their protection. */
export interface Forced {
  /** ISO 8601. */
  readonly at: string;
  readonly nodePool: string;
  readonly nodeClaim: string;
  readonly by: string;
  /** Names of the pods. */
  readonly what: string;
  readonly workflowId: string;
}

/** An order of a user to a workflow. */
export interface OrderGiven {
  /** ISO 8601. */
  readonly at: string;
  readonly order: string;
  readonly by: string;
  readonly because: string;
  /** Whether it allowed pods to lose their protection. */
  readonly isForced: boolean;
  /** Its subject. */
  readonly about: string;
  readonly workflowId: string;
}

/** All actions in one cluster since a time. */
export interface Activity {
  readonly cluster: string;
  /** ISO 8601. */
  readonly since: string;
  readonly until: string;
  readonly rows: readonly DoneRow[];
  readonly measured: readonly Measured[];
  readonly forced: readonly Forced[];
  readonly orders: readonly OrderGiven[];
  /** What is not counted, one sentence each. */
  readonly notes: readonly string[];
}
