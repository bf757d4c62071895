import { setTimeout as delay } from 'node:timers/promises';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Interruption } from '../cloud/port.js';
import type { OperatorContext } from './context.js';

const retryMs = 5000;

/** Hands interruption notices to `handleInterruption`; a message is deleted once its workflow has it (section 4.15). */
export async function watchInterruptions(context: OperatorContext, signal: AbortSignal): Promise<void> {
  const { cache, cloud, starter, metrics, log, now } = context;
  const source = cloud.interruptions;
  if (source === undefined) return;
  let failing = false;
  const over = (): boolean => signal.aborted;
  while (!over()) {
    try {
      await source.run(
        async (notice) => {
          metrics.count('interruption_received_messages_total', { message_type: notice.kind });
          metrics.observe('interruption_message_queue_duration_seconds', {}, (now() - notice.at) / 1000);
          if (!isEcho(notice, cache.all('NodeClaim'))) {
            log.info({ kind: notice.kind, instanceId: notice.instanceId }, 'an instance is to be interrupted');
            await starter.interruption(notice);
          }
          metrics.count('interruption_deleted_messages_total', {});
        },
        signal,
        (reason) => log.debug({ reason }, 'ignored a message of the interruption queue'),
      );
      failing = false;
    } catch (error) {
      if (over()) return;
      if (!failing) log.warn({ error: String(error) }, 'cannot read interruption notices, trying again');
      failing = true;
      await delay(retryMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/**
 * Whether a notice only tells that an instance ended which Stowage ended itself: its claim is going or gone. Anything else
 * about an instance is news, also when no claim is known for it.
 */
export function isEcho(
  { kind, instanceId }: Pick<Interruption, 'kind' | 'instanceId'>,
  claims: readonly NodeClaim[],
): boolean {
  if (kind !== 'instance_terminated' && kind !== 'instance_stopped') return false;
  const claim = claims.find(({ status }) => status?.providerID?.endsWith(`/${instanceId}`));
  return claim === undefined || claim.metadata.deletionTimestamp !== undefined;
}
