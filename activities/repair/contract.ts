import type { Candidate, ClaimRef } from '../../workflows/messages.js';

/** One step of `repair.steps` in a DisruptionPolicy. */
export interface ResolvedRepairStep {
  readonly action: 'Reboot' | 'Replace' | 'Force';
  /** How long the node has to recover, or its drain to end, before the next one; milliseconds. */
  readonly waitMs: number;
}

export type RepairView =
  | { readonly state: 'gone' | 'healthy' }
  | {
      readonly state: 'unhealthy';
      readonly nodeName: string;
      readonly providerId: string;
      /** `Ready=False`. */
      readonly condition: string;
      /** Milliseconds of the epoch. */
      readonly since: number;
      readonly dueAt: number;
      /** Why no repair is allowed now although it is due. */
      readonly blocked?: string;
      readonly steps: readonly ResolvedRepairStep[];
      readonly candidate: Candidate;
      /** The approval that the policy asks for. */
      readonly approval?: { readonly timeoutMs: number; readonly onTimeout: 'Approve' | 'Reject' };
    };

export interface RepairActivities {
  /** Reads the node; publishes `NodeRepairBlocked` if too many nodes are unhealthy or the policy only recommends. */
  inspectRepair(input: { claim: ClaimRef }): Promise<RepairView>;
  /** Counts the repair in `karpenter_nodeclaims_unhealthy_disrupted_total`. */
  countRepair(input: { claim: ClaimRef; condition: string }): Promise<void>;
  /**
   * Records on the NodeClaim that the repair of this condition was refused, and why. Removing annotation
   * stowage.dev/repair-declined undoes it.
   */
  declineRepair(input: { readonly claim: ClaimRef; readonly condition: string; readonly why: string }): Promise<void>;
}
