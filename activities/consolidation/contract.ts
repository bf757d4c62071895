import type { ClaimRef, FinishedCommand, SavingsMeasured } from '../../workflows/messages.js';

export interface ConsolidationActivities {
  /** Measures what a command has saved; writes only metrics, the log and an event. */
  measureCommand(input: { command: FinishedCommand; afterMs: number }): Promise<SavingsMeasured>;
  /**
   * Steers the pods of NodeClaims that are about to be drained to these targets (names of nodes or NodeClaims), by a
   * soft taint on other nodes; without targets their steering ends.
   */
  steerPods(input: { readonly claims: readonly ClaimRef[]; readonly targets: readonly string[] }): Promise<void>;
}
