import type { Message } from '@aws-sdk/client-sqs';
import { backOffMs } from '../../core/back-off.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import type { Interruption } from '../port.js';
import { Cached } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { parseInterruption } from './interruption-messages.js';
import { messageOf } from '../../core/error-message.js';

export interface QueueOptions {
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
/** Each has ten notices under way: so many are handed to Temporal at a time, whose answers take their time when thousands come. */
const mostPollers = 100;
/** EventBridge and SQS deliver at least once: what was handled lately is not handled again. */
const rememberedNotices = 20_000;

/**
 * Receives from the interruption queue (interruption/reading-the-queue): one long poll while it is quiet, up to a hundred while answers come
 * back full. A message is deleted once every notice in it was handled; one whose handling failed comes back by itself.
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

  /** Runs until `signal` aborts; an unreachable queue is tried again with growing pauses. */
  run(
    handle: (interruption: Interruption) => Promise<void>,
    signal: AbortSignal,
    onIgnored: (reason: string) => void = () => undefined,
  ): Promise<void> {
    const all: Promise<void>[] = [];
    const start = (): void => {
      this.pollers += 1;
      // A signal of its own: each call of a poller listens to it.
      all.push(
        this.poll(handle, AbortSignal.any([signal]), onIgnored, () => {
          if (this.pollers < mostPollers && !signal.aborted) start();
        }).finally(() => {
          this.pollers -= 1;
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
    handle: (interruption: Interruption) => Promise<void>,
    signal: AbortSignal,
    onIgnored: (reason: string) => void,
    more: () => void,
  ): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const messages = await this.receive(signal);
      if (messages === undefined) {
        failures += 1;
        await this.options.clock.sleep(backOffMs(failures, backOff), signal);
        continue;
      }
      failures = 0;
      if (messages.length === batchSize) more();
      if (messages.length === 0 && this.pollers > 1) return;
      await this.handleAll(messages, handle, onIgnored);
    }
  }

  private async receive(signal: AbortSignal): Promise<readonly Message[] | undefined> {
    try {
      const answer = await this.options.calls.receiveMessages(
        {
          QueueUrl: await this.url.get(),
          MaxNumberOfMessages: batchSize,
          VisibilityTimeout: visibilitySeconds,
          // Helpers beyond the first poller look once and leave when there is nothing.
          WaitTimeSeconds: this.pollers > 1 ? 0 : longPollSeconds,
        },
        signal,
      );
      return answer.Messages ?? [];
    } catch (error) {
      if (signal.aborted) return [];
      if (isDomainError(error, 'NotFound')) this.url.forget();
      this.options.onProblem?.(messageOf(error));
      return undefined;
    }
  }

  private async handleAll(
    messages: readonly Message[],
    handle: (interruption: Interruption) => Promise<void>,
    onIgnored: (reason: string) => void,
  ): Promise<void> {
    const done = await Promise.all(messages.map((message) => this.handleOne(message, handle, onIgnored)));
    const entries = messages
      .filter((_, index) => done[index] === true)
      .map((message, index) => ({ Id: String(index), ReceiptHandle: message.ReceiptHandle ?? '' }));
    if (entries.length === 0) return;
    try {
      await this.options.calls.deleteMessages({ QueueUrl: await this.url.get(), Entries: entries });
    } catch (error) {
      // They come back and are handled again, which is harmless.
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
    message: Message,
    handle: (interruption: Interruption) => Promise<void>,
    onIgnored: (reason: string) => void,
  ): Promise<boolean> {
    const { region, clock } = this.options;
    const parsed = parseInterruption(message.Body, {
      sqsMessageId: message.MessageId ?? '',
      now: clock.now(),
      own: { account: accountIn(await this.url.get()), region },
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
  if (url === '') throw new DomainError('Unavailable', 'sqs:GetQueueUrl: SQS names no URL of the queue');
  return url;
}

/** The account of a queue, by its URL: `https://sqs.us-west-2.amazonaws.com/123456789012/name`. */
const accountIn = (url: string): string | undefined => /\/(\d{12})\/[^/]+$/.exec(url)?.[1];
