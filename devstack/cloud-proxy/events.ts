import { randomUUID } from 'node:crypto';
import type { Moto } from './moto.js';

export const accountId = '123456789012';

/** Puts EventBridge's messages on the cluster's queue, in the envelope that a rule with an SQS target delivers. */
export class EventBus {
  #url: Promise<string> | undefined;

  constructor(
    private readonly moto: Moto,
    private readonly queue: string,
    private readonly region: string,
    private readonly now: () => number,
  ) {}

  /** Sends an event; silently nothing while there is no queue. */
  async emit(event: {
    source: string;
    detailType: string;
    detail: Record<string, unknown>;
    resources?: string[];
    /** Milliseconds of the epoch; default now. */
    time?: number;
  }): Promise<void> {
    const body = {
      version: '0',
      id: randomUUID(),
      'detail-type': event.detailType,
      source: event.source,
      account: accountId,
      time: new Date(event.time ?? this.now()).toISOString().replace(/\.\d+Z$/, 'Z'),
      region: this.region,
      resources: event.resources ?? [],
      detail: event.detail,
    };
    await this.send(JSON.stringify(body));
  }

  /** Sends any text, well-formed or not. */
  async send(body: string): Promise<void> {
    try {
      this.#url ??= this.moto
        .json<{ QueueUrl: string }>('sqs', 'AmazonSQS.GetQueueUrl', { QueueName: this.queue })
        .then(({ QueueUrl }) => QueueUrl);
      await this.moto.json('sqs', 'AmazonSQS.SendMessage', { QueueUrl: await this.#url, MessageBody: body });
    } catch {
      this.#url = undefined;
    }
  }

  stateChanged(instanceId: string, state: string): Promise<void> {
    return this.emit({
      source: 'aws.ec2',
      detailType: 'EC2 Instance State-change Notification',
      resources: [this.#arn(instanceId)],
      detail: { 'instance-id': instanceId, state },
    });
  }

  spotInterruption(instanceId: string): Promise<void> {
    return this.emit({
      source: 'aws.ec2',
      detailType: 'EC2 Spot Instance Interruption Warning',
      resources: [this.#arn(instanceId)],
      detail: { 'instance-id': instanceId, 'instance-action': 'terminate' },
    });
  }

  rebalance(instanceId: string): Promise<void> {
    return this.emit({
      source: 'aws.ec2',
      detailType: 'EC2 Instance Rebalance Recommendation',
      resources: [this.#arn(instanceId)],
      detail: { 'instance-id': instanceId },
    });
  }

  scheduledChange(instanceIds: readonly string[]): Promise<void> {
    return this.emit({
      source: 'aws.health',
      detailType: 'AWS Health Event',
      resources: instanceIds.map((id) => this.#arn(id)),
      detail: {
        eventArn: `arn:aws:health:${this.region}::event/EC2/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED/${randomUUID()}`,
        service: 'EC2',
        eventTypeCode: 'AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED',
        eventTypeCategory: 'scheduledChange',
        affectedEntities: instanceIds.map((entityValue) => ({ entityValue })),
      },
    });
  }

  capacityReservationInterruption(instanceId: string, reservationId: string): Promise<void> {
    return this.emit({
      source: 'aws.ec2',
      detailType: 'EC2 Capacity Reservation Instance Interruption Warning',
      resources: [this.#arn(instanceId)],
      detail: { 'instance-id': instanceId, 'instance-action': 'terminate', 'capacity-reservation-id': reservationId },
    });
  }

  #arn(instanceId: string): string {
    return `arn:aws:ec2:${this.region}:${accountId}:instance/${instanceId}`;
  }
}
