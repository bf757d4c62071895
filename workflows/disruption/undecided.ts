import type { DisruptionsFound } from '../../activities/disruption/contract.js';
import { cutText } from '../../core/text.js';
import type { DisruptionDetails, Undecided } from '../messages.js';

/** How long candidates may be without a command before that is shown. */
const reportAfterMs = 10 * 60_000;
const mostText = 500;

/**
 * Watches for a long time with candidates (consolidatable or drifted nodes) and no command. Shows since when and what
 * holds them back, so that people see that `disrupt` is not stuck.
 */
export class UndecidedWatch {
  private shown: Undecided | undefined;

  constructor(private since: number | undefined) {}

  /** Milliseconds of the epoch; carried over by continue-as-new. */
  get state(): number | undefined {
    return this.since;
  }

  /** Takes in new findings at `now`. Returns what to show if there was no command for long. */
  update(found: DisruptionsFound, stays: DisruptionDetails['stays'], now: number): Undecided | undefined {
    const { commands, candidates = 0, held } = found;
    this.since = commands.length > 0 || candidates === 0 ? undefined : (this.since ?? now);
    const isLong = this.since !== undefined && now - this.since >= reportAfterMs;
    this.shown = isLong
      ? { since: new Date(this.since!).toISOString(), candidates, waitsFor: waitsFor(held, stays) }
      : undefined;
    return this.shown;
  }

  get current(): Undecided | undefined {
    return this.shown;
  }
}

/** What holds the candidates back: budgets, windows and pauses, then the reason that applies to most nodes. */
function waitsFor(held: DisruptionsFound['held'], stays: DisruptionDetails['stays']): string {
  const most = [...stays].sort((a, b) => b.nodes.length - a.nodes.length).at(0);
  const parts = [
    ...held.map(({ nodePool, why }) => `${nodePool}: ${why}`),
    ...(most === undefined ? [] : [`${most.nodes[0] ?? ''} and all that stay for the same reason: ${most.why}`]),
  ];
  return parts.length === 0 ? 'a change that saves something' : cutText(parts.join('; '), mostText);
}
