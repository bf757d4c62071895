import type { FinishedCommand, SavingsMeasured } from '../../workflows/messages.js';

export interface ConsolidationActivities {
  /** Measures what a command has saved; writes only metrics, the log and an event. */
  measureCommand(input: { command: FinishedCommand; afterMs: number }): Promise<SavingsMeasured>;
  /**
   * Adds a soft taint to nodes other than these targets (names of nodes or NodeClaims); without targets removes all.
   * `steered` is the result of the last call.
   */
  steerPods(input: {
    readonly targets: readonly string[];
    readonly steered: readonly string[];
  }): Promise<{ readonly steered: readonly string[] }>;
}
