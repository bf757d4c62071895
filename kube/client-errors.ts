import { DomainError } from '../core/failures.js';
import type { FailureType } from '../core/failures.js';
import type { Answer } from './client-transport.js';

/** The fields of a `Status` object, the error response of an API server. */
export interface Status {
  readonly code?: number;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly causes?: readonly { readonly reason?: string; readonly field?: string; readonly message?: string }[];
    readonly retryAfterSeconds?: number;
  };
  readonly metadata?: { readonly continue?: string };
}

/**
 * Parses the Status of a response; any other response (a proxy's page, plain text of flow control) becomes the message.
 */
export function statusOf(answer: Answer): Status {
  try {
    const parsed = JSON.parse(answer.text) as (Status & { readonly kind?: string }) | null;
    if (parsed?.kind === 'Status') return parsed;
  } catch {
    // Not JSON.
  }
  return { code: answer.status, message: answer.text.trim().slice(0, 300) };
}

const types: Readonly<Record<number, FailureType>> = {
  400: 'Invalid',
  401: 'Denied',
  403: 'Denied',
  404: 'NotFound',
  405: 'Invalid',
  409: 'Conflict',
  413: 'Invalid',
  415: 'Invalid',
  422: 'Invalid',
  429: 'Throttled',
};

/** The domain error for a refusal; every other code, including 5xx, is `Unavailable`. */
export function refusal(what: string, code: number, status: Status, retryAfter?: number): DomainError {
  return new DomainError(types[code] ?? 'Unavailable', `${what}: ${status.message ?? `HTTP ${code}`}`, {
    status: code,
    reason: status.reason,
    causes: status.details?.causes,
    retryAfterSeconds: retryAfter ?? status.details?.retryAfterSeconds,
  });
}

/**
 * Whether a 404 means that the server does not serve the resource, for example while its CustomResourceDefinition is
 * replaced. A 404 for a missing object has the reason NotFound.
 */
export function isUnserved({ code, status }: { readonly code: number; readonly status: Status }): boolean {
  return code === 404 && status.reason !== 'NotFound';
}

/** Whether PodDisruptionBudgets refused an eviction: one allows no disruption, or two select the pod. */
export function isBlockedByBudget(code: number, status: Status): boolean {
  if (code === 429) return status.details?.causes?.some(({ reason }) => reason === 'DisruptionBudget') ?? false;
  // The API server has no other indication of it.
  return code === 500 && (status.message?.includes('more than one PodDisruptionBudget') ?? false);
}
