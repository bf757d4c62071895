import type { DisruptionCommand } from '../../disruption/command.js';
import type {
  BudgetView,
  Candidate,
  Decision,
  DecisionSummary,
  DisruptionMethod,
  DisruptionReason,
  CandidateRef,
  QuestionToWithdraw,
  NodesThatStay,
  NodeWaits,
  PoolCapacity,
  RunningDisruption,
  SlotDecision,
  SlotHolder,
  SlotRequest,
  TaintOwner,
} from '../../workflows/messages.js';
import type { DisruptionRecords, DisruptionView } from '../disruption-context/contract.js';

export interface DisruptionsFound {
  readonly commands: readonly DisruptionCommand[];
  /** Milliseconds of the epoch. */
  readonly nextCheckAt?: number;
  /** Why NodePools with candidates hold them, in words. */
  readonly held: readonly { readonly nodePool: string; readonly why: string }[];
  /** How many nodes are consolidatable or drifted. */
  readonly candidates?: number;
  /** Open questions whose cause is gone. */
  readonly moot?: readonly QuestionToWithdraw[];
  /** Whether to search again at once, since other methods may find more (candidates/methods-in-order). */
  readonly again?: boolean;
  /** NodePools to pause because their pods were moved too often in a row, and why. */
  readonly chains?: readonly { readonly nodePool: string; readonly why: string }[];
  /** Data for people's queries; absent if unchanged. */
  readonly details?: DisruptionDetails;
  /** For a new `disrupt`, or one of an older state: the records on NodePools. */
  readonly recorded?: DisruptionRecords;
  /** The version of the records on NodePools, as they are now. */
  readonly recordsVersion?: number;
}

export interface DisruptionDetails {
  readonly hash: string;
  readonly budgets: readonly BudgetView[];
  /** Number and price of the nodes of each NodePool. */
  readonly capacity?: readonly PoolCapacity[];
  /** What the nodes of all NodePools cost at least, dollars per hour (surfaces/least-possible). */
  readonly leastPossiblePerHour?: number;
  /** So many pods are not among those; absent for none. */
  readonly leastPossibleWithout?: number;
  /** Whether `budgets` was cut. */
  readonly budgetsCut?: boolean;
  /** All decisions of this search, also those that are only recommended. */
  readonly decisions: readonly DecisionSummary[];
  /** Why consolidatable or drifted nodes stay, by reason; cut to a bounded size. */
  readonly stays: NodesThatStay['stays'];
  /** How many more such nodes there are; absent for none. */
  readonly staysMore?: number;
  /** What nodes wait for that may go and that no command takes yet; absent for none. */
  readonly waits?: NodeWaits;
}

export interface DisruptionActivities {
  /** Finds the commands to start now, and when to search again if nothing changes. */
  findDisruptions(input: DisruptionView): Promise<DisruptionsFound>;
  /** Decides about slots that other disruptions requested (budgets/every-disruption-asks), in the order of the requests. */
  decideSlots(input: {
    readonly view: DisruptionView;
    readonly requests: readonly Pick<SlotRequest, 'id' | 'reason' | 'candidates' | 'together'>[];
  }): Promise<{ readonly decisions: readonly SlotDecision[] }>;
  /** The candidates that may still be disrupted (commands/validation), and why the others may not. */
  validateCandidates(input: {
    reason: DisruptionReason;
    candidates: readonly Candidate[];
    /** Absent for the removal of empty nodes. */
    decision?: Pick<Decision, 'method' | 'replacements' | 'typeLists' | 'alongside'> & Partial<Pick<Decision, 'moves'>>;
    /** NodeClaims that were created for the decision already, in place of its replacements. */
    created?: readonly string[];
  }): Promise<{
    readonly valid: readonly Candidate[];
    readonly dropped: readonly { readonly node: string; readonly why: string }[];
  }>;
  /**
   * Taints nodes and sets DisruptionReason; returns those that were marked. `overBudget`: those that budgets do not allow any more
   * (budgets/counted-at-the-taint), and why.
   */
  taintCandidates(input: {
    reason: string;
    /** Id of the workflow that removes the taints if the nodes stay. */
    owner?: string;
    /** The first run of `owner`. */
    ownerRun?: string;
    /** When the cloud gave the notice that `reason` is the kind of. */
    noticedAt?: number;
    candidates: readonly Pick<Candidate, 'claim' | 'node'>[];
  }): Promise<{
    readonly tainted: readonly string[];
    readonly overBudget?: readonly { readonly node: string; readonly why: string }[];
  }>;
  /** The tainted nodes that must stay after all (commands/checked-after-the-taint), and why. */
  confirmCandidates(input: {
    readonly method: DisruptionMethod;
    readonly reason: DisruptionReason;
    readonly candidates: readonly CandidateRef[];
  }): Promise<{
    readonly blocked: readonly { readonly node: string; readonly why: string }[];
    /** The pause that holds them, read from the API server: `disrupt` may not know it yet. */
    readonly paused?: string;
  }>;
  /** Events on the nodes of a disruption (events/of-a-disruption). */
  publishDisruption(input: { nodes: readonly string[]; reason: string; message: string }): Promise<void>;
  /** Removes the taints from nodes that stay, but not those that another workflow than `owner` has set. */
  untaintCandidates(input: { candidates: readonly Pick<Candidate, 'claim' | 'node'>[]; owner?: string }): Promise<void>;
  /**
   * Removes taints of disruptions that are not running (candidates/left-over-taints), and soft taints unless `disrupt` is
   * steering. Returns as `owners` the running workflows whose tainted nodes are not in `running`, and as `held` the ids of those that wait
   * for the end of a pause. `holders`: running workflows that may hold slots or wait for them; absent where they cannot be listed.
   */
  releaseStrays(input: { readonly running: readonly RunningDisruption[]; readonly isSteering?: boolean }): Promise<{
    readonly released: readonly string[];
    readonly owners?: readonly TaintOwner[];
    readonly held?: readonly string[];
    readonly holders?: readonly SlotHolder[];
    /** Those of `running` whose workflow has closed, by its id. */
    readonly ended?: readonly string[];
  }>;
}
