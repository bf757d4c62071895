import type { AskedQuestion } from './oversight-messages.js';

/** The answer to an approval question. */
export interface Consent {
  readonly answer: 'approved' | 'rejected';
  /** A person; `nobody` after a timeout; `policy` if no approval was needed. */
  readonly by: string;
  readonly reason?: string;
}

/** An approval question. Oversight adds until when it waits for an answer. */
export type Question = Omit<AskedQuestion, 'until' | 'unanswered'>;

/** Such as `rejected by ann (release)` or `rejected: nobody answered in time`. */
export function consentText({ answer, by, reason }: Consent): string {
  return by === 'nobody' ? `${answer}: nobody answered in time` : `${answer} by ${withReason(by, reason)}`;
}

/** Such as `ann (release)`. */
export function withReason(actor: string, reason: string | undefined): string {
  return reason === undefined || reason === '' ? actor : `${actor} (${reason})`;
}
