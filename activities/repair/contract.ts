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
      /** Why nothing is repaired now, though it is due. */
      readonly blocked?: string;
      readonly steps: readonly ResolvedRepairStep[];
      /** What a disruption slot is asked for (budgets/every-disruption-asks). */
      readonly candidate?: Candidate;
      /** Where the policy asks a person first. */
      readonly approval?: { readonly timeoutMs: number; readonly onTimeout: 'Approve' | 'Reject' };
    };

export interface RepairActivities {
  /** The node as it is; says so on it (`NodeRepairBlocked`) when too many are unhealthy, or a policy only recommends. */
  inspectRepair(input: { claim: ClaimRef }): Promise<RepairView>;
  /** Counts the repair in `karpenter_nodeclaims_unhealthy_disrupted_total`. */
  countRepair(input: { claim: ClaimRef; condition: string }): Promise<void>;
  /** Says on the claim that somebody declined its repair for this condition, and why; without annotation stowage.dev/repair-declined it is asked about again. */
  declineRepair(input: { readonly claim: ClaimRef; readonly condition: string; readonly why: string }): Promise<void>;
}
