import type { LaunchedInstance } from '../cloud/port.js';
import type { Resume } from '../packing/types.js';
import type {
  BudgetView,
  CacheMark,
  Candidate,
  ClaimPlan,
  ClaimRef,
  Decision,
  DecisionSummary,
  PastDisruption,
  DisruptionMethod,
  DisruptionReason,
  FinishedCommand,
  GoingNode,
  MootQuestion,
  NodeUntil,
  NodeMemory,
  OpenQuestion,
  Refused,
  NodeRef,
  NodeVerdict,
  Pause,
  PauseScope,
  PoolCapacity,
  RestingPool,
  RunningDisruption,
  SavingsMeasured,
  SlotDecision,
  SlotRequest,
  TaintOwner,
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
  /** Where the pass before ended that left pods for this one. */
  readonly resume?: Resume;
  /** NodePools that rest, of which the cache may not know yet. */
  readonly resting?: readonly RestingPool[];
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
      /** Pods that this pass did not look at. */
      readonly deferred: number;
      /** Objects that planning cannot work with, and why, for a person; absent where there are none. */
      readonly leftOut?: string;
      /** Where the next pass is to go on, at once; absent where every pod has had its turn. */
      readonly resume?: Resume;
      /** Pods of deleting nodes that found no place. */
      readonly unplacedOfDeletingNodes: number;
      /** Where the pods of each node in `without` go, as far as they wait for something; absent: every claim counts for each. */
      readonly deleting?: readonly DeletingNodePlan[];
      readonly pricePerHour: number;
      readonly lowerBoundPerHour: number;
      /** The plan was larger than one pass creates: plan again at once. */
      readonly more: boolean;
      readonly nominationMs: number;
    };

/** What the pods of one deleting node wait for. */
export interface DeletingNodePlan {
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

export interface RefusedClaim {
  readonly index: number;
  readonly reason: string;
}

export interface ClaimsCreated {
  readonly created: readonly CreatedClaim[];
  readonly refused: readonly RefusedClaim[];
  /** NodePools of which the API server refused a claim: nothing is planned for them for a while. */
  readonly resting: readonly RestingPool[];
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
  /** Fails for outages alone: what the API server refuses is an outcome of that one claim. */
  createClaims(input: CreateClaimsInput): Promise<ClaimsCreated>;
}

// --- entities ---

/** Workflows of which a cluster has one each, for good. */
export type Entity = 'provision' | 'disrupt';

export interface EntityActivities {
  /** Starts an entity workflow that does not run. */
  ensureEntity(input: { readonly entity: Entity }): Promise<void>;
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
  /**
   * This attempt came to nothing, which says nothing of the next; it took `tookMs` of a worker's time. `isUnavailable`: the cloud answered
   * nobody meanwhile, so that it says nothing of the claim either.
   */
  | { readonly state: 'failed'; readonly message: string; readonly tookMs: number; readonly isUnavailable?: boolean }
  | { readonly state: 'gone' };

export type TagInstanceResult =
  { readonly state: 'tagged' | 'gone' } | { readonly state: 'failed'; readonly message: string };

export type NodeSync =
  | { readonly state: 'gone' | 'deleting' }
  /** `againMs`: the node is there, and is to be looked at again after so long. */
  | { readonly state: 'waiting'; readonly reason: string; readonly message: string; readonly againMs?: number }
  | {
      readonly state: 'registered' | 'initialized';
      readonly nodeName: string;
      readonly providerId: string;
      readonly reason: string;
      readonly message: string;
    };

export interface LaunchActivities {
  /** Puts the finalizer on before anything is launched (launch/finalizer-first). */
  prepareClaim(input: { claim: ClaimRef }): Promise<ClaimView>;
  /** The claim as it is; changes nothing. */
  viewClaim(input: { claim: ClaimRef }): Promise<ClaimView>;
  /** Writes what was launched into the claim; harmless on a deleting claim, which keeps its provider id. */
  recordLaunch(input: { claim: ClaimRef; instance: LaunchedInstance }): Promise<void>;
  /** Registration, then initialization, as far as the node allows. `live` looks for the Node past the cache. */
  syncNode(input: { claim: ClaimRef; live?: boolean }): Promise<NodeSync>;
  /** Deletes a claim that cannot become a node, with its event. */
  failClaim(input: { claim: ClaimRef; reason: string; message: string }): Promise<void>;
}

export interface CloudActivities {
  /** At most one instance for a claim's UID, however often it is called (invariants/one-instance). `attempt` counts from 1. */
  launchInstance(input: { claim: ClaimRef; attempt?: number }): Promise<LaunchInstanceResult>;
  /** Tags that need the Node's name, once; what the cloud refuses is told on the claim. */
  tagInstance(input: { claim: ClaimRef; providerId: string; nodeName: string }): Promise<TagInstanceResult>;
  /** As `tagInstance`, for nodes whose launch did not manage to; ends at the first refusal. Gives how many it tagged. */
  tagUntagged(): Promise<{ readonly tagged: number; readonly failed?: string }>;
  terminateInstance(input: { claim: ClaimRef; providerId: string }): Promise<{ state: 'terminating' | 'gone' }>;
  /** Restarts the machine; `unsupported` where the provider cannot. */
  rebootInstance(input: {
    claim: ClaimRef;
    providerId: string;
  }): Promise<{ state: 'rebooting' | 'gone' | 'unsupported' }>;
  /** Whether the instance is gone; changes nothing. */
  findInstance(input: { providerId: string }): Promise<{ state: 'there' | 'gone' }>;
  /** Whose instance it is. With `cordonFor`, the id of the workflow that will own the taint, a node with pods to move is tainted in the same breath: a notice gives little time. */
  inspectInstance(input: { instanceId: string; kind: string; at: number; cordonFor?: string }): Promise<InstanceView>;
  /** Reads instance types and prices again (instance-types/catalogue-age). */
  refreshCatalogue(): Promise<void>;
  /** Removes launch templates and instance profiles that nothing uses any more (launch-templates/unused-go, node-classes/instance-profiles). */
  sweepCloud(): Promise<void>;
  /** Terminates instances without a claim. */
  collectInstances(): Promise<CollectedInstances>;
  /** One look at what seems to have lost its instance or its claim; changes nothing. */
  findLost(): Promise<LostObjects>;
  /** A second look, some time later: what is still lost goes. */
  collectLost(lost: LostObjects): Promise<CollectedObjects>;
}

export interface LostObjects {
  readonly claims: readonly ClaimRef[];
  /** Nodes that are being deleted and have no claim. */
  readonly nodes: readonly NodeRef[];
}

/** What could not be collected: the next collection tries again. */
export interface GarbageFailure {
  readonly object: string;
  readonly error: string;
}

export interface CollectedInstances {
  readonly terminated: readonly string[];
  readonly failed: readonly GarbageFailure[];
}

export interface CollectedObjects {
  /** Names of what was deleted or let go. */
  readonly claims: readonly string[];
  readonly nodes: readonly string[];
  readonly failed: readonly GarbageFailure[];
}

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

// --- repairNode ---

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

// --- disrupt, consolidate, interruption ---

export interface DisruptionCommand {
  readonly reason: DisruptionReason;
  readonly candidates: readonly Candidate[];
  readonly decision?: Decision;
  /** How long the decision has still to prove stable, milliseconds; otherwise as long as its method asks (commands/validation-delay). */
  readonly validationMs?: number;
}

/** What `disrupt` knows that the cluster does not. */
export interface DisruptionView {
  readonly nominations: readonly NodeUntil[];
  readonly pauses: readonly Pause[];
  readonly running: readonly RunningDisruption[];
  /** What went lately, for rates and quotas. */
  readonly pastDisruptions?: readonly PastDisruption[];
  /** What moves did to nodes lately. */
  readonly memory?: readonly NodeMemory[];
  /** Commands that wait for consent: they take no slot. */
  readonly questions?: readonly OpenQuestion[];
  /** What people turned down. */
  readonly refused?: readonly Refused[];
  /** The `details` that `disrupt` has: the same ones need not be sent again. */
  readonly knownDetails?: string;
  /** It has just started and remembers nothing: what NodePools keep for it counts, too. */
  readonly isNew?: true;
}

/** What `disrupt` remembers and NodePools keep for it (budgets/records). */
export interface DisruptionRecords {
  readonly pastDisruptions: readonly PastDisruption[];
  readonly refused: readonly Refused[];
}

export interface DisruptionsFound {
  readonly commands: readonly DisruptionCommand[];
  /** Milliseconds of the epoch. */
  readonly nextCheckAt?: number;
  /** Why pools with removable nodes keep them. */
  readonly held: readonly { readonly nodePool: string; readonly why: string }[];
  /** How many nodes could go by their pool's consolidateAfter, or have drifted. */
  readonly candidates?: number;
  /** Questions whose cause is gone. */
  readonly moot?: readonly MootQuestion[];
  /** Something was started: other methods may find more at once (candidates/methods-in-order). */
  readonly again?: boolean;
  /** NodePools whose consolidation pauses by itself, and why. */
  readonly chains?: readonly { readonly nodePool: string; readonly why: string }[];
  /** What people ask `disrupt` for; absent when nothing of it has changed. */
  readonly details?: DisruptionDetails;
  /** For a new `disrupt`: what NodePools kept for it, where they did. */
  readonly recorded?: DisruptionRecords;
}

export interface DisruptionDetails {
  readonly hash: string;
  readonly budgets: readonly BudgetView[];
  /** What the nodes of each NodePool cost. */
  readonly capacity?: readonly PoolCapacity[];
  /** Whether there are NodePools of which `budgets` does not tell. */
  readonly budgetsCut?: boolean;
  /** Everything decided in this look, what is only recommended included. */
  readonly decisions: readonly DecisionSummary[];
  /** Why nodes stay, by reason, as far as there is room. */
  readonly stays: readonly { readonly why: string; readonly nodes: readonly string[] }[];
}

export interface PauseActivities {
  /**
   * Writes and deletes DisruptionPauses, each by itself, then gives all that are in effect. `undefined` where the cluster has no such kind:
   * then what the workflow knows is all there is. What could not be written is to be asked for again: `why` says what the first failed for.
   */
  syncPauses(input: { readonly write: readonly Pause[]; readonly remove: readonly PauseScope[] }): Promise<{
    readonly pauses: readonly Pause[] | undefined;
    readonly unwritten?: readonly Pause[];
    readonly unremoved?: readonly PauseScope[];
    readonly why?: string;
  }>;
}

export interface DisruptionActivities {
  /** What may go now, within budgets, and when to look again should nothing change. */
  findDisruptions(input: DisruptionView): Promise<DisruptionsFound>;
  /** Which of the nodes that others want to disrupt may go now (budgets/every-disruption-asks), in the order of the requests. */
  decideSlots(input: {
    readonly view: DisruptionView;
    readonly requests: readonly Pick<SlotRequest, 'id' | 'reason' | 'candidates' | 'together'>[];
  }): Promise<{ readonly decisions: readonly SlotDecision[] }>;
  /** Whether one node may go now, and if not why; changes nothing. */
  explainNode(input: { readonly node: string; readonly view: DisruptionView }): Promise<NodeVerdict>;
  /** The candidates that may still go (commands/validation), and why the others may not. */
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
    /** The id of the workflow that will take the taints off, if the nodes stay. */
    owner?: string;
    candidates: readonly Pick<Candidate, 'claim' | 'node'>[];
  }): Promise<{ readonly tainted: readonly string[] }>;
  /** The nodes that are not to go after all, seen behind their taints (commands/confirmed-behind-the-taint), and why. */
  confirmCandidates(input: {
    readonly method: DisruptionMethod;
    readonly reason: DisruptionReason;
    readonly candidates: readonly GoingNode[];
  }): Promise<{
    readonly blocked: readonly { readonly node: string; readonly why: string }[];
    /** The pause that holds them, by the API server's own word: `disrupt` may not have heard of it yet. */
    readonly paused?: string;
  }>;
  /** Events on the nodes of a disruption (events/of-a-disruption). */
  publishDisruption(input: { nodes: readonly string[]; reason: string; message: string }): Promise<void>;
  /** What a command has really saved by now; changes nothing but metrics, the log and an event. */
  measureCommand(input: { command: FinishedCommand; afterMs: number }): Promise<SavingsMeasured>;
  /** Frees nodes that stay. Those that another than `owner` has tainted meanwhile are left alone. */
  untaintCandidates(input: { candidates: readonly Pick<Candidate, 'claim' | 'node'>[]; owner?: string }): Promise<void>;
  /**
   * Frees nodes that a disruption left tainted when it was cut off (candidates/left-over-taints); of soft taints as well, unless moves are
   * being steered. `owners`: workflows that run, and whose tainted nodes `running` does not name.
   */
  releaseStrays(input: {
    readonly running: readonly RunningDisruption[];
    readonly isSteering?: boolean;
  }): Promise<{ readonly released: readonly string[]; readonly owners?: readonly TaintOwner[] }>;
  /**
   * Keeps new pods, softly, off nodes that are none of these (names of nodes or claims); off none when there are no targets.
   * `steered` is what the call before gave back.
   */
  steerPods(input: {
    readonly targets: readonly string[];
    readonly steered: readonly string[];
  }): Promise<{ readonly steered: readonly string[] }>;
}
