import type { LaunchedInstance } from '../cloud/port.js';
import type {
  BudgetView,
  CacheMark,
  Candidate,
  ClaimPlan,
  ClaimRef,
  Decision,
  DecisionSummary,
  Departure,
  DisruptionMethod,
  DisruptionReason,
  FinishedMove,
  LeavingNode,
  NodeMemory,
  NodeVerdict,
  Pause,
  RunningDisruption,
  SavingsMeasured,
  SlotDecision,
  SlotRequest,
} from '../workflows/messages.js';

/*
 * What workflows ask of the world. Each activity takes one object and gives one, all of it JSON; each may run twice
 * with the effect of once. Expected outcomes are values; a rejection is an ApplicationFailure whose type is one of
 * core/failures.ts.
 */

// --- planning (queue `packing`) and creating (queue `control`) ---

export type { ClaimPlan };

export interface PlanNodesInput {
  readonly marks: readonly CacheMark[];
  /** Nodes whose pods are to be placed elsewhere. */
  readonly without: readonly string[];
}

export type PlanNodesResult =
  | {
      /** State that packing needs is missing (claims without an instance, pools not evaluated): try again soon. */
      readonly state: 'notReady';
      readonly reason: string;
    }
  | {
      readonly state: 'planned';
      readonly claims: readonly ClaimPlan[];
      readonly typeLists: readonly (readonly string[])[];
      /** Nodes that pending pods were planned onto. */
      readonly nominated: readonly string[];
      readonly onExistingNodes: number;
      readonly unschedulable: number;
      readonly firstReason?: string;
      /** Pods of leaving nodes that found no place. */
      readonly unplacedLeaving: number;
      /** Where the pods of each node in `without` go, as far as they wait for something; absent: every claim counts for each. */
      readonly leaving?: readonly LeavingPlan[];
      readonly pricePerHour: number;
      readonly lowerBoundPerHour: number;
      /** The plan was larger than one pass creates: plan again at once. */
      readonly more: boolean;
      readonly nominationMs: number;
    };

/** What the pods of one leaving node wait for. */
export interface LeavingPlan {
  readonly node: string;
  /** Indices of the plan's claims that they go to. */
  readonly claims: readonly number[];
  /** Claims of earlier passes that they go to and that are still coming up. */
  readonly coming: readonly ClaimRef[];
  /** How many found no place. */
  readonly unplaced: number;
  readonly firstReason?: string;
}

export interface CreatedClaim extends ClaimRef {
  readonly nodePool: string;
  readonly resourceVersion: string;
  readonly index: number;
}

export interface CreateClaimsInput {
  /** Names derive from it, so that a second attempt finds the claims of the first. */
  readonly planId: string;
  readonly claims: readonly ClaimPlan[];
  readonly typeLists: readonly (readonly string[])[];
  readonly reason: string;
}

/** What becomes of a pod. */
export interface PodExplanation {
  readonly state: 'unknown' | 'bound' | 'waiting' | 'planned' | 'unschedulable';
  readonly why: string;
  /** Further facts, each a sentence. */
  readonly details: readonly string[];
  /** The node that it runs on or is planned onto. */
  readonly node?: string;
}

export interface PlanningActivities {
  /** Plans anew and says what becomes of one pod; changes nothing. */
  explainPod(input: { readonly namespace: string; readonly name: string }): Promise<PodExplanation>;
  planNodes(input: PlanNodesInput): Promise<PlanNodesResult>;
}

export interface ClaimActivities {
  createClaims(input: CreateClaimsInput): Promise<{
    readonly created: readonly CreatedClaim[];
    readonly refused: readonly { readonly index: number; readonly reason: string }[];
  }>;
}

// --- launchNode ---

export type ClaimView =
  | { readonly state: 'gone' }
  | { readonly state: 'deleting'; readonly providerId?: string }
  | {
      readonly state: 'live';
      readonly providerId?: string;
      readonly initialized: boolean;
      readonly registered: boolean;
      /** When Launched became true, milliseconds of the epoch. */
      readonly launchedAt?: number;
      readonly nodeName?: string;
    };

export type LaunchInstanceResult =
  | { readonly state: 'launched'; readonly instance: LaunchedInstance }
  | {
      readonly state: 'refused';
      readonly reason: 'insufficient_capacity' | 'nodeclass_not_ready';
      readonly message: string;
    }
  | { readonly state: 'gone' };

export type NodeSync =
  | { readonly state: 'gone' | 'deleting' }
  | { readonly state: 'waiting'; readonly reason: string; readonly message: string }
  | {
      readonly state: 'registered' | 'initialized';
      readonly nodeName: string;
      readonly providerId: string;
      readonly reason: string;
      readonly message: string;
    };

export interface LaunchActivities {
  /** Puts the finalizer on before anything is launched (section 3.1). */
  prepareClaim(input: { claim: ClaimRef }): Promise<ClaimView>;
  /** The claim as it is; changes nothing. */
  viewClaim(input: { claim: ClaimRef }): Promise<ClaimView>;
  /** Writes what was launched into the claim; harmless on a deleting claim, which keeps its provider id. */
  recordLaunch(input: { claim: ClaimRef; instance: LaunchedInstance }): Promise<void>;
  /** Registration, then initialization, as far as the node allows (section 3.1). */
  syncNode(input: { claim: ClaimRef }): Promise<NodeSync>;
  /** Deletes a claim that cannot become a node, with its event. */
  failClaim(input: { claim: ClaimRef; reason: string; message: string }): Promise<void>;
}

export interface CloudActivities {
  /** At most one instance for a claim's UID, however often it is called (invariant 1). */
  launchInstance(input: { claim: ClaimRef }): Promise<LaunchInstanceResult>;
  tagInstance(input: { claim: ClaimRef; providerId: string; nodeName: string }): Promise<void>;
  terminateInstance(input: { claim: ClaimRef; providerId: string }): Promise<{ state: 'terminating' | 'gone' }>;
  /** Restarts the machine; `unsupported` where the provider cannot. */
  rebootInstance(input: {
    claim: ClaimRef;
    providerId: string;
  }): Promise<{ state: 'rebooting' | 'gone' | 'unsupported' }>;
  /** Whether the instance is gone; changes nothing. */
  findInstance(input: { providerId: string }): Promise<{ state: 'there' | 'gone' }>;
  /** Heartbeats until the cloud knows the instance no longer. */
  awaitInstanceGone(input: { providerId: string }): Promise<void>;
  inspectInstance(input: { instanceId: string; kind: string; at: number }): Promise<InstanceView>;
  /** Reads instance types and prices again (section 5.2). */
  refreshCatalogue(): Promise<void>;
  /** Removes launch templates and instance profiles that nothing uses any more (sections 1.4, 3.4). */
  sweepCloud(): Promise<void>;
  collectInstances(): Promise<{ terminated: string[] }>;
  collectClaims(): Promise<{ deleted: string[] }>;
}

export type InstanceView =
  | { readonly state: 'unknown' }
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
      /** The pool's policy wants the node replaced on a rebalance recommendation. */
      readonly rebalance?: 'Replace';
    };

// --- terminateNode ---

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

/** One rung of `drainEscalation` in a DisruptionPolicy. */
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
  readonly state: 'done' | 'blocked';
  readonly blockedBy: readonly string[];
  readonly remaining: number;
  readonly evicted: number;
  /** What stands behind `blockedBy`, in its order. */
  readonly blockers?: readonly DrainBlocker[];
  /** The longest grace of the pods that are left, milliseconds. */
  readonly longestGraceMs?: number;
  /** The node is not Ready and its instance is gone: there is nothing left to drain or detach. */
  readonly instanceGone?: boolean;
}

export interface DrainInput {
  readonly claim: ClaimRef;
  readonly nodeName: string;
  readonly deadline?: number;
  /** What the workflow knows already: the activity returns once that is no longer so. */
  readonly known: readonly string[];
  /** When draining began, milliseconds of the epoch (section 4.14, at least five seconds). */
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

/** What the ladder of a stuck drain does (DisruptionPolicy, `drainEscalation`). */
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
  /** Evicts tier by tier, heartbeating, until the node is empty or something new blocks it. */
  drainNode(input: DrainInput): Promise<DrainProgress>;
  awaitVolumesDetached(input: DrainInput): Promise<DrainProgress>;
}

// --- repairNode ---

/** One rung of `repair.ladder` in a DisruptionPolicy. */
export interface RepairRung {
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
      readonly ladder: readonly RepairRung[];
      /** What leave is asked for (section 4.2); absent from what older builds answered, which asked for none. */
      readonly candidate?: Candidate;
      /** Where the policy asks a person first. */
      readonly approval?: { readonly timeoutMs: number; readonly onTimeout: 'Approve' | 'Reject' };
    };

export interface RepairActivities {
  /** The node as it is; says so on it (`NodeRepairBlocked`) when too many are unhealthy, or a policy only recommends. */
  inspectRepair(input: { claim: ClaimRef }): Promise<RepairView>;
  /** Counts the repair in `karpenter_nodeclaims_unhealthy_disrupted_total`. */
  countRepair(input: { claim: ClaimRef; condition: string }): Promise<void>;
}

// --- disrupt, consolidate, interruption ---

export interface DisruptionCommand {
  readonly reason: DisruptionReason;
  readonly candidates: readonly Candidate[];
  readonly decision?: Decision;
  /** How long the decision has still to prove stable, milliseconds; otherwise as long as its method asks (section 4.11). */
  readonly validationMs?: number;
}

/** What `disrupt` knows that the cluster does not. */
export interface DisruptionView {
  readonly nominations: readonly LeavingNode[];
  readonly pauses: readonly Pause[];
  readonly running: readonly RunningDisruption[];
  /** What went lately, for rates and quotas. */
  readonly departures?: readonly Departure[];
  /** What moves did to nodes lately. */
  readonly memory?: readonly NodeMemory[];
  /** The `details` that `disrupt` has: the same ones need not be sent again. */
  readonly knownDetails?: string;
}

export interface DisruptionsFound {
  readonly commands: readonly DisruptionCommand[];
  /** Milliseconds of the epoch. */
  readonly nextCheckAt?: number;
  /** Why pools with removable nodes keep them. */
  readonly held: readonly { readonly nodePool: string; readonly why: string }[];
  /** Something was started: other methods may find more at once (section 4.1). */
  readonly again?: boolean;
  /** NodePools whose consolidation pauses by itself, and why. */
  readonly chains?: readonly { readonly nodePool: string; readonly why: string }[];
  /** What people ask `disrupt` for; absent when nothing of it has changed. */
  readonly details?: DisruptionDetails;
}

export interface DisruptionDetails {
  readonly hash: string;
  readonly budgets: readonly BudgetView[];
  /** Whether there are NodePools of which `budgets` does not tell. */
  readonly budgetsCut?: boolean;
  /** Everything decided in this look, what is only recommended included. */
  readonly decisions: readonly DecisionSummary[];
  /** Why nodes stay, by reason, as far as there is room. */
  readonly stays: readonly { readonly why: string; readonly nodes: readonly string[] }[];
}

export interface DisruptionActivities {
  /** What may go now, within budgets, and when to look again should nothing change. */
  findDisruptions(input: DisruptionView): Promise<DisruptionsFound>;
  /** Which of the nodes that others want to disrupt may go now (section 4.2), in the order of the requests. */
  decideSlots(input: {
    readonly view: DisruptionView;
    readonly requests: readonly Pick<SlotRequest, 'id' | 'reason' | 'candidates'>[];
  }): Promise<{ readonly decisions: readonly SlotDecision[] }>;
  /** Whether one node may go now, and if not why; changes nothing. */
  explainNode(input: { readonly node: string; readonly view: DisruptionView }): Promise<NodeVerdict>;
  /** The candidates that may still go (section 4.11), and why the others may not. */
  validateCandidates(input: {
    reason: DisruptionReason;
    candidates: readonly Candidate[];
    /** Absent for plain deletion of empty nodes. */
    decision?: Pick<Decision, 'method' | 'replacements' | 'typeLists' | 'alongside'>;
    /** Claims created for the decision before: they stand for its replacements. */
    created?: readonly string[];
  }): Promise<{
    readonly valid: readonly Candidate[];
    readonly dropped: readonly { readonly node: string; readonly why: string }[];
  }>;
  /** Taints, and sets DisruptionReason; gives back those that were marked. */
  taintCandidates(input: {
    reason: string;
    candidates: readonly Pick<Candidate, 'claim' | 'node'>[];
  }): Promise<{ readonly tainted: readonly string[] }>;
  /** The nodes that are not to go after all, seen behind their taints (section 4.11), and why. */
  confirmCandidates(input: {
    readonly method: DisruptionMethod;
    readonly candidates: readonly Pick<Candidate, 'claim' | 'node'>[];
  }): Promise<{ readonly blocked: readonly { readonly node: string; readonly why: string }[] }>;
  /** Events on the nodes of a disruption (section 1.7). */
  publishDisruption(input: { nodes: readonly string[]; reason: string; message: string }): Promise<void>;
  /** What a move has really saved by now; changes nothing but metrics, the log and an event. */
  measureMove(input: { move: FinishedMove; afterMs: number }): Promise<SavingsMeasured>;
  untaintCandidates(input: { candidates: readonly Pick<Candidate, 'claim' | 'node'>[] }): Promise<void>;
  /**
   * Frees nodes that a disruption left tainted when it was cut off (section 4.1); of soft taints as well, unless moves are
   * being steered.
   */
  releaseStrays(input: {
    readonly running: readonly RunningDisruption[];
    readonly isSteering?: boolean;
  }): Promise<{ readonly released: readonly string[] }>;
  /**
   * Keeps new pods, softly, off nodes that are none of these (names of nodes or claims); off none when there are no targets.
   * `steered` is what the call before gave back.
   */
  steerPods(input: {
    readonly targets: readonly string[];
    readonly steered: readonly string[];
  }): Promise<{ readonly steered: readonly string[] }>;
}
