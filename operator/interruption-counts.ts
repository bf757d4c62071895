import type { Interruption } from '../cloud/port.js';
import { lookUp } from '../core/own.js';
import type { OperatorContext } from './context.js';

/** What EC2's status checks say, as against messages of the queue, by Karpenter's names. */
const categories: Readonly<Record<string, string>> = {
  instance_status: 'InstanceStatus',
  system_status: 'SystemStatus',
  event_status: 'EventStatus',
};
/** Faults that were counted lately: more than are ever there at once. */
const rememberedFaults = 10_000;

/**
 * The metrics of interruption notices, as Karpenter counts them: messages of the queue each time, a fault of an instance of this
 * cluster once for as long as it lasts, however often the status checks tell it.
 */
export class InterruptionCounts {
  private readonly faults = new Set<string>();

  constructor(private readonly context: Pick<OperatorContext, 'metrics' | 'now'>) {}

  received({ kind, at }: Interruption): void {
    if (isStatusCheck(kind)) return;
    const { metrics, now } = this.context;
    metrics.count('interruption_received_messages_total', { message_type: kind });
    metrics.observe('interruption_message_queue_duration_seconds', {}, (now() - at) / 1000);
  }

  /** Of an instance that a NodeClaim of this cluster has. */
  ofOwnInstance({ kind, messageId }: Interruption): void {
    const category = lookUp(categories, kind);
    if (category === undefined || this.faults.has(messageId)) return;
    this.faults.add(messageId);
    const [oldest] = this.faults;
    if (this.faults.size > rememberedFaults && oldest !== undefined) this.faults.delete(oldest);
    this.context.metrics.count('interruption_instance_status_unhealthy_total', { category });
  }

  handled({ kind }: Interruption): void {
    if (!isStatusCheck(kind)) this.context.metrics.count('interruption_deleted_messages_total', {});
  }
}

const isStatusCheck = (kind: string): boolean => lookUp(categories, kind) !== undefined;
