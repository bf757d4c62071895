import type { ConsolidateResult } from './consolidation-messages.js';

/** The outcome of a command that removes no nodes. */
export type EarlyOutcome = Exclude<ConsolidateResult['outcome'], 'done'>;

/** Ends `consolidate` early with a result. */
export class EarlyEnd extends Error {
  constructor(readonly result: ConsolidateResult) {
    super(result.reason);
  }
}
