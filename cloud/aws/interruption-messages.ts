import type { Interruption, InterruptionKind } from '../port.js';
import { lookUp } from '../../core/own.js';

/** The content of a queue message, or why it is ignored. */
export type ParsedMessage =
  | { readonly kind: 'interruptions'; readonly interruptions: readonly Interruption[] }
  | { readonly kind: 'ignored'; readonly reason: string };

interface EventBridgeEvent {
  readonly version?: unknown;
  readonly id?: unknown;
  readonly source?: unknown;
  readonly 'detail-type'?: unknown;
  readonly time?: unknown;
  readonly account?: unknown;
  readonly region?: unknown;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/**
 * EC2's ids have 19 characters. A longer text would not be a valid workflow id, and the message would stay on the
 * queue.
 */
const instanceIdShape = /^i-[0-9a-z]{1,32}$/;
const longestEventId = 128;

/** The account and region whose events count; `account` is undefined if the queue's URL does not contain it. */
export interface Origin {
  readonly account: string | undefined;
  readonly region: string;
}

/**
 * Parses an EventBridge event (interruption/messages). Never throws, so that every message can be deleted. The result
 * is bounded in length, and its time is at most `now`, milliseconds since the epoch.
 */
export function parseInterruption(
  body: string | undefined,
  { sqsMessageId, now, own }: { readonly sqsMessageId: string; readonly now: number; readonly own: Origin },
): ParsedMessage {
  const event = parseJson(body);
  if (event === undefined) return { kind: 'ignored', reason: 'malformed' };
  const detail = event.detail ?? {};
  const kinds = `${text(event.source)} / ${text(event['detail-type'])}`;
  if (event.version !== '0') return { kind: 'ignored', reason: 'unknown version' };
  if (isElsewhere(event.account, own.account)) return { kind: 'ignored', reason: 'another account' };
  if (isElsewhere(event.region, own.region)) return { kind: 'ignored', reason: 'another region' };
  const found = instancesOf(kinds, detail);
  if (found === undefined) return { kind: 'ignored', reason: 'no-op' };
  const at = Date.parse(text(event.time));
  const ownId = text(event.id);
  const eventId = ownId === '' || ownId.length > longestEventId ? sqsMessageId : ownId;
  const ids = found.instanceIds.filter((id) => instanceIdShape.test(id));
  if (ids.length === 0) return { kind: 'ignored', reason: 'malformed' };
  return {
    kind: 'interruptions',
    interruptions: ids.map((instanceId) => ({
      kind: found.kind,
      instanceId,
      at: Number.isNaN(at) ? now : Math.min(at, now),
      messageId: `${eventId}/${instanceId}`,
    })),
  };
}

const isElsewhere = (told: unknown, own: string | undefined): boolean =>
  told !== undefined && own !== undefined && told !== own;

function instancesOf(
  kinds: string,
  detail: Readonly<Record<string, unknown>>,
): { readonly kind: InterruptionKind; readonly instanceIds: readonly string[] } | undefined {
  const one = [text(detail['instance-id'])];
  switch (kinds) {
    case 'aws.ec2 / EC2 Spot Instance Interruption Warning':
      return { kind: 'spot_interrupted', instanceIds: one };
    case 'aws.ec2 / EC2 Instance Rebalance Recommendation':
      return { kind: 'rebalance_recommendation', instanceIds: one };
    case 'aws.ec2 / EC2 Capacity Reservation Instance Interruption Warning':
      return { kind: 'capacity_reservation_interrupted', instanceIds: one };
    case 'aws.ec2 / EC2 Instance State-change Notification': {
      const kind = lookUp(stateKinds, text(detail.state));
      return kind === undefined ? undefined : { kind, instanceIds: one };
    }
    case 'aws.health / AWS Health Event':
      if (detail.service !== 'EC2' || detail.eventTypeCategory !== 'scheduledChange') return undefined;
      return { kind: 'scheduled_change', instanceIds: affectedEntities(detail.affectedEntities) };
    default:
      return undefined;
  }
}

const stateKinds: Readonly<Record<string, InterruptionKind>> = {
  stopping: 'instance_stopped',
  stopped: 'instance_stopped',
  'shutting-down': 'instance_terminated',
  terminated: 'instance_terminated',
};

function affectedEntities(entities: unknown): string[] {
  if (!Array.isArray(entities)) return [];
  return entities.map((entity: unknown) => {
    const value = entity !== null && typeof entity === 'object' && 'entityValue' in entity ? entity.entityValue : '';
    return text(value);
  });
}

function parseJson(body: string | undefined): EventBridgeEvent | undefined {
  try {
    const value: unknown = JSON.parse(body ?? '');
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
