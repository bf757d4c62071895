/** Result of a check: `skipped` if another problem prevents it, or the installation does not use the feature. */
export type CheckState = 'ok' | 'warning' | 'failed' | 'skipped';

/** The finding of a check, and its fix; `mend` is empty if there is nothing to fix. */
export interface CheckOutcome {
  readonly state: CheckState;
  readonly found: string;
  readonly mend: string;
}

export interface CheckResult extends CheckOutcome {
  readonly name: string;
}

/** One requirement of an installation. */
export interface Check {
  readonly name: string;
  /** Checks that must succeed first: if one is failed or skipped, this one is skipped. */
  readonly needs?: readonly string[];
  /** The fix if the checked service does not respond. */
  readonly unanswered: string;
  /** Timeout in milliseconds; default 15 seconds. */
  readonly deadlineMs?: number;
  run(): Promise<CheckOutcome>;
}

export const okCheck = (found: string): CheckOutcome => ({ state: 'ok', found, mend: '' });
export const warning = (found: string, mend: string): CheckOutcome => ({ state: 'warning', found, mend });
export const failed = (found: string, mend: string): CheckOutcome => ({ state: 'failed', found, mend });
export const skipped = (found: string): CheckOutcome => ({ state: 'skipped', found, mend: '' });

/** The first few of many, in one line. */
export function someOf(items: readonly string[], most = 5): string {
  const more = items.length > most ? ` and ${items.length - most} more` : '';
  return `${items.slice(0, most).join(', ')}${more}`;
}
