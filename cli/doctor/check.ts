/** How a check ended: `skipped` says nothing, for something else is in the way or the installation has no such thing. */
export type CheckState = 'ok' | 'warning' | 'failed' | 'skipped';

/** What a check found, and what to do about it; `mend` is empty where there is nothing to do. */
export interface CheckOutcome {
  readonly state: CheckState;
  readonly found: string;
  readonly mend: string;
}

export interface CheckResult extends CheckOutcome {
  readonly name: string;
}

/** One thing that an installation needs. */
export interface Check {
  readonly name: string;
  /** Checks without which this one tells nothing: where one of them is failed or skipped, this one is skipped. */
  readonly needs?: readonly string[];
  /** What to do where what it asks does not answer. */
  readonly unanswered: string;
  /** Milliseconds within which it must end; default 15 seconds. */
  readonly deadlineMs?: number;
  run(): Promise<CheckOutcome>;
}

export const okCheck = (found: string): CheckOutcome => ({ state: 'ok', found, mend: '' });
export const warning = (found: string, mend: string): CheckOutcome => ({ state: 'warning', found, mend });
export const failed = (found: string, mend: string): CheckOutcome => ({ state: 'failed', found, mend });
export const skipped = (found: string): CheckOutcome => ({ state: 'skipped', found, mend: '' });

/** The first few of many, for one line. */
export function someOf(items: readonly string[], most = 5): string {
  const more = items.length > most ? ` and ${items.length - most} more` : '';
  return `${items.slice(0, most).join(', ')}${more}`;
}
