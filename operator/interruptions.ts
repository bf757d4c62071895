import { setTimeout as delay } from 'node:timers/promises';
import type { OperatorContext } from './context.js';

const retryMs = 5000;

/** Hands interruption notices to `handleInterruption`; a message is deleted once its workflow has it (section 4.15). */
export async function watchInterruptions(context: OperatorContext, signal: AbortSignal): Promise<void> {
  const { cloud, starter, metrics, log, now } = context;
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
          log.info({ kind: notice.kind, instanceId: notice.instanceId }, 'an instance is to be interrupted');
          await starter.interruption(notice);
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
