import type { ClaimRef } from '../../workflows/messages.js';

export type TerminationStart =
  | { readonly state: 'gone' }
  /** A pause applies to the node: the NodeClaim was not deleted. */
  | { readonly state: 'paused'; readonly why: string }
  /** Only with `unlessRefused`: the API server refuses the deletion of the NodeClaim. */
  | { readonly state: 'refused'; readonly why: string }
  | {
      readonly state: 'terminating';
      readonly providerId?: string;
      readonly nodeName?: string;
      /** Set if the instance was gone before the drain, so that there is nothing to drain. */
      readonly instanceGone?: true;
      /**
       * Set if the NodeClaim is not initialized, so that its launch may be under way. Workers of earlier builds do not
       * set it.
       */
      readonly mayBeLaunching?: true;
      /** Milliseconds of the epoch. */
      readonly deadline?: number;
      /** The longest grace period of the pods to evict, milliseconds; absent if there are none. */
      readonly longestGraceMs?: number;
      /** The steps for a stuck drain by the NodePool's policy, in order; absent without such a policy. */
      readonly escalation?: readonly EscalationStep[];
    };

/** One step of `drainEscalation` in a DisruptionPolicy. */
export interface EscalationStep {
  /** After how long a stuck drain takes this step, milliseconds. */
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
  /** For people. */
  readonly why: string;
  /** The first of the pods that it holds, `namespace/name`. */
  readonly pods: readonly string[];
  readonly podCount: number;
}

/**
 * `blockedBy` names what blocks the drain: `pdb/ns/name`, `pdb/ns/name (never)`, `pdb/ns/a+b (several)`, `pod/ns/name
 * (do-not-disrupt)`, `pod/ns/name (finalizers)`, `pod/ns/name (terminating)`, `volume/name`.
 */
export interface DrainProgress {
  /** `blocked`: something blocks it that differs from `known`; `waiting`: nothing new, poll again. */
  readonly state: 'done' | 'blocked' | 'waiting';
  readonly blockedBy: readonly string[];
  readonly remaining: number;
  readonly evicted: number;
  /** Protected pods that this call deleted past the deadline; the first few by name. */
  readonly forced?: { readonly pods: readonly string[]; readonly podCount: number };
  /** Details of `blockedBy`, in the same order. */
  readonly blockers?: readonly DrainBlocker[];
  /** The longest grace of the pods that are left, milliseconds. */
  readonly longestGraceMs?: number;
  /** Whether the node is not Ready and its instance is gone, so that there is nothing to drain or detach. */
  readonly instanceGone?: boolean;
  /** With `done` of a drain: whether no volume of a drained pod is attached any more. */
  readonly volumesDetached?: boolean;
  /** Since when it is blocked, for the next call; milliseconds of the epoch. */
  readonly blockedSince?: number;
  /** A deadline on the NodeClaim that is earlier than that of the input; milliseconds of the epoch. */
  readonly deadline?: number;
  /** When the next call is due at the latest, milliseconds of the epoch. */
  readonly dueAt?: number;
  /**
   * Pods with a long remaining grace period, and when the last one has to be gone, milliseconds of the epoch. They do
   * not block the drain.
   */
  readonly ending?: { readonly pods: readonly string[]; readonly podCount: number; readonly until: number };
}

export interface DrainInput {
  readonly claim: ClaimRef;
  readonly nodeName: string;
  readonly deadline?: number;
  /** The `blockedBy` that the workflow has. */
  readonly known: readonly string[];
  /** The result of the last call. */
  readonly blockedSince?: number;
  /** When draining began, milliseconds of the epoch (termination/five-seconds). */
  readonly since: number;
  /** The reason of the termination, for metrics. */
  readonly reason?: string;
  /**
   * When the cloud takes the instance, milliseconds of the epoch: pods of later tiers do not wait beyond their grace.
   */
  readonly instanceEndsAt?: number;
}

export interface TerminationActivities {
  /**
   * `gone` also if there is nothing to terminate: without `deleteClaim`, a NodeClaim that is not being deleted (any
   * more).
   */
  beginTermination(input: {
    claim: ClaimRef;
    deleteClaim: boolean;
    reason: string;
    deadline?: number;
    /** The NodeClaim is not deleted if a pause applies to a disruption of this node for this reason. */
    unlessPaused?: { reason: string; node: string; nodePool: string };
    /** When the cloud takes the instance: its pods are then evicted even if the taint is refused. */
    instanceEndsAt?: number;
    /** Returns `refused` if the API server keeps refusing the deletion. */
    unlessRefused?: true;
  }): Promise<TerminationStart>;
  /** Brings the termination timestamp forward; never back. */
  setDeadline(input: { claim: ClaimRef; deadline: number }): Promise<void>;
}

/** The end of a termination, which calls the cloud at its limited rate. */
export interface FinishActivities {
  /**
   * Terminates the instance, and removes the finalizers of node and claim once it is gone. Until then each attempt fails
   * with `Waiting`.
   */
  finishTermination(input: { claim: ClaimRef; providerId?: string; nodeName?: string; reason: string }): Promise<void>;
}

/** Activities for the steps of a stuck drain (DisruptionPolicy, `drainEscalation`). */
export interface EscalationActivities {
  /** Publishes on Node and NodeClaim that the drain is stuck, and on what. */
  notifyStuckDrain(input: {
    claim: ClaimRef;
    nodeName: string;
    stuckMs: number;
    blockers: readonly DrainBlocker[];
  }): Promise<void>;
  /**
   * Restarts the rollout of the Deployments and StatefulSets whose pods a PodDisruptionBudget holds, as `kubectl
   * rollout restart` does. `at`, milliseconds of the epoch, is what it writes: a second attempt changes nothing.
   */
  restartOwners(input: { pods: readonly string[]; at: number }): Promise<{
    /** `Deployment ns/name`. */
    readonly restarted: readonly string[];
    readonly refused: readonly { readonly owner: string; readonly why: string }[];
  }>;
}

/** The pods of a node whose replacement is awaited. */
export interface DueInput extends DrainInput {
  readonly instanceEndsAt: number;
  /** How much earlier than their grace period requires pods of the first tier are evicted, milliseconds. */
  readonly marginMs: number;
}

export interface DrainActivities {
  /**
   * Before a drain: evicts the pods whose grace period leaves no more time before the instance ends. Returns when the
   * next pod is due, milliseconds of the epoch; absent once no pod can wait.
   */
  evictDue(input: DueInput): Promise<{ readonly evicted: number; readonly nextAt?: number }>;
  /** One poll of the node's pods: evicts those whose tier has come, and returns what is left. */
  drainNode(input: DrainInput): Promise<DrainProgress>;
  /** One poll of the volumes that are still attached. */
  awaitVolumesDetached(input: DrainInput): Promise<DrainProgress>;
}
