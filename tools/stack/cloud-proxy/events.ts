import { randomUUID } from 'node:crypto';
import type { MessageQueue } from './message-queue.js';
import { partitionOf } from './partition.js';

export const accountId = '123456789012';

/** Puts EventBridge's messages on the cluster's queue, in the envelope that a rule with an SQS target delivers. */
export class EventBus {
  constructor(
    private readonly queue: () => MessageQueue | undefined,
    private readonly region: string,
    private readonly now: () => number,
  ) {}

  /** Sends an event; silently nothing while there is no queue. */
  emit(event: {
    source: string;
    detailType: string;
    detail: Record<string, unknown>;
    resources?: string[];
    /** Milliseconds of the epoch; default now. */
    time?: number;
  }): void {
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
    this.send(JSON.stringify(body));
  }

  /** Sends any text, well-formed or not. */
  send(body: string): void {
    this.queue()?.send(body);
  }

  stateChanged(instanceId: string, state: string): void {
    this.emit({
      source: 'aws.ec2',
      detailType: 'EC2 Instance State-change Notification',
      resources: [this.#arn(instanceId)],
      detail: { 'instance-id': instanceId, state },
    });
  }

  spotInterruption(instanceId: string): void {
    this.emit({
      source: 'aws.ec2',
      detailType: 'EC2 Spot Instance Interruption Warning',
      resources: [this.#arn(instanceId)],
      detail: { 'instance-id': instanceId, 'instance-action': 'terminate' },
    });
  }

  rebalance(instanceId: string): void {
    this.emit({
      source: 'aws.ec2',
      detailType: 'EC2 Instance Rebalance Recommendation',
      resources: [this.#arn(instanceId)],
      detail: { 'instance-id': instanceId },
    });
  }

  capacityReservationInterruption(instanceId: string, reservationId: string): void {
    this.emit({
      source: 'aws.ec2',
      detailType: 'EC2 Capacity Reservation Instance Interruption Warning',
      resources: [this.#arn(instanceId)],
      detail: { 'instance-id': instanceId, 'instance-action': 'terminate', 'capacity-reservation-id': reservationId },
    });
  }

  #arn(instanceId: string): string {
    return `arn:${partitionOf(this.region).name}:ec2:${this.region}:${accountId}:instance/${instanceId}`;
  }
}
