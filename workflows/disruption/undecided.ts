import type { DisruptionDetails, DisruptionsFound } from '../../activities/disruption/contract.js';
import { cutText } from '../../core/cut-text.js';
import type { Undecided } from '../messages.js';

/** What is decided sooner is nothing to tell of. */
const tellAfterMs = 10 * 60_000;
const mostText = 500;

/**
 * Nodes could go by their pool's consolidateAfter or have drifted, and look after look decides nothing: since when, and what that waits for, so that
 * nobody has to guess whether `disrupt` is stuck.
 */
export class UndecidedWatch {
  private now: Undecided | undefined;

  constructor(private since: number | undefined) {}

  /** Milliseconds of the epoch: what a run that continues as new carries over. */
  get state(): number | undefined {
    return this.since;
  }

  /** Takes in a look at `now`; gives what is to be told, if it has been so for long. */
  look(found: DisruptionsFound, stays: DisruptionDetails['stays'], now: number): Undecided | undefined {
    const { commands, candidates = 0, held } = found;
    this.since = commands.length > 0 || candidates === 0 ? undefined : (this.since ?? now);
    const isTold = this.since !== undefined && now - this.since >= tellAfterMs;
    this.now = isTold
      ? { since: new Date(this.since!).toISOString(), candidates, waitsFor: waitsFor(held, stays) }
      : undefined;
    return this.now;
  }

  get told(): Undecided | undefined {
    return this.now;
  }
}

/** Budgets, windows and pauses first; else what keeps most nodes. */
function waitsFor(held: DisruptionsFound['held'], stays: DisruptionDetails['stays']): string {
  const most = [...stays].sort((a, b) => b.nodes.length - a.nodes.length).at(0);
  const parts = [
    ...held.map(({ nodePool, why }) => `${nodePool}: ${why}`),
    ...(most === undefined ? [] : [`${most.nodes[0] ?? ''} and all that stay for the same reason: ${most.why}`]),
  ];
  return parts.length === 0 ? 'a change that saves something' : cutText(parts.join('; '), mostText);
}
