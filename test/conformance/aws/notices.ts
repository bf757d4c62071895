import type { DescribeInstanceStatusCommandInput, InstanceStatus } from '@aws-sdk/client-ec2';
import type { AwsCalls } from '../../../cloud/aws/calls.js';
import { systemClock } from '../../../cloud/aws/clock.js';
import { AwsProvider } from '../../../cloud/aws/provider.js';
import type { Clock } from '../../../cloud/aws/clock.js';
import { statusesFor } from '../../builders/instance-statuses.js';
import type { Running } from '../running/stage.js';

const ofEc2 = (kind: string, detail: object): string =>
  JSON.stringify({ version: '0', source: 'aws.ec2', 'detail-type': kind, detail });
const warning = (kind: string) => (instanceId: string) =>
  ofEc2(kind, { 'instance-id': instanceId, 'instance-action': 'terminate' });

/** Messages as EventBridge puts them onto the queue. */
export const messages = {
  spot: warning('EC2 Spot Instance Interruption Warning'),
  reservation: warning('EC2 Capacity Reservation Instance Interruption Warning'),
  state: (instanceId: string, state: string): string =>
    ofEc2('EC2 Instance State-change Notification', { 'instance-id': instanceId, state }),
  scheduled: (instanceId: string): string =>
    JSON.stringify({
      ...{ version: '0', source: 'aws.health', 'detail-type': 'AWS Health Event' },
      detail: {
        ...{ service: 'EC2', eventTypeCategory: 'scheduledChange' },
        affectedEntities: [{ entityValue: instanceId }],
      },
    }),
};

/** Status checks of an instance as EC2 describes them. */
export const failed = (InstanceId: string, of: { instance?: Date; system?: Date; event?: string }): InstanceStatus => {
  const check = (ImpairedSince: Date | undefined) =>
    ImpairedSince === undefined
      ? { Status: 'ok' as const }
      : {
          Status: 'impaired' as const,
          Details: [{ Name: 'reachability' as const, Status: 'failed' as const, ImpairedSince }],
        };
  return {
    ...{ InstanceId, InstanceStatus: check(of.instance), SystemStatus: check(of.system) },
    Events:
      of.event === undefined ? [] : [{ Code: of.event as 'instance-stop', InstanceEventId: `event-${InstanceId}` }],
  };
};

/** A queue and EC2's status checks, and what was made of them. */
export class Notices {
  readonly waiting: string[] = [];
  statuses: readonly InstanceStatus[] = [];
  deleted = 0;
  received = 0;
  /** Errors of the first calls that receive. */
  readonly errors: Error[] = [];
  readonly problems: string[] = [];

  /** The provider that reads them. */
  provider(clock: Clock = systemClock): AwsProvider {
    const calls = {
      getQueueUrl: () => Promise.resolve({ QueueUrl: 'https://queue' }),
      receiveMessages: (_input: unknown, signal: AbortSignal) => this.receive(clock, signal),
      deleteMessages: ({ Entries = [] }: { Entries?: readonly unknown[] }) => {
        this.deleted += Entries.length;
        return Promise.resolve({});
      },
      describeInstanceStatus: (input: DescribeInstanceStatusCommandInput) =>
        Promise.resolve({ InstanceStatuses: statusesFor(this.statuses, input) }),
    };
    const onProblem = (problem: string): void => void this.problems.push(problem);
    const options = { region: 'us-west-2', clusterName: 'test-cluster', interruptionQueue: 'queue', clock, onProblem };
    return new AwsProvider(options, calls as unknown as AwsCalls, clock);
  }

  /** The process that is about to run hears of them. */
  reach({ cloud }: Running): void {
    Object.defineProperty(cloud, 'interruptions', { value: this.provider().interruptions });
  }

  private async receive(clock: Clock, signal: AbortSignal): Promise<{ Messages: readonly object[] }> {
    this.received += 1;
    const error = this.errors.shift();
    if (error !== undefined) throw error;
    if (this.waiting.length === 0) await clock.sleep(20_000, signal);
    return {
      Messages: this.waiting.splice(0, 10).map((Body, i) => ({
        ...{ Body, MessageId: `message-${this.received}-${i}`, ReceiptHandle: `handle-${this.received}-${i}` },
      })),
    };
  }
}
