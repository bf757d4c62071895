import type { ClaimRef } from '../../workflows/messages.js';

export type InstanceView =
  /** `mayBeLaunching`: some claim is still to be told of its instance, which this may be. */
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
      /** The longest termination grace of the pods to move, milliseconds. */
      readonly longestGraceMs: number;
      readonly podsToMove: number;
      /** The node has been tainted for this notice. */
      readonly cordoned?: boolean;
      /** The pool's policy wants the node replaced on a rebalance recommendation. */
      readonly rebalance?: 'Replace';
    };
