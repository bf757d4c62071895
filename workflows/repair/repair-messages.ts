import type { ClaimRef } from '../../core/refs.js';

export interface RepairNodeInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** Carried over by continue-as-new: nobody has to be asked any more. */
  readonly agreed?: boolean;
}

export interface RepairNodeResult {
  /**
   * `recovered` by itself or by a step, `replaced` when the node is gone, `rejected` by a person, `gone` by another hand,
   * `unhealthy` when the steps has no step that ends it.
   */
  readonly outcome: 'recovered' | 'replaced' | 'rejected' | 'gone' | 'unhealthy';
  /** The steps that were taken. */
  readonly steps: readonly string[];
  readonly reason?: string;
}
