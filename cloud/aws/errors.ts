import { DomainError, isDomainError, type FailureType } from '../../core/failures.js';
import { type ErrorRow, errorsByCode, reportedBy } from './error-codes.js';

interface ServiceError {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  /** `clockSkewCorrected`: the SDK corrected its clock offset by the response. */
  readonly $metadata?: { readonly httpStatusCode?: number; readonly clockSkewCorrected?: boolean };
}

/** Whether the code means throttling. */
export function isThrottle(code: string): boolean {
  return errorRow(code, '')?.type === 'Throttled';
}

/** The AWS error code, such as `RequestLimitExceeded`; empty if there is none. */
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
 * Whether EC2 does not know the instance profile. This is also the response to all callers for some seconds after a
 * profile was created.
 */
export function isProfileUnknown(error: unknown): boolean {
  const { message = '' } = (error ?? {}) as ServiceError;
  return errorRow('', message)?.reason === 'InstanceProfileNameInvalid';
}

/** Whether the caller was refused, not this call or its arguments; the next call may have other credentials. */
export function isOfCaller(error: unknown): boolean {
  return errorRow(awsCode(error), '')?.ofCaller === true;
}

/** Whether the call was refused for its timestamp, which the SDK has corrected now. */
export function isClockCorrected(error: unknown): boolean {
  return isDomainError(error) && error.details['clockSkewCorrected'] === true;
}

/**
 * Converts a failed AWS call to a domain error that names the call. `details.code` is the AWS code, `details.reason`
 * the reason reported on the NodeClaim if a launch failed with it.
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
  // No HTTP status: there was no response, or one that is not from AWS (such as a proxy's error page).
  return status === undefined || status >= 500 ? 'Unavailable' : 'Invalid';
}

/** Errors that only their message distinguishes; they take precedence over the row of the code. */
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
 * The table, for its tests: codes, then the errors that only their message distinguishes.
 *
 * @testOnly
 */
export const knownErrors: readonly {
  readonly code?: string;
  readonly words?: string;
  readonly row: ErrorRow;
  readonly reportedAs: string;
}[] = [
  ...[...rows].map(([code, row]) => ({ code, row, reportedAs: reportOf(row) })),
  ...byWords.map(([words, row]) => ({ words: words.source, row, reportedAs: reportOf(row) })),
];

function reportOf({ met = 'anywhere' }: ErrorRow): string {
  return reportedBy[met];
}

/** Meaning of an error with this code and message; undefined if the table does not have it. */
export function errorRow(code: string, message: string): ErrorRow | undefined {
  return byWords.find(([words]) => words.test(message))?.[1] ?? rows.get(code);
}
