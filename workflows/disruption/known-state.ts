import type { DisruptionView } from '../../activities/disruption-context/contract.js';
import { workflowNow } from '../clock.js';
import type { ConsolidateResult, DisruptState, NodeMemory, RunningDisruption } from '../messages.js';
import { withoutMoveChains, remember } from './command-memory.js';
import { LastFindings } from './last-findings.js';

/**
 * The state of `disrupt` that is not in the cluster and that continue-as-new carries. If it is lost, the next search
 * knows less, and nothing else changes.
 */
export class KnownState {
  readonly lastFindings: LastFindings;
  private started: readonly RunningDisruption[];
  private memory: readonly NodeMemory[];

  constructor(carried: DisruptState | undefined) {
    this.lastFindings = new LastFindings(carried?.undecidedSince);
    this.started = carried?.commands ?? [];
    this.memory = carried?.memory ?? [];
  }

  /** The part of the state that continue-as-new carries and that is kept here. */
  get carried(): DisruptState {
    const { undecidedSince } = this.lastFindings;
    return {
      commands: this.started,
      memory: this.memory,
      ...(undecidedSince === undefined ? {} : { undecidedSince }),
    };
  }

  /** The part of the state that activities need to decide. */
  view(): DisruptionView {
    const { memory } = this;
    const { knownDetails } = this.lastFindings;
    return {
      commands: this.started,
      ...(memory.length === 0 ? {} : { memory }),
      ...(knownDetails === undefined ? {} : { knownDetails }),
    };
  }

  /** Commands that were started and have not ended, as far as is known. */
  get commands(): readonly RunningDisruption[] {
    return this.started;
  }

  begin(command: RunningDisruption): void {
    this.started = [...this.started, command];
  }

  /** Drops a command that has ended. */
  end(workflowId: string): void {
    this.started = this.started.filter((one) => one.workflowId !== workflowId);
  }

  /** Takes in the end of a command, and remembers its outcome for back-offs. */
  finish(workflowId: string, result: ConsolidateResult | undefined): void {
    const ended = this.started.find((one) => one.workflowId === workflowId);
    this.end(workflowId);
    if (ended !== undefined && result !== undefined) this.memory = remember(this.memory, result, ended, workflowNow());
  }

  /** Forgets the consecutive moves of pods of this NodePool, because a person resumed it. */
  forgetMoveChains(nodePool: string): void {
    this.memory = withoutMoveChains(this.memory, nodePool);
  }
}
