import type { DisruptionView } from '../../activities/disruption-context/contract.js';
import { workflowNow } from '../clock.js';
import type { DisruptionFinished, DisruptState, NodeMemory, RunningDisruption } from '../messages.js';
import { withoutMoveChains, remember } from './command-memory.js';
import { LastFindings } from './last-findings.js';
import { Nominations } from './nominations.js';

const unknownCommand = { reason: 'Underutilized', candidates: [] } as const;

/**
 * The state of `disrupt` that is not in the cluster and that continue-as-new carries. If it is lost, the next search
 * knows less, and nothing else changes.
 */
export class KnownState {
  readonly nominations: Nominations;
  readonly lastFindings: LastFindings;
  private started: readonly RunningDisruption[];
  private memory: readonly NodeMemory[];

  constructor(carried: DisruptState | undefined) {
    this.nominations = new Nominations(carried?.nominations);
    this.lastFindings = new LastFindings(carried?.undecidedSince);
    this.started = carried?.commands ?? [];
    this.memory = carried?.memory ?? [];
  }

  /** The part of the state that continue-as-new carries and that is kept here. */
  get carried(): DisruptState {
    const { undecidedSince } = this.lastFindings;
    return {
      nominations: this.nominations.all,
      commands: this.started,
      memory: this.memory,
      ...(undecidedSince === undefined ? {} : { undecidedSince }),
    };
  }

  /** The part of the state that activities need to decide. */
  view(): DisruptionView {
    this.nominations.expire(workflowNow());
    const { memory } = this;
    const { knownDetails } = this.lastFindings;
    return {
      nominations: this.nominations.all,
      commands: this.started,
      ...(memory.length === 0 ? {} : { memory }),
      ...(knownDetails === undefined ? {} : { knownDetails }),
    };
  }

  /** Commands that were started and have not reported their end. */
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
  finish(finished: DisruptionFinished): void {
    const ended = this.started.find(({ workflowId }) => workflowId === finished.workflowId);
    this.end(finished.workflowId);
    // The state may have been lost since the command began; its targets are remembered nevertheless.
    this.memory = remember(this.memory, finished, ended ?? unknownCommand, workflowNow());
  }

  /** Forgets the consecutive moves of pods of this NodePool, because a person resumed it. */
  forgetMoveChains(nodePool: string): void {
    this.memory = withoutMoveChains(this.memory, nodePool);
  }
}
