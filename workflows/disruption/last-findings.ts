import type { DisruptionsFound } from '../../activities/disruption/contract.js';
import { workflowNow } from '../clock.js';
import type { DecisionSummary, DisruptionDetails, DisruptionFindings, NodeVerdict } from '../messages.js';
import { UndecidedWatch } from './undecided.js';
import { timeText } from '../../core/time.js';

/** The results of the last search for commands, as people's query gives them. */
export class LastFindings {
  private found: (DisruptionsFound & { readonly at: string }) | undefined;
  private details: DisruptionDetails | undefined;
  private decisions: readonly DecisionSummary[] = [];
  private readonly undecided: UndecidedWatch;

  constructor(undecidedSince: number | undefined) {
    this.undecided = new UndecidedWatch(undecidedSince);
  }

  /** Takes in new findings. Returns the text to show if there are candidates and no command was found for long. */
  note(found: DisruptionsFound): string | undefined {
    this.found = { ...found, at: new Date(workflowNow()).toISOString() };
    if (found.details !== undefined) {
      this.details = found.details;
      if (found.details.decisions.length > 0) this.decisions = found.details.decisions;
    }
    const undecided = this.undecided.update(found, this.details?.stays ?? [], workflowNow());
    return undecided && `${timeText(undecided.since)}, for ${undecided.waitsFor}`;
  }

  /** Milliseconds of the epoch; carried over by continue-as-new. */
  get undecidedSince(): number | undefined {
    return this.undecided.state;
  }

  /** Hash of the details that are known, so that the activity does not return them again. */
  get knownDetails(): string | undefined {
    return this.details?.hash;
  }

  /** A node that nothing protects may still wait for something, which is only known from the last search. */
  withWait(verdict: NodeVerdict): NodeVerdict {
    if (verdict.verdict !== 'may go') return verdict;
    const waits = this.details?.waits?.find(({ nodes }) => nodes.includes(verdict.node));
    return waits === undefined ? verdict : { ...verdict, verdict: waits.verdict, why: waits.why };
  }

  /** Undefined before the first search. */
  get current(): DisruptionFindings | undefined {
    const { found, details, decisions } = this;
    if (found === undefined) return undefined;
    const { current: undecided } = this.undecided;
    return {
      ...{ at: found.at, held: found.held, decisions },
      ...(details === undefined ? {} : { details }),
      ...(undecided === undefined ? {} : { undecided }),
    };
  }
}
