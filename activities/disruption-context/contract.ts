import type {
  NodeMemory,
  NodeUntil,
  OpenQuestion,
  PastDisruption,
  Pause,
  Refused,
  RunningDisruption,
} from '../../workflows/messages.js';

/** State of `disrupt` that decisions need besides the cluster. */
export interface DisruptionView {
  readonly nominations: readonly NodeUntil[];
  readonly pauses: readonly Pause[];
  readonly running: readonly RunningDisruption[];
  /** Past disruptions, for rates and quotas. */
  readonly pastDisruptions?: readonly PastDisruption[];
  /** What is remembered of nodes after commands. */
  readonly memory?: readonly NodeMemory[];
  /** Commands that wait for approval; they have no slot. */
  readonly questions?: readonly OpenQuestion[];
  /** Refused commands. */
  readonly refused?: readonly Refused[];
  /** Hash of the `details` that `disrupt` has, so that equal ones are not returned. */
  readonly knownDetails?: string;
  /** `disrupt` has just started without state: read the records on NodePools. */
  readonly isNew?: true;
  /** The last version of the records on NodePools that it knows; absent where it knows of none. */
  readonly recordsVersion?: number;
}

/** State of `disrupt` that is also recorded on NodePools (budgets/records). */
export interface DisruptionRecords {
  readonly pastDisruptions: readonly PastDisruption[];
  readonly refused: readonly Refused[];
  /** The NodePools that they are of, where `disrupt` has an older state than they; absent: all. */
  readonly pools?: readonly string[];
}
