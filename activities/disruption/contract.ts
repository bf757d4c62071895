import type { DisruptionCommand } from '../../disruption/command.js';
import type {
  BudgetView,
  Candidate,
  Decision,
  DecisionSummary,
  DisruptionMethod,
  DisruptionReason,
  FinishedCommand,
  CandidateRef,
  MootQuestion,
  NodeMemory,
  NodeUntil,
  NodesThatStay,
  NodeVerdict,
  OpenQuestion,
  PastDisruption,
  Pause,
  PoolCapacity,
  Refused,
  RunningDisruption,
  SavingsMeasured,
  SlotDecision,
  SlotRequest,
  TaintOwner,
} from '../../workflows/messages.js';

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
  /** Why nodes stay that could go, by reason, as far as there is room. */
  readonly stays: NodesThatStay['stays'];
  /** So many more could go that `stays` does not tell of; absent for none. */
  readonly staysMore?: number;
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
    readonly candidates: readonly CandidateRef[];
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
