import { AwsError } from './aws-error.js';
import { accountId } from './events.js';
import { MessageQueue } from './message-queue.js';
import { partitionOf } from './partition.js';

type Input = Readonly<Record<string, unknown>>;

interface SqsCall {
  input: Input;
  /** Host and port that the caller used: queue URLs carry it, and the SDK follows them. */
  /** With its scheme. */
  host: string;
  signal: AbortSignal;
}

interface Kept {
  queue: MessageQueue;
  attributes: Record<string, string>;
  createdAt: number;
}

interface Entry {
  Id: string;
  MessageBody?: string;
  ReceiptHandle?: string;
  VisibilityTimeout?: number;
}

/** SQS in memory: standard queues, JSON protocol. */
export class Sqs {
  readonly #queues = new Map<string, Kept>();

  constructor(
    private readonly region: string,
    private readonly now: () => number,
  ) {}

  queue(name: string): MessageQueue | undefined {
    return this.#queues.get(name)?.queue;
  }

  /** Answers an action of AmazonSQS. Throws AwsError. */
  async answer(action: string, call: SqsCall): Promise<object> {
    const { input, host } = call;
    switch (action) {
      case 'CreateQueue':
        return { QueueUrl: this.#url(host, this.#create(input)) };
      case 'GetQueueUrl':
        return { QueueUrl: this.#url(host, this.#existing(text(input, 'QueueName')).queue.name) };
      case 'ListQueues':
        return { QueueUrls: [...this.#queues.keys()].map((name) => this.#url(host, name)) };
      default:
        return this.#onQueue(action, call, this.#existing(text(input, 'QueueUrl').split('/').at(-1) ?? ''));
    }
  }

  async #onQueue(action: string, call: SqsCall, found: Kept): Promise<object> {
    const { input } = call;
    const { queue } = found;
    switch (action) {
      case 'SendMessage':
        return queue.send(text(input, 'MessageBody'));
      case 'SendMessageBatch':
        return batch(input, ({ MessageBody }) => queue.send(MessageBody ?? ''));
      case 'ReceiveMessage':
        return receive(queue, call);
      case 'DeleteMessage':
        queue.delete(text(input, 'ReceiptHandle'));
        return {};
      case 'DeleteMessageBatch':
        return batch(input, ({ ReceiptHandle }) => {
          queue.delete(ReceiptHandle ?? '');
          return undefined;
        });
      case 'ChangeMessageVisibility':
        queue.changeVisibility(text(input, 'ReceiptHandle'), Number(input['VisibilityTimeout'] ?? 0) * 1000);
        return {};
      case 'ChangeMessageVisibilityBatch':
        return batch(input, ({ ReceiptHandle, VisibilityTimeout = 0 }) => {
          queue.changeVisibility(ReceiptHandle ?? '', VisibilityTimeout * 1000);
          return undefined;
        });
      case 'PurgeQueue':
        queue.purge();
        return {};
      case 'DeleteQueue':
        queue.purge();
        this.#queues.delete(queue.name);
        return {};
      case 'GetQueueAttributes':
        return { Attributes: this.#attributes(found, input) };
      case 'SetQueueAttributes':
        this.#setAttributes(found, input);
        return {};
      default:
        throw new AwsError('UnsupportedOperation', `The local cloud does not implement sqs:${action}.`);
    }
  }

  #url(host: string, name: string): string {
    return `${host}/${accountId}/${name}`;
  }

  #create(input: Input): string {
    const name = text(input, 'QueueName');
    if (!this.#queues.has(name)) {
      const found = { queue: new MessageQueue(name, this.now), attributes: {}, createdAt: this.now() };
      this.#queues.set(name, found);
      this.#setAttributes(found, input);
    }
    return name;
  }

  #existing(name: string): Kept {
    const found = this.#queues.get(name);
    if (found !== undefined) return found;
    throw new AwsError('com.amazonaws.sqs#QueueDoesNotExist', 'The specified queue does not exist.');
  }

  #setAttributes(found: Kept, input: Input): void {
    Object.assign(found.attributes, input['Attributes'] ?? {});
    const visibility = found.attributes['VisibilityTimeout'];
    if (visibility !== undefined) found.queue.visibilityMs = Number(visibility) * 1000;
  }

  #attributes({ queue, attributes, createdAt }: Kept, input: Input): Record<string, string> {
    const all: Record<string, string> = {
      MessageRetentionPeriod: '345600',
      ...attributes,
      VisibilityTimeout: String(queue.visibilityMs / 1000),
      ApproximateNumberOfMessages: String(queue.visible),
      ApproximateNumberOfMessagesNotVisible: String(queue.inFlight),
      CreatedTimestamp: String(Math.floor(createdAt / 1000)),
      QueueArn: `arn:${partitionOf(this.region).name}:sqs:${this.region}:${accountId}:${queue.name}`,
    };
    const names = (input['AttributeNames'] as string[] | undefined) ?? [];
    if (names.includes('All')) return all;
    return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
  }
}

function text(input: Input, name: string): string {
  const value = input[name];
  if (typeof value === 'string') return value;
  throw new AwsError('MissingParameter', `The request must contain the parameter ${name}.`);
}

async function receive(queue: MessageQueue, { input, signal }: SqsCall): Promise<object> {
  const count = Number(input['MaxNumberOfMessages'] ?? 1);
  if (!Number.isInteger(count) || count < 1 || count > 10) {
    throw new AwsError('InvalidParameterValue', `Value ${count} for parameter MaxNumberOfMessages is invalid.`);
  }
  const visibility = input['VisibilityTimeout'];
  const visibilityMs = visibility === undefined ? queue.visibilityMs : Number(visibility) * 1000;
  const messages = await queue.receive(count, Number(input['WaitTimeSeconds'] ?? 0) * 1000, visibilityMs, signal);
  return messages.length === 0 ? {} : { Messages: messages };
}

/** A batch answers for each entry: one that fails does not fail the others. */
function batch(input: Input, each: (entry: Entry) => object | undefined): object {
  const Successful: object[] = [];
  const Failed: object[] = [];
  const entries = (input['Entries'] as Entry[] | undefined) ?? [];
  if (entries.length === 0)
    throw new AwsError('com.amazonaws.sqs#EmptyBatchRequest', 'There should be at least one entry.');
  if (entries.length > 10)
    throw new AwsError('com.amazonaws.sqs#TooManyEntriesInBatchRequest', 'Maximum number of entries is 10.');
  for (const entry of entries) {
    try {
      Successful.push({ Id: entry.Id, ...each(entry) });
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      Failed.push({ Id: entry.Id, Code: error.code, Message: error.message, SenderFault: true });
    }
  }
  return { Successful, ...(Failed.length > 0 && { Failed }) };
}
