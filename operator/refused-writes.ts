import { isDomainError } from '../core/failures.js';
import { messageOf } from '../core/error-message.js';
import { resources } from '../kube/kinds.js';
import type { ClusterCache, EventRecorder } from '../kube/port.js';
import type { Requeue } from './work-queue.js';

type ReconciledKind =
  'NodePool' | 'NodeClaim' | 'NodeOverlay' | 'DisruptionPolicy' | 'DisruptionPause' | 'EC2NodeClass' | 'KWOKNodeClass';
type Reconcile = (name: string) => Promise<Requeue | undefined>;

const repeatMs = 600_000;

/** Whether the API server refused: its errors have an HTTP status, those of a cloud do not. */
const isRefused = (error: unknown): boolean =>
  (isDomainError(error, 'Denied') || isDomainError(error, 'Invalid')) && typeof error.details['status'] === 'number';

/**
 * Reconciles, and publishes an event on the object if the API server refuses a write (events/write-refused), since its
 * owner sees events rather than the log. The error is rethrown.
 */
export function reportingRefusals(
  context: { readonly cache: Pick<ClusterCache, 'get'>; readonly events: EventRecorder },
  kind: ReconciledKind,
  reconcile: Reconcile,
): Reconcile {
  return async (name) => {
    try {
      return await reconcile(name);
    } catch (error) {
      if (isRefused(error)) {
        const { uid } = context.cache.get(kind, { name })?.metadata ?? {};
        const message = `The API server refuses what Stowage writes: ${messageOf(error)}`;
        const event = { type: 'Warning', reason: 'WriteRefused', message, dedupeMs: repeatMs } as const;
        const { apiVersion } = resources[kind];
        const regarding = { apiVersion, kind, name, ...(uid === undefined ? {} : { uid }) };
        context.events.publish({ ...event, regarding });
      }
      throw error;
    }
  };
}
