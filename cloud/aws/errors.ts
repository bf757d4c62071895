import { DomainError, isDomainError } from '../../core/failures.js';
import type { FailureType } from '../../core/failures.js';

const denied = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'AuthFailure',
  'Blocked',
  'CredentialsProviderError',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAccessKeyId',
  'InvalidClientTokenId',
  'OptInRequired',
  'PendingVerification',
  'RequestExpired',
  'SignatureDoesNotMatch',
  'UnauthorizedOperation',
  'UnrecognizedClientException',
]);

const throttled = new Set([
  'BandwidthLimitExceeded',
  'EC2ThrottledException',
  'PriorRequestNotComplete',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
]);

const conflicts = new Set([
  'ConcurrentModification',
  'DeleteConflict',
  'EntityAlreadyExists',
  'EntityAlreadyExistsException',
  'InvalidLaunchTemplateName.AlreadyExistsException',
  'LimitExceeded',
]);

interface ServiceError {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** Whether a code says that there were too many requests. */
export function isThrottle(code: string): boolean {
  return throttled.has(code);
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

/** A failed AWS call as a domain error that names the call; `details.code` keeps AWS' code. */
export function toDomainError(error: unknown, action: string): DomainError {
  if (isDomainError(error)) return error;
  const code = awsCode(error);
  const { message } = (error ?? {}) as ServiceError;
  const text = message ?? String(error);
  return new DomainError(
    failureType(error as ServiceError, code),
    `${action}: ${code === '' ? text : `${code}: ${text}`}`,
    {
      action,
      code,
    },
  );
}

function failureType(error: ServiceError | undefined, code: string): FailureType {
  const status = error?.$metadata?.httpStatusCode;
  if (denied.has(code)) return 'Denied';
  if (isThrottle(code) || status === 429) return 'Throttled';
  if (conflicts.has(code)) return 'Conflict';
  if (
    code.includes('NotFound') ||
    code.startsWith('NoSuchEntity') ||
    code.includes('NonExistent') ||
    code === 'QueueDoesNotExist'
  ) {
    return 'NotFound';
  }
  // No HTTP status: nothing was answered, or something that is no answer of AWS (a proxy's error page).
  if (status === undefined || status >= 500) return 'Unavailable';
  return 'Invalid';
}
