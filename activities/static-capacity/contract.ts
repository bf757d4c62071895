import type { ClaimPlan, ClaimRef } from '../../workflows/messages.js';

/** The state of a static NodePool, and what to do now (static-capacity/keeps-replicas). */
export type ReplicasView =
  /** The NodePool is gone or no longer static, and why. */
  | { readonly state: 'gone'; readonly why: string }
  | {
      readonly state: 'live';
      readonly replicas: number;
      /** Nodes that count: running ones, and those that are replaced. */
      readonly running: number;
      readonly pending: number;
      /** Which of the given NodeClaims still exist. */
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
  /**
   * Reads the NodePool and its NodeClaims from the API server; `deleting` are UIDs of NodeClaims that are being
   * terminated.
   */
  viewReplicas(input: {
    readonly nodePool: string;
    readonly poolUid: string;
    readonly deleting: readonly string[];
  }): Promise<ReplicasView>;
}
