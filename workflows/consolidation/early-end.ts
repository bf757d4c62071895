import type { ConsolidateResult } from './consolidation-messages.js';

/** How a command ends whose nodes are not removed. */
export type EarlyOutcome = Exclude<ConsolidateResult['outcome'], 'done'>;

/** Ends `consolidate` early with a result. */
export class EarlyEnd extends Error {
  constructor(readonly result: ConsolidateResult) {
    super(result.reason);
  }
}
