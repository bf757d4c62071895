import type { ClaimRef } from '../../core/refs.js';

export interface RepairNodeInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** Carried over by continue-as-new: whether a person has approved. */
  readonly agreed?: boolean;
}

export interface RepairNodeResult {
  /**
   * `recovered`: the node is healthy again; `replaced`: it was removed; `rejected` by a person; `gone`: something else
   * removed it; `unhealthy`: the last step did not remove it.
   */
  readonly outcome: 'recovered' | 'replaced' | 'rejected' | 'gone' | 'unhealthy';
  /** The repair steps that were taken. */
  readonly steps: readonly string[];
  readonly reason?: string;
}
