/**
 * Failures that cross the workflow boundary, distinguished by `type`, never by text. `retryable: false` fails the
 * activity at once; the workflow decides what follows.
 */
export const failures = {
  insufficientCapacity: { type: 'InsufficientCapacity', retryable: false },
  nodeClassNotReady: { type: 'NodeClassNotReady', retryable: false },
  launchFailed: { type: 'LaunchFailed', retryable: true },
  notFound: { type: 'NotFound', retryable: false },
  conflict: { type: 'Conflict', retryable: true },
  invalid: { type: 'Invalid', retryable: false },
  unavailable: { type: 'Unavailable', retryable: true },
  denied: { type: 'Denied', retryable: true },
  throttled: { type: 'Throttled', retryable: true },
  /** Nothing failed: the attempt found that it has to wait, for `details.againMs` milliseconds. */
  waiting: { type: 'Waiting', retryable: true },
  /** The result of a step cannot be parsed. */
  unreadable: { type: 'Unreadable', retryable: false },
  superseded: { type: 'Superseded', retryable: false },
} as const;

export type FailureType = (typeof failures)[keyof typeof failures]['type'];

/** A domain error with its failure type; `activities/to-failure.ts` converts it to an ApplicationFailure. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  constructor(
    readonly type: FailureType,
    message: string,
    /** JSON-safe data for callers that handle the failure. */
    readonly details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

/** Whether `error` is a domain error of `type`. `instanceof` fails across realms (Jest, the workflow sandbox). */
export function isDomainError(error: unknown, type?: FailureType): error is DomainError {
  if (!(error !== null && typeof error === 'object' && 'name' in error && error.name === 'DomainError')) return false;
  return type === undefined || (error as DomainError).type === type;
}

/** Whether the call failed without a response or by throttling: the same call may succeed later. */
export function isTransient(error: unknown): boolean {
  return isDomainError(error, 'Unavailable') || isDomainError(error, 'Throttled');
}
