import { errorsByCode, reportedBy } from './error-codes.js';
import type { ErrorRow } from './error-codes.js';

/** Errors that only their message tells apart; they win over the code's row. */
const byWords: readonly (readonly [words: RegExp, row: ErrorRow])[] = [
  [/not authorized for images/i, { type: 'Denied', met: 'launch', reason: 'AMIAuthorizationFailure' }],
  [/belong to different networks/i, { type: 'Invalid', met: 'launch', reason: 'SecurityGroupSubnetVPCMismatch' }],
  [
    /invalid IAM instance profile name|iamInstanceProfile\.name is invalid/i,
    { type: 'NotFound', met: 'launch', reason: 'InstanceProfileNameInvalid' },
  ],
  [/user data is limited to/i, { type: 'Invalid', met: 'launch', reason: 'UserDataSizeLimitExceeded' }],
  [/not eligible for free tier/i, { type: 'Invalid', met: 'launch', reason: 'FreeTierIneligible' }],
];

const rows: ReadonlyMap<string, ErrorRow> = new Map(
  errorsByCode.flatMap(([row, ...codes]) => codes.map((code) => [code, row] as const)),
);

/**
 * The table for its tests: codes, then the errors that only their message tells apart.
 *
 * @testOnly
 */
export const knownErrors: readonly {
  readonly code?: string;
  readonly words?: string;
  readonly row: ErrorRow;
  readonly told: string;
}[] = [
  ...[...rows].map(([code, row]) => ({ code, row, told: reportOf(row) })),
  ...byWords.map(([words, row]) => ({ words: words.source, row, told: reportOf(row) })),
];

function reportOf({ met = 'anywhere' }: ErrorRow): string {
  return reportedBy[met];
}

/** What an error of this code and these words means; undefined where the table does not know it. */
export function errorRow(code: string, message: string): ErrorRow | undefined {
  return byWords.find(([words]) => words.test(message))?.[1] ?? rows.get(code);
}
