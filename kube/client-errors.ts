import { DomainError } from '../core/failures.js';
import type { FailureType } from '../core/failures.js';
import type { Answer } from './client-transport.js';

/** The parts of a `Status` object, which an API server answers with when it refuses. */
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

/** Reads the answer's Status; what is none (a proxy's page, flow control's plain text) gives its text as message. */
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

/** What a refusal means to Stowage; every other code, 5xx included, is `Unavailable`. */
export function refusal(what: string, code: number, status: Status, retryAfter?: number): DomainError {
  return new DomainError(types[code] ?? 'Unavailable', `${what}: ${status.message ?? `HTTP ${code}`}`, {
    status: code,
    reason: status.reason,
    causes: status.details?.causes,
    retryAfterSeconds: retryAfter ?? status.details?.retryAfterSeconds,
  });
}

/**
 * Whether a 404 says that the server does not serve the resource, as while its CustomResourceDefinition is replaced. A 404 of a missing object has the reason
 * NotFound.
 */
export function isUnserved({ code, status }: { readonly code: number; readonly status: Status }): boolean {
  return code === 404 && status.reason !== 'NotFound';
}

/** Whether an eviction was refused because of PodDisruptionBudgets: one has no room, or two claim the pod. */
export function isBlockedByBudget(code: number, status: Status): boolean {
  if (code === 429) return status.details?.causes?.some(({ reason }) => reason === 'DisruptionBudget') ?? false;
  // The API server has no other sign for it.
  return code === 500 && (status.message?.includes('more than one PodDisruptionBudget') ?? false);
}
