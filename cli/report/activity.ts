/** One workflow that is over. */
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

/** What a finished command was found to save, when it was last looked at: an hour or a day after it. */
export interface Measured {
  readonly workflowId: string;
  readonly reason: string;
  readonly nodes: readonly string[];
  /** How long after the command, milliseconds. */
  readonly afterMs: number;
  /** Dollars per hour. */
  readonly predictedPerHour: number;
  readonly realisedPerHour: number;
}

/** Pods that were deleted in spite of what protects them. */
export interface Forced {
  /** ISO 8601. */
  readonly at: string;
  readonly nodePool: string;
  readonly nodeClaim: string;
  readonly by: string;
  /** Which pods. */
  readonly what: string;
  readonly workflowId: string;
}

/** What a person told a workflow. */
export interface OrderGiven {
  /** ISO 8601. */
  readonly at: string;
  readonly order: string;
  readonly by: string;
  readonly because: string;
  /** Whether it said that the protection of pods may go. */
  readonly isForced: boolean;
  /** What it was about. */
  readonly about: string;
  readonly workflowId: string;
}

/** Everything that was done since some time, of one cluster. */
export interface Activity {
  readonly cluster: string;
  /** ISO 8601. */
  readonly since: string;
  readonly until: string;
  readonly rows: readonly DoneRow[];
  readonly measured: readonly Measured[];
  readonly forced: readonly Forced[];
  readonly orders: readonly OrderGiven[];
  /** What is not counted, a sentence each. */
  readonly notes: readonly string[];
}
