import type { ClaimRef } from '../../workflows/messages.js';

export type InstanceView =
  /** The cloud says that the instance runs and is not what the notice on its NodeClaim takes. The notice is removed. */
  | { readonly state: 'refuted' }
  /** `mayBeLaunching`: a NodeClaim without a provider id exists, whose instance this may be. */
  | { readonly state: 'unknown'; readonly mayBeLaunching?: boolean }
  | {
      readonly state: 'known';
      readonly claim: ClaimRef;
      readonly nodePool: string;
      readonly deleting: boolean;
      readonly nodeName?: string;
      readonly instanceType: string;
      readonly zone: string;
      readonly capacityType: string;
      /** The longest grace period of the pods to evict, milliseconds. */
      readonly longestGraceMs: number;
      readonly podsToMove: number;
      /** Whether the node was tainted for this notice. */
      readonly cordoned?: boolean;
      /** Set if the policy of the NodePool replaces nodes on rebalance recommendations. */
      readonly rebalance?: 'Replace';
    };

export interface InterruptionActivities {
  /**
   * Finds the NodeClaim of an instance. With `cordonFor`, the id of the workflow that owns the taint, it also taints a
   * node with pods to evict, in the same activity because a notice leaves little time. With `toConfirm` the notice was
   * read from the NodeClaim, and counts only if the cloud confirms it (interruption/restarted).
   */
  inspectInstance(input: {
    instanceId: string;
    kind: string;
    at: number;
    cordonFor?: string;
    toConfirm?: boolean;
  }): Promise<InstanceView>;
}
