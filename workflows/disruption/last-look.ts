import type { DisruptionDetails, DisruptionsFound } from '../../activities/disruption/contract.js';
import { workflowNow } from '../clock.js';
import type {
  DecisionSummary,
  DisruptionPlan,
  NextWindow,
  NodesThatStay,
  NodeVerdict,
  RunningDisruption,
} from '../messages.js';
import { nextWindowOf, planOf, poolsOf, verdictOf } from './disrupt-answers.js';
import { UndecidedWatch } from './undecided.js';

/** What the last look at the cluster brought, and what `disrupt` answers people from it. */
export class LastLook {
  private found: (DisruptionsFound & { readonly at: string }) | undefined;
  private details: DisruptionDetails | undefined;
  private decisions: readonly DecisionSummary[] = [];
  private readonly undecided: UndecidedWatch;

  constructor(undecidedSince: number | undefined) {
    this.undecided = new UndecidedWatch(undecidedSince);
  }

  /** Takes in a look; gives what is to be told of nodes of which nothing is decided, if it has been so for long. */
  note(found: DisruptionsFound): string | undefined {
    this.found = { ...found, at: new Date(workflowNow()).toISOString() };
    if (found.details !== undefined) {
      this.details = found.details;
      if (found.details.decisions.length > 0) this.decisions = found.details.decisions;
    }
    const undecided = this.undecided.look(found, this.details?.stays ?? [], workflowNow());
    return undecided && `${undecided.since}, for ${undecided.waitsFor}`;
  }

  /** Milliseconds of the epoch: what a run that continues as new carries over. */
  get undecidedSince(): number | undefined {
    return this.undecided.state;
  }

  /** The details that need not be sent again. */
  get knownDetails(): string | undefined {
    return this.details?.hash;
  }

  /** NodePools of the last look; undefined before the first one, and where there are more than it told of. */
  get pools(): ReadonlySet<string> | undefined {
    return poolsOf(this.details);
  }

  get budgets(): DisruptionDetails['budgets'] {
    return this.details?.budgets ?? [];
  }

  get capacity(): NonNullable<DisruptionDetails['capacity']> {
    return this.details?.capacity ?? [];
  }

  get stays(): NodesThatStay {
    return { stays: this.details?.stays ?? [], more: this.details?.staysMore ?? 0 };
  }

  get nextWindow(): NextWindow {
    return nextWindowOf(this.budgets);
  }

  get plan(): DisruptionPlan | undefined {
    return planOf(this.found, this.decisions, this.undecided.told);
  }

  verdict(
    node: string,
    {
      running,
      waiting,
    }: { readonly running: readonly RunningDisruption[]; readonly waiting: readonly RunningDisruption[] },
  ): NodeVerdict {
    return verdictOf(node, { running, waiting, stays: this.details?.stays ?? [], at: this.found?.at });
  }
}
