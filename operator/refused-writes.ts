import { isDomainError } from '../core/failures.js';
import { messageOf } from '../core/error-message.js';
import { resources } from '../kube/kinds.js';
import type { ClusterCache, EventRecorder } from '../kube/port.js';
import type { Requeue } from './work-queue.js';

type Told = 'NodePool' | 'NodeClaim' | 'NodeOverlay' | 'DisruptionPolicy' | 'EC2NodeClass' | 'KWOKNodeClass';
type Reconcile = (name: string) => Promise<Requeue | undefined>;

const repeatMs = 600_000;

/** By the API server, which says its status: clouds deny, too. */
const isRefused = (error: unknown): boolean =>
  (isDomainError(error, 'Denied') || isDomainError(error, 'Invalid')) && typeof error.details['status'] === 'number';

/**
 * The same work, of which the object itself says that the API server refuses a write (events/write-refused): it stays as it was, and whoever owns it
 * looks there and not into the log.
 */
export function tellingRefusals(
  context: { readonly cache: Pick<ClusterCache, 'get'>; readonly events: EventRecorder },
  kind: Told,
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
