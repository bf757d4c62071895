import type { ApprovalAsked, Candidate, ClaimPlan, ClaimRef } from '../../workflows/messages.js';

/** How an expired node is to be removed now, by the policy of its NodePool (expiration/replaced-first). */
export type ExpirationView =
  | { readonly state: 'gone' }
  | {
      readonly state: 'live';
      readonly mode: 'ReplaceFirst' | 'Forceful';
      /** When the replacement begins, or under `Forceful` the deletion; milliseconds of the epoch. */
      readonly beginAt: number;
      /** The hard deadline, milliseconds of the epoch; absent if there is none. */
      readonly mustGoAt?: number;
      /** Absent while the NodeClaim has no node: then no pod needs another place. */
      readonly candidate?: Candidate;
      readonly approval?: ApprovalAsked;
      /** Why the policy does not allow expiration, such as `mode: Recommend`. */
      readonly leftAlone?: string;
      /**
       * For static NodePools, once the expiration begins: the node that replaces it, regardless of the pods
       * (expiration/static-successor).
       */
      readonly successor?: {
        readonly replacements: readonly ClaimPlan[];
        readonly typeLists: readonly (readonly string[])[];
      };
      /** For static NodePools: why `limits.nodes` has no room for a replacement, so that the node is removed first. */
      readonly noRoom?: string;
    };

export interface ExpirationActivities {
  viewExpiration(input: { readonly claim: ClaimRef; readonly expiresAt: number }): Promise<ExpirationView>;
  /**
   * Records on the NodeClaim that the expiration was refused, and why. Removing annotation
   * stowage.dev/expiration-declined undoes it.
   */
  declineExpiration(input: { readonly claim: ClaimRef; readonly why: string }): Promise<void>;
}
