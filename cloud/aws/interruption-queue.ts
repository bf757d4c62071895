import type { Message } from '@aws-sdk/client-sqs';
import { backOffMs } from '../../core/back-off.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import { Cached } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { messageOf } from '../../core/error-message.js';
import { lookUp } from '../../core/own.js';
import type { InterruptionNotice, InterruptionKind } from '../../core/interruption-kinds.js';

/** The content of a queue message, or why it is ignored. */
type ParsedMessage =
  | { readonly kind: 'interruptions'; readonly interruptions: readonly InterruptionNotice[] }
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
interface Origin {
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

const isElsewhere = (found: unknown, own: string | undefined): boolean =>
  found !== undefined && own !== undefined && found !== own;

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

/** Messages with the URL of the queue that they came from. */
interface Received {
  readonly url: string;
  readonly messages: readonly Message[];
}

interface QueueOptions {
  readonly calls: Pick<AwsCalls, 'getQueueUrl' | 'receiveMessages' | 'deleteMessages'>;
  readonly queueName: string;
  readonly region: string;
  readonly clock: Clock;
  readonly onProblem?: ((message: string) => void) | undefined;
}

const longPollSeconds = 20;
const visibilitySeconds = 20;
const batchSize = 10;
const backOff = { firstMs: 1_000, longestMs: 60_000 };
/**
 * Each poller handles ten notices at a time: this bounds the number of concurrent requests to Temporal, which is slow
 * when thousands arrive.
 */
const mostPollers = 100;
/** EventBridge and SQS deliver at least once: recently handled notices are skipped. */
const rememberedNotices = 20_000;

/**
 * Receives from the interruption queue (interruption/reading-the-queue): one long poll while it is quiet, up to a
 * hundred pollers while responses are full. A message is deleted once every notice in it was handled; one whose
 * handling failed is delivered again.
 */
export class InterruptionQueue {
  private readonly url: Cached<string>;
  private pollers = 0;
  private readonly handled = new Set<string>();

  constructor(private readonly options: QueueOptions) {
    this.url = new Cached(
      options.clock,
      async () => urlIn(await options.calls.getQueueUrl(options.queueName)),
      3_600_000,
      24 * 3_600_000,
    );
  }

  /** Runs until `signal` aborts; an unreachable queue is retried with growing pauses. */
  run(
    handle: (interruption: InterruptionNotice) => Promise<void>,
    signal: AbortSignal,
    onIgnored: (reason: string) => void = () => undefined,
  ): Promise<void> {
    const all: Promise<void>[] = [];
    const start = (): void => {
      this.pollers += 1;
      // A separate signal, since every call of a poller adds a listener to it.
      all.push(
        this.poll(handle, AbortSignal.any([signal]), onIgnored, () => {
          if (this.pollers < mostPollers && !signal.aborted) start();
        }),
      );
    };
    start();
    const settled = async (): Promise<void> => {
      for (let seen = 0; seen < all.length; seen++) await all[seen];
    };
    return settled();
  }

  private async poll(
    handle: (interruption: InterruptionNotice) => Promise<void>,
    signal: AbortSignal,
    onIgnored: (reason: string) => void,
    more: () => void,
  ): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const received = await this.receive(signal);
      if (received === undefined) {
        failures += 1;
        await this.options.clock.sleep(backOffMs(failures, backOff), signal);
        continue;
      }
      failures = 0;
      const { messages } = received;
      if (messages.length === batchSize) more();
      if (messages.length === 0 && this.pollers > 1) {
        // At once: of two that find the queue empty at the same time one stays.
        this.pollers -= 1;
        return;
      }
      await this.handleAll(received, handle, onIgnored);
    }
  }

  private async receive(signal: AbortSignal): Promise<Received | undefined> {
    try {
      const url = await this.url.get();
      const answer = await this.options.calls.receiveMessages(
        {
          QueueUrl: url,
          MaxNumberOfMessages: batchSize,
          VisibilityTimeout: visibilitySeconds,
          // Additional pollers poll once and end if the queue is empty.
          WaitTimeSeconds: this.pollers > 1 ? 0 : longPollSeconds,
        },
        signal,
      );
      return { url, messages: answer.Messages ?? [] };
    } catch (error) {
      if (signal.aborted) return { url: '', messages: [] };
      if (isDomainError(error, 'NotFound')) this.url.forget();
      this.options.onProblem?.(messageOf(error));
      return undefined;
    }
  }

  private async handleAll(
    { url, messages }: Received,
    handle: (interruption: InterruptionNotice) => Promise<void>,
    onIgnored: (reason: string) => void,
  ): Promise<void> {
    const done = await Promise.all(messages.map((message) => this.handleOne({ url, message }, handle, onIgnored)));
    const entries = messages
      .filter((_, index) => done[index] === true)
      .map((message, index) => ({ Id: String(index), ReceiptHandle: message.ReceiptHandle ?? '' }));
    if (entries.length === 0) return;
    try {
      await this.options.calls.deleteMessages({ QueueUrl: url, Entries: entries });
    } catch (error) {
      // Undeleted messages are delivered and handled again, which is harmless.
      this.options.onProblem?.(messageOf(error));
    }
  }

  private remember(key: string): void {
    this.handled.add(key);
    if (this.handled.size <= rememberedNotices) return;
    for (const oldest of this.handled) {
      this.handled.delete(oldest);
      return;
    }
  }

  private async handleOne(
    { url, message }: { readonly url: string; readonly message: Message },
    handle: (interruption: InterruptionNotice) => Promise<void>,
    onIgnored: (reason: string) => void,
  ): Promise<boolean> {
    const { region, clock } = this.options;
    const parsed = parseInterruption(message.Body, {
      sqsMessageId: message.MessageId ?? '',
      now: clock.now(),
      own: { account: accountIn(url), region },
    });
    if (parsed.kind === 'ignored') {
      onIgnored(parsed.reason);
      return true;
    }
    try {
      for (const interruption of parsed.interruptions) {
        const key = `${interruption.kind}/${interruption.messageId}`;
        if (this.handled.has(key)) continue;
        await handle(interruption);
        this.remember(key);
      }
      return true;
    } catch (error) {
      this.options.onProblem?.(`an interruption stays on the queue: ${messageOf(error)}`);
      return false;
    }
  }
}

function urlIn({ QueueUrl: url = '' }: { readonly QueueUrl?: string | undefined }): string {
  if (url === '') throw new DomainError('Unavailable', 'sqs:GetQueueUrl: SQS returned no URL of the queue');
  return url;
}

/** The account id in the URL of a queue: `https://sqs.us-west-2.amazonaws.com/123456789012/name`. */
const accountIn = (url: string): string | undefined => /\/(\d{12})\/[^/]+$/.exec(url)?.[1];
