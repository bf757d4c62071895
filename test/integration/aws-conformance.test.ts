import { DescribeLaunchTemplatesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { clusterOf, type Cluster } from '../../tools/aws-conformance/cluster.js';
import { Recorder } from '../../tools/aws-conformance/recorder.js';
import { runSuite, type StepResult } from '../../tools/aws-conformance/suite.js';
import { classNames, poolName, type Target } from '../../tools/aws-conformance/target.js';
import { labels } from '../../api/labels.js';
import type { Node } from '../../api/kubernetes.js';
import { recordedNames, type Recording } from '../../tools/stack/cloud-proxy/recording.js';
import { nodeRole } from '../../tools/stack/node-class.js';
import { awsProvider, briefLags, useCloud } from './aws-subject.js';

const { stack, cloud } = useCloud('joiner');
const reservation = 'cr-0aaaaaaaaaaaaaaaa';

const targetOf = (more: Partial<Target> = {}): Target => ({
  region: stack().region,
  cluster: stack().cluster,
  identity: { role: nodeRole(stack().cluster) },
  discovery: stack().cluster,
  reservation,
  terminations: 30,
  maxDollars: 5,
  maxMinutes: 240,
  run: `r${process.pid}`,
  pollMs: 250,
  unseenMs: 3500,
  ...more,
});

async function script(): Promise<void> {
  await cloud().reset();
  await cloud().configure({
    ...briefLags,
    capacityReservations: [
      { id: reservation, instanceType: 'm5.large', zone: `${stack().region}a`, total: 2, available: 2 },
    ],
  });
}

/** The suite against the stack; `more` are further settings of the provider. */
async function run(target: Target, cluster: Cluster, recorder = new Recorder()): Promise<StepResult[]> {
  const { provider } = awsProvider(stack(), {
    clusterName: target.cluster,
    clusterEndpoint: undefined,
    caBundle: undefined,
    onExchange: recorder.hear,
  });
  const endpoint = stack().awsEndpoint!;
  return runSuite({ target, provider, cluster, endpoint, onStep: (step) => (recorder.step = step) });
}

const outcomes = (results: readonly StepResult[]): Record<string, string> =>
  Object.fromEntries(results.map(({ step, outcome, note }) => [step, outcome === 'passed' ? outcome : note]));

const everyStep = ['policy', 'node-class', 'al2023', 'bottlerocket', 'token-replay', 'spot', 'reservation', 'efa'];
const passed = (...steps: string[]): Record<string, string> =>
  Object.fromEntries(steps.map((step) => [step, 'passed']));

/** Names of the launch templates that there are for node classes of the suite. */
async function templatesLeft(): Promise<string[]> {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const ec2 = new EC2Client({ region: stack().region, endpoint: stack().awsEndpoint!, credentials });
  const own = { Name: `tag:${labels.ec2NodeClass}`, Values: classNames.map((name) => `${poolName}-${name}`) };
  const { LaunchTemplates = [] } = await ec2.send(new DescribeLaunchTemplatesCommand({ Filters: [own] }));
  ec2.destroy();
  return LaunchTemplates.map(({ LaunchTemplateName: name = '' }) => name);
}

describe('the suite for a real AWS account, run against the local cloud', () => {
  let recording: Recording;
  let results: StepResult[];

  // The machines join by the kubelets that the stack simulates.
  beforeAll(async () => {
    await script();
    const cluster = clusterOf(stack().adminKubeconfig!, 250);
    const recorder = new Recorder();
    const target = targetOf();
    results = await run(target, cluster, recorder);
    cluster.close();
    const names = { cluster: target.cluster, identity: nodeRole(target.cluster), run: target.run };
    recording = recorder.recording(target.region, new Date(), names);
  });

  test('passes every step that the account can run, and leaves no resource', async () => {
    expect(outcomes(results)).toEqual({
      ...passed(...everyStep, 'terminations', 'clean-up'),
      ipv6: 'the cluster is one of IPv4',
    });
    const left = (await cloud().instances()).filter(
      ({ state, tags }) => state !== 'terminated' && tags['karpenter.sh/nodepool'] === 'aws-conformance',
    );
    expect(left).toEqual([]);
    const deleted = await cloud().requests({ action: 'DeleteLaunchTemplate' });
    expect(deleted.length).toBeGreaterThan(0);
    expect(deleted.filter(({ status }) => status !== 200)).toEqual([]);
    expect(await templatesLeft()).toEqual([]);
    expect(results.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThan(5);
  });

  test('is denied no call that the IAM policy should allow', async () => {
    const { denials } = await cloud().permissions();
    expect(denials.map(({ action }) => action).sort()).toEqual([
      'ec2:CreateTags',
      'ec2:DescribeKeyPairs',
      'ec2:RunInstances',
    ]);
  });

  test('records nothing that identifies the account', () => {
    const text = JSON.stringify(recording);
    expect(recording.calls.length).toBeGreaterThan(50);
    for (const secret of [stack().cluster, nodeRole(stack().cluster), `r${process.pid}`, reservation])
      expect(text).not.toContain(secret);
    expect(text).not.toMatch(/BEGIN CERTIFICATE|LS0tLS1/);
  });

  test('its recording, played by the local cloud, passes the same steps', async () => {
    await cloud().replay(recording);
    await cloud().clearRequests();
    const before = (await cloud().instances()).length;
    const target = targetOf({
      cluster: recordedNames.cluster,
      discovery: recordedNames.cluster,
      identity: { role: recordedNames.role },
      run: recordedNames.run,
      reservation: reservationIn(recording),
      // What is asked of key pairs and the like is asked by no provider.
      only: [...everyStep.slice(1), 'terminations'],
    });
    const replayed = await run(target, everythingJoins());
    expect(outcomes(replayed)).toEqual(passed(...everyStep.slice(1), 'terminations', 'clean-up'));
    expect((await cloud().instances()).length).toBe(before);
    await cloud().replay(undefined);
  });
});

test('in an IPv6 cluster the instance joins by its IPv6 address', async () => {
  await script();
  await cloud().configure({ ipFamily: 'ipv6' });
  const cluster = clusterOf(stack().adminKubeconfig!, 250);
  // The stack's API server itself is one of IPv4.
  const results = await run(targetOf({ only: ['ipv6'], run: `v${process.pid}` }), {
    ...cluster,
    isIpv6: () => Promise.resolve(true),
  });
  cluster.close();
  expect(outcomes(results)).toEqual(passed('ipv6', 'clean-up'));
});

test('a step that could exceed the cost or time limit is not begun', async () => {
  await script();
  const poor = await run(targetOf({ only: ['al2023'], maxDollars: 0.001 }), everythingJoins());
  expect(outcomes(poor)).toEqual({
    al2023: expect.stringMatching(/it could cost \$0\.\d+, and \$0\.00 are left/),
    'clean-up': 'passed',
  });
  const late = await run(targetOf({ only: ['al2023'], maxMinutes: 15 }), everythingJoins());
  expect(outcomes(late)).toEqual({ al2023: 'it could take 20 minutes, and 15 are left', 'clean-up': 'passed' });
  const fleets = await cloud().requests({ action: 'CreateFleet' });
  expect(fleets.filter(({ params }) => (params as { DryRun?: string }).DryRun !== 'true')).toEqual([]);
});

test('resources that an aborted run left are removed by the next run', async () => {
  await script();
  const dying = targetOf({ only: ['spot'], run: `d${process.pid}` });
  const { provider } = awsProvider(stack(), { clusterEndpoint: undefined, caBundle: undefined });
  const terminate = (): Promise<never> => Promise.reject(new Error('the process is gone'));
  const unable = Object.create(provider, { terminate: { value: terminate } }) as typeof provider;
  await runSuite({ target: dying, provider: unable, cluster: everythingJoins() });
  const alive = async (): Promise<number> =>
    (await cloud().instances()).filter(
      ({ state, tags }) =>
        (state === 'pending' || state === 'running') && tags['karpenter.sh/nodepool'] === 'aws-conformance',
    ).length;
  expect(await alive()).toBe(1);
  const [cleanUp] = await run(targetOf({ only: [] }), everythingJoins());
  expect(cleanUp).toMatchObject({ step: 'clean-up', outcome: 'passed', note: '1 machines were left, and ended' });
  expect(await alive()).toBe(0);
});

/** A cluster of which every machine is a Node: a recording of a cloud has none. */
function everythingJoins(): Cluster {
  return {
    isIpv6: () => Promise.resolve(false),
    version: () => Promise.resolve('v1.36.1'),
    otherAutoscaler: () => Promise.resolve(undefined),
    joined: (providerId) => Promise.resolve(nodeOf(providerId)),
    forget: () => Promise.resolve(),
    close: () => undefined,
  };
}

const nodeOf = (providerId: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: providerId, labels: { 'karpenter.sh/nodepool': 'aws-conformance' } },
  spec: { providerID: providerId },
});

/** The placeholder of the reservation's id. */
function reservationIn({ calls }: Recording): string {
  const { body = '' } = calls.find(({ action }) => action === 'DescribeCapacityReservations') ?? {};
  return /cr-[0-9a-f]{17}/.exec(body)![0];
}
