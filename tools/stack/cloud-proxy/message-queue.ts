import { createHash, randomUUID } from 'node:crypto';
import { AwsError } from './aws-error.js';

export interface ReceivedMessage {
  MessageId: string;
  ReceiptHandle: string;
  Body: string;
  MD5OfBody: string;
  Attributes: Record<string, string>;
}

interface Message {
  id: string;
  body: string;
  md5: string;
  sentAt: number;
  firstReceivedAt?: number;
  receives: number;
  /** The latest receipt handle. */
  receipt?: string;
}

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

/**
 * A standard SQS queue in memory: at-least-once delivery, visibility timeouts, long polling. moto has one, but each
 * of its deletions walks the whole queue, so that 15,000 messages take it many minutes.
 */
export class MessageQueue {
  readonly #visible = new Map<string, Message>();
  readonly #inFlight = new Map<string, { message: Message; timer: NodeJS.Timeout }>();
  /** Receipt handles of messages that still exist, by handle. */
  readonly #receipts = new Map<string, Message>();
  readonly #waiters = new Set<() => void>();

  constructor(
    readonly name: string,
    private readonly now: () => number,
    public visibilityMs = 30_000,
  ) {}

  get visible(): number {
    return this.#visible.size;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  send(body: string): { MessageId: string; MD5OfMessageBody: string } {
    const message: Message = { id: randomUUID(), body, md5: md5(body), sentAt: this.now(), receives: 0 };
    this.#show(message);
    return { MessageId: message.id, MD5OfMessageBody: message.md5 };
  }

  #show(message: Message): void {
    this.#visible.set(message.id, message);
    const [waiter] = this.#waiters;
    waiter?.();
  }

  /** Up to `count` messages; waits for the first one up to `waitMs`. */
  async receive(count: number, waitMs: number, visibilityMs: number, signal: AbortSignal): Promise<ReceivedMessage[]> {
    if (this.#visible.size === 0 && waitMs > 0 && !signal.aborted) await this.#arrival(waitMs, signal);
    if (signal.aborted) return [];
    const received: ReceivedMessage[] = [];
    for (const message of this.#visible.values()) {
      if (received.length === count) break;
      received.push(this.#hand(message, visibilityMs));
    }
    return received;
  }

  #arrival(waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      signal.addEventListener('abort', done);
      this.#waiters.add(done);
    });
  }

  #hand(message: Message, visibilityMs: number): ReceivedMessage {
    const receipt = randomUUID();
    this.#visible.delete(message.id);
    message.receives++;
    message.receipt = receipt;
    message.firstReceivedAt ??= this.now();
    this.#receipts.set(receipt, message);
    this.#hide(message, visibilityMs);
    return {
      MessageId: message.id,
      ReceiptHandle: receipt,
      Body: message.body,
      MD5OfBody: message.md5,
      Attributes: {
        SentTimestamp: String(message.sentAt),
        ApproximateReceiveCount: String(message.receives),
        ApproximateFirstReceiveTimestamp: String(message.firstReceivedAt),
        SenderId: 'AIDALOCAL',
      },
    };
  }

  #hide(message: Message, visibilityMs: number): void {
    clearTimeout(this.#inFlight.get(message.id)?.timer);
    const timer = setTimeout(() => {
      this.#inFlight.delete(message.id);
      this.#show(message);
    }, visibilityMs);
    this.#inFlight.set(message.id, { message, timer });
  }

  /** Deletes by any receipt handle of the message; one of a message that is gone is no error, an unknown one is. */
  delete(receipt: string): void {
    const message = this.#require(receipt);
    if (message === undefined) return;
    clearTimeout(this.#inFlight.get(message.id)?.timer);
    this.#inFlight.delete(message.id);
    this.#visible.delete(message.id);
    this.#receipts.delete(receipt);
  }

  changeVisibility(receipt: string, visibilityMs: number): void {
    const message = this.#require(receipt);
    if (message?.receipt !== receipt || !this.#inFlight.has(message.id)) {
      throw new AwsError('MessageNotInflight', 'The specified message is not in flight.');
    }
    if (visibilityMs > 0) {
      this.#hide(message, visibilityMs);
      return;
    }
    clearTimeout(this.#inFlight.get(message.id)?.timer);
    this.#inFlight.delete(message.id);
    this.#show(message);
  }

  #require(receipt: string): Message | undefined {
    const wellFormed = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/.test(receipt);
    if (!wellFormed) throw new AwsError('ReceiptHandleIsInvalid', `The input receipt handle "${receipt}" is invalid.`);
    return this.#receipts.get(receipt);
  }

  purge(): void {
    for (const { timer } of this.#inFlight.values()) clearTimeout(timer);
    this.#inFlight.clear();
    this.#visible.clear();
    this.#receipts.clear();
  }
}
