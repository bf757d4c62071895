import type { ClaimPlan, ClaimRef } from '../../workflows/messages.js';

/** A static NodePool as it is, and what is to be done about it now (static-capacity/keeps-replicas). */
export type ReplicasView =
  /** There is nothing to keep any more, and why. */
  | { readonly state: 'gone'; readonly why: string }
  | {
      readonly state: 'live';
      readonly replicas: number;
      /** Nodes that count: running ones, and those that are replaced. */
      readonly running: number;
      readonly pending: number;
      /** Of the claims asked about, those that are still there. */
      readonly deleting: readonly string[];
      /** Nodes to create now, one entry each; there may be more next time. */
      readonly create: readonly ClaimPlan[];
      readonly typeLists: readonly (readonly string[])[];
      /** Nodes to remove now. */
      readonly remove: readonly ClaimRef[];
      /** Why nodes that are missing are not created now. */
      readonly held?: string;
    };

export interface ReplicasActivities {
  /** Looks at the pool and its claims in the API server; `leaving` are UIDs of claims that were told to go. */
  viewReplicas(input: {
    readonly nodePool: string;
    readonly poolUid: string;
    readonly deleting: readonly string[];
  }): Promise<ReplicasView>;
}
