import { DomainError, isDomainError } from '../../core/failures.js';
import type { FailureType } from '../../core/failures.js';
import { errorRow } from './error-table.js';
import type { ErrorRow } from './error-codes.js';

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
