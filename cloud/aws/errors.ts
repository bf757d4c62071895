import { DomainError, isDomainError, type FailureType } from '../../core/failures.js';
import { type ErrorRow, errorsByCode, reportedBy } from './error-codes.js';

interface ServiceError {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  /** `clockSkewCorrected`: the SDK has learned from the answer how far the own clock is off. */
  readonly $metadata?: { readonly httpStatusCode?: number; readonly clockSkewCorrected?: boolean };
}

/** Whether a code says that there were too many requests. */
export function isThrottle(code: string): boolean {
  return errorRow(code, '')?.type === 'Throttled';
}

/** AWS' own code of an error, such as `RequestLimitExceeded`; empty when it carries none. */
export function awsCode(error: unknown): string {
  if (isDomainError(error)) return typeof error.details.code === 'string' ? error.details.code : '';
  const { name, code } = (error ?? {}) as ServiceError;
  return name !== undefined && name !== 'Error' ? name : (code ?? '');
}

/** Whether EC2 says that a dry run would have succeeded. */
export function isDryRunSuccess(error: unknown): boolean {
  return awsCode(error) === 'DryRunOperation';
}

/**
 * Whether EC2 knows no instance profile of the name that it was given. IAM says so of a profile for some seconds after it
 * was made, to whoever asks.
 */
export function isProfileUnknown(error: unknown): boolean {
  const { message = '' } = (error ?? {}) as ServiceError;
  return errorRow('', message)?.reason === 'InstanceProfileNameInvalid';
}

/** Whether the caller was refused, whatever the call and what it names: the next one may have other credentials. */
export function isOfCaller(error: unknown): boolean {
  return errorRow(awsCode(error), '')?.ofCaller === true;
}

/** Whether the call was refused for the time on it, and would go out with the right one now. */
export function isClockCorrected(error: unknown): boolean {
  return isDomainError(error) && error.details['clockSkewCorrected'] === true;
}

/**
 * A failed AWS call as a domain error that names the call; `details.code` keeps AWS' code, and `details.reason` is what the
 * owner of a NodeClaim is told of a launch that met it.
 */
export function toDomainError(error: unknown, action: string): DomainError {
  if (isDomainError(error)) return error;
  const code = awsCode(error);
  const { message, $metadata } = (error ?? {}) as ServiceError;
  const text = message ?? String(error);
  const row: ErrorRow = errorRow(code, text) ?? { type: typeByForm(code, $metadata?.httpStatusCode) };
  return new DomainError(row.type, `${action}: ${code === '' ? text : `${code}: ${text}`}`, {
    action,
    code,
    ...(row.reason === undefined ? {} : { reason: row.reason }),
    ...($metadata?.clockSkewCorrected === true ? { clockSkewCorrected: true } : {}),
  });
}

function typeByForm(code: string, status: number | undefined): FailureType {
  if (status === 429) return 'Throttled';
  if (code.includes('NotFound') || code.startsWith('NoSuchEntity') || code.includes('NonExistent')) return 'NotFound';
  // No HTTP status: nothing was answered, or something that is no answer of AWS (a proxy's error page).
  return status === undefined || status >= 500 ? 'Unavailable' : 'Invalid';
}

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
