import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { QueueAttributeName } from '@aws-sdk/client-sqs';
import { Client, Connection } from '@temporalio/client';
import { silentLog, silentMetrics } from '../../test/simulation/silent.js';
import { createAwsProvider } from '../../cloud/aws/provider.js';
import { nodeClaims } from '../../api/karpenter/node-claim.js';
import { interruptionHandler } from '../../operator/interruptions.js';
import { createFakeKube } from '../../test/simulation/kube/fake.js';
import { Starter } from '../../operator/starter.js';
import type { Mix } from '../../test/cases/interruption-mixes.js';
import { floodOf } from '../../test/cases/interruption-mixes.js';
import { registerSearchAttributes } from '../../process/search-attributes.js';
import { taskQueues } from '../../workflows/messages.js';

/** Where the flood goes and where it ends up. */
export interface FloodTarget {
  readonly awsEndpoint: string;
  readonly region: string;
  readonly temporalAddress: string;
  /** A unique name: workflow ids begin with it. */
  readonly cluster: string;
}

export interface FloodResult {
  readonly messages: number;
  /** Instances of the cluster that a notice names. */
  readonly instances: number;
  /** `handleInterruption` workflows that Temporal has afterwards. */
  readonly workflows: number;
  /** Messages that were deleted because they say nothing; one that came twice counts twice. */
  readonly ignored: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** Fills the queue, then takes everything in as the operator does: a message is deleted once Temporal has its workflow. */
export async function flood(target: FloodTarget, count: number, mix: Mix): Promise<FloodResult> {
  const { bodies, own, noticed: instances, ignored: expected } = floodOf(count, mix);
  await fill(target, bodies);
  const connection = await Connection.connect({ address: target.temporalAddress });
  try {
    const client = new Client({ connection });
    await registerSearchAttributes(connection, client.options.namespace);
    const starter = new Starter(client, target.cluster);
    const handle = interruptionHandler({
      ...{ cache: cacheOf(own), kube: createFakeKube(), starter },
      ...{ metrics: silentMetrics, log: silentLog, now: Date.now },
    });
    const started = performance.now();
    const cpu = process.cpuUsage();
    const ignored = await readQueue(target, handle, { own, instances, expected });
    const seconds = (performance.now() - started) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    const workflows = await counted(client, target.cluster, instances);
    return { messages: count, instances, workflows, ignored, seconds, cpuSeconds: (user + system) / 1e6 };
  } finally {
    await connection.close();
  }
}

/** The claims of these instances, as the operator's cache has them. */
function cacheOf(instanceIds: readonly string[]): Parameters<typeof interruptionHandler>[0]['cache'] {
  const claims = instanceIds.map((id) =>
    nodeClaims.mustParse({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: `default-${id}` },
      spec: { requirements: [], nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
      status: { providerID: `aws:///us-west-2a/${id}` },
    }),
  );
  return {
    synced: true,
    connected: true,
    isFresh: () => Promise.resolve(true),
    all: () => claims,
    // None has a node that could be noted on.
    nodeByProviderId: () => undefined,
    get: () => undefined,
  };
}

/** A queue that only the flood writes to. */
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
  const query = `WorkflowType = 'handleInterruption' AND TaskQueue = '${taskQueues(cluster).urgent}'`;
  const end = Date.now() + 60_000;
  for (;;) {
    const { count } = await client.workflow.count(query);
    if (count >= expected || Date.now() > end) return count;
  }
}

/** Reads the queue until every instance was handled and the queue is empty; returns how many messages were ignored. */
async function readQueue(
  target: FloodTarget,
  handle: ReturnType<typeof interruptionHandler>,
  {
    own,
    instances,
    expected,
  }: { readonly own: readonly string[]; readonly instances: number; readonly expected: number },
): Promise<number> {
  const provider = createAwsProvider({
    region: target.region,
    clusterName: target.cluster,
    endpoint: target.awsEndpoint,
    interruptionQueue: queueOf(target),
  });
  const stop = new AbortController();
  const mine = new Set(own);
  const taken = new Set<string>();
  let ignored = 0;
  let closing = false;
  const done = (): void => {
    // Repeated ones are not handed on: the queue shows when the last of them is gone.
    if (closing || taken.size < instances || ignored < expected) return;
    closing = true;
    void emptied(target).finally(() => stop.abort());
  };
  await provider.interruptions.run(
    async (notice) => {
      await handle(notice);
      if (mine.has(notice.instanceId)) taken.add(notice.instanceId);
      done();
    },
    stop.signal,
    () => {
      ignored += 1;
      done();
    },
  );
  return ignored;
}
