import type { ClaimRef } from '../../workflows/messages.js';

export type TerminationStart =
  | { readonly state: 'gone' }
  | {
      readonly state: 'terminating';
      readonly providerId?: string;
      readonly nodeName?: string;
      readonly nodeReady: boolean;
      /** Milliseconds of the epoch. */
      readonly deadline?: number;
      /** The longest grace of the pods that are to go, milliseconds. */
      readonly longestGraceMs?: number;
      /** What the pool's policy has done about a stuck drain, in order; absent without such a policy. */
      readonly escalation?: readonly EscalationStep[];
    };

/** One step of `drainEscalation` in a DisruptionPolicy. */
export interface EscalationStep {
  /** How long the drain has been stuck when it is taken, milliseconds. */
  readonly afterMs: number;
  readonly action: 'Notify' | 'RestartOwner' | 'AskApproval' | 'Force';
}

/** Why a drain waits: `pdb-never` and `several-pdbs` do not end by themselves. */
export type DrainCause =
  'pdb-never' | 'several-pdbs' | 'pdb' | 'do-not-disrupt' | 'finalizers' | 'terminating' | 'eviction' | 'volume';

export interface DrainBlocker {
  readonly cause: DrainCause;
  /** As in `blockedBy`. */
  readonly name: string;
  /** In a person's words. */
  readonly why: string;
  /** The first of the pods that it holds, `namespace/name`. */
  readonly pods: readonly string[];
  readonly podCount: number;
}

/**
 * `blockedBy` names what holds it up: `pdb/ns/name`, `pdb/ns/name (never)`, `pdb/ns/a+b (several)`,
 * `pod/ns/name (do-not-disrupt)`, `pod/ns/name (finalizers)`, `pod/ns/name (terminating)`, `volume/name`.
 */
export interface DrainProgress {
  /** `blocked`: what holds it up is other than the workflow knows; `waiting`: nothing new, there is to be another look. */
  readonly state: 'done' | 'blocked' | 'waiting';
  readonly blockedBy: readonly string[];
  readonly remaining: number;
  readonly evicted: number;
  /** Pods that this look deleted past the deadline, in spite of what protects them; the first few by name. */
  readonly forced?: { readonly pods: readonly string[]; readonly podCount: number };
  /** What stands behind `blockedBy`, in its order. */
  readonly blockers?: readonly DrainBlocker[];
  /** The longest grace of the pods that are left, milliseconds. */
  readonly longestGraceMs?: number;
  /** The node is not Ready and its instance is gone: there is nothing left to drain or detach. */
  readonly instanceGone?: boolean;
  /** Since when something holds it up, as the next look is told; milliseconds of the epoch. */
  readonly blockedSince?: number;
  /** When the next step is due at the latest, milliseconds of the epoch. */
  readonly dueAt?: number;
}

export interface DrainInput {
  readonly claim: ClaimRef;
  readonly nodeName: string;
  readonly deadline?: number;
  /** What the workflow knows already. */
  readonly known: readonly string[];
  /** What the look before said. */
  readonly blockedSince?: number;
  /** When draining began, milliseconds of the epoch (termination/five-seconds). */
  readonly since: number;
  /** Why the node goes, for metrics. */
  readonly reason?: string;
  /** When the cloud takes the instance, milliseconds of the epoch: pods of later tiers do not wait beyond their grace. */
  readonly instanceEndsAt?: number;
}

export interface TerminationActivities {
  beginTermination(input: {
    claim: ClaimRef;
    deleteClaim: boolean;
    reason: string;
    deadline?: number;
  }): Promise<TerminationStart>;
  /** Brings the termination timestamp forward; never back. */
  setDeadline(input: { claim: ClaimRef; deadline: number }): Promise<void>;
  markInstanceTerminating(input: { claim: ClaimRef }): Promise<void>;
  /** Removes the finalizers of node and claim. */
  finishTermination(input: { claim: ClaimRef; nodeName?: string; reason: string }): Promise<void>;
}

/** What the steps of a stuck drain do (DisruptionPolicy, `drainEscalation`). */
export interface EscalationActivities {
  /** Says on Node and NodeClaim that the drain is stuck, and on what. */
  notifyStuckDrain(input: {
    claim: ClaimRef;
    nodeName: string;
    stuckMs: number;
    blockers: readonly DrainBlocker[];
  }): Promise<void>;
  /**
   * Restarts the rollout of the Deployments and StatefulSets whose pods a PodDisruptionBudget holds, as
   * `kubectl rollout restart` does. `at`, milliseconds of the epoch, is what it writes: a second attempt changes nothing.
   */
  restartOwners(input: { pods: readonly string[]; at: number }): Promise<{
    /** `Deployment ns/name`. */
    readonly restarted: readonly string[];
    readonly refused: readonly { readonly owner: string; readonly why: string }[];
  }>;
}

export interface DrainActivities {
  /** One look at the node's pods: evicts those whose turn it is, and says what is left. */
  drainNode(input: DrainInput): Promise<DrainProgress>;
  /** One look at the volumes that are still attached. */
  awaitVolumesDetached(input: DrainInput): Promise<DrainProgress>;
}
