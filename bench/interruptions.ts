import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { QueueAttributeName } from '@aws-sdk/client-sqs';
import { Client, Connection } from '@temporalio/client';
import { createAwsProvider } from '../cloud/aws/provider.js';
import { Starter } from '../operator/starter.js';

/** Where the flood goes and where it ends up. */
export interface FloodTarget {
  readonly awsEndpoint: string;
  readonly region: string;
  readonly temporalAddress: string;
  /** A name of its own: workflow ids begin with it. */
  readonly cluster: string;
}

export interface FloodResult {
  readonly messages: number;
  /** Distinct instances named in messages that are notices. */
  readonly instances: number;
  /** `handleInterruption` workflows that Temporal has afterwards. */
  readonly workflows: number;
  /** Messages that were deleted because they say nothing; one that came twice counts twice. */
  readonly ignored: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

const kinds = [
  ['EC2 Spot Instance Interruption Warning', { 'instance-action': 'terminate' }],
  ['EC2 Instance Rebalance Recommendation', {}],
  ['EC2 Instance State-change Notification', { state: 'stopping' }],
] as const;

/**
 * The bodies of a flood: of every ten messages one is malformed or of no known kind, two repeat an earlier one, and the
 * order is mixed. The same for the same count.
 */
export function floodBodies(count: number): {
  readonly bodies: readonly string[];
  readonly instances: number;
  readonly ignored: number;
} {
  const bodies: string[] = [];
  const instances = new Set<string>();
  let ignored = 0;
  for (let i = 0; i < count; i++) {
    if (i % 10 === 9) {
      ignored += 1;
      bodies.push(
        i % 20 === 9 ? `{"broken": ${i}` : JSON.stringify({ version: '0', source: 'aws.s3', 'detail-type': 'Other' }),
      );
      continue;
    }
    const serial = i % 10 >= 7 ? i - 5 : i;
    const id = `i-${String(serial).padStart(17, '0')}`;
    instances.add(id);
    const [type, detail] = kinds[serial % kinds.length]!;
    bodies.push(
      JSON.stringify({
        version: '0',
        id: `event-${serial}`,
        source: 'aws.ec2',
        'detail-type': type,
        time: '2026-11-21T10:00:00Z',
        detail: { 'instance-id': id, ...detail },
      }),
    );
  }
  // A fixed stride mixes the order.
  const mixed = bodies.map((_, i) => bodies[(i * 7919) % bodies.length]!);
  return { bodies: count % 7919 === 0 ? bodies : mixed, instances: instances.size, ignored };
}

/** Fills the queue, then takes everything in as the operator does: a message is deleted once Temporal has its workflow. */
export async function flood(target: FloodTarget, count: number): Promise<FloodResult> {
  const { bodies, instances, ignored: expected } = floodBodies(count);
  await fill(target, bodies);
  const connection = await Connection.connect({ address: target.temporalAddress });
  try {
    const client = new Client({ connection });
    const starter = new Starter(client, target.cluster, { idleMs: 1000, maxMs: 10_000 });
    const provider = createAwsProvider({
      region: target.region,
      clusterName: target.cluster,
      endpoint: target.awsEndpoint,
      interruptionQueue: queueOf(target),
    });
    const stop = new AbortController();
    const taken = new Set<string>();
    let ignored = 0;
    let closing = false;
    const done = (): void => {
      // Repeated ones are not handed on: the queue tells when the last of them is gone.
      if (closing || taken.size < instances || ignored < expected) return;
      closing = true;
      void emptied(target).finally(() => stop.abort());
    };
    const started = performance.now();
    const cpu = process.cpuUsage();
    await provider.interruptions!.run(
      async (notice) => {
        await starter.interruption(notice);
        taken.add(notice.instanceId);
        done();
      },
      stop.signal,
      () => {
        ignored += 1;
        done();
      },
    );
    const seconds = (performance.now() - started) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    const workflows = await counted(client, target.cluster, instances);
    return { messages: count, instances, workflows, ignored, seconds, cpuSeconds: (user + system) / 1e6 };
  } finally {
    await connection.close();
  }
}

/** A queue of the flood's own: nobody else's notices come in between. */
const queueOf = ({ cluster }: FloodTarget): string => `${cluster}-interruptions`;

/** Resolves once nothing is left on the queue, shown or not. */
async function emptied(target: FloodTarget): Promise<void> {
  const sqs = clientOf(target);
  try {
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: queueOf(target) }));
    const AttributeNames: QueueAttributeName[] = [
      'ApproximateNumberOfMessages',
      'ApproximateNumberOfMessagesNotVisible',
    ];
    for (;;) {
      const { Attributes = {} } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }));
      if (AttributeNames.every((name) => Number(Attributes[name] ?? 0) === 0)) return;
    }
  } finally {
    sqs.destroy();
  }
}

function clientOf({ region, awsEndpoint }: FloodTarget): SQSClient {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  return new SQSClient({ region, endpoint: awsEndpoint, credentials });
}

async function fill(target: FloodTarget, bodies: readonly string[]): Promise<void> {
  const sqs = clientOf(target);
  try {
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: queueOf(target) }));
    for (let from = 0; from < bodies.length; from += 10) {
      const Entries = bodies.slice(from, from + 10).map((MessageBody, i) => ({ Id: String(i), MessageBody }));
      await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
    }
  } finally {
    sqs.destroy();
  }
}

/** Visibility lags behind: asks until it has as many as there should be, or gives up and says what there is. */
async function counted(client: Client, cluster: string, expected: number): Promise<number> {
  const query = `WorkflowType = 'handleInterruption' AND TaskQueue = '${cluster}/control'`;
  const end = Date.now() + 60_000;
  for (;;) {
    const { count } = await client.workflow.count(query);
    if (count >= expected || Date.now() > end) return count;
  }
}
