import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CloudProvider } from '../../cloud/port.js';
import { isTrue } from '../../core/conditions.js';
import { smallRegion } from '../builders/small-region.js';
import { CloudProxyControl } from '../../tools/stack/cloud-proxy/control.js';
import { startStack, type Stack } from '../../tools/stack/stack.js';
import { awsProvider, briefLags, claim, need, nodeClass, pool, requestFor, resolved, settled } from './aws-subject.js';

const m5 = need('node.kubernetes.io/instance-type', 'm5.large');

/** Regions of every partition, each in a network whose only way out is an HTTP proxy, which knows AWS' endpoints there and no others. */
describe.each([
  { region: 'us-west-2', partition: 'aws', prices: 'api', pricingHost: 'api.pricing.us-east-1.amazonaws.com' },
  { region: 'us-gov-west-1', partition: 'aws-us-gov', prices: 'built-in', pricingHost: undefined },
  {
    region: 'cn-north-1',
    partition: 'aws-cn',
    prices: 'api',
    pricingHost: 'api.pricing.cn-northwest-1.amazonaws.com.cn',
  },
])('$region, with all calls through the HTTP proxy', ({ region, partition, prices, pricingHost }) => {
  let folder: string;
  let stack: Stack;
  let cloud: CloudProxyControl;
  let provider: CloudProvider;
  let problems: string[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), `stowage-${region}-`));
    stack = await startStack({
      folder,
      name: region,
      region,
      parts: ['cloud'],
      proxy: true,
      moto: process.env.STOWAGE_TEST_MOTO,
      instanceFamilies: smallRegion,
    });
    cloud = new CloudProxyControl(stack.awsEndpoint!);
    await cloud.configure(briefLags);
    ({ provider, problems } = awsProvider(stack, {
      endpoint: undefined,
      httpsProxy: stack.environment['HTTPS_PROXY'],
      trustedCa: readFileSync(stack.environment['AWS_CA_BUNDLE']!, 'utf8'),
      clusterEndpoint: undefined,
      caBundle: 'Q0E=',
      interruptionQueue: stack.cluster,
    }));
  });
  afterAll(async () => {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a node class, a priced launch, the queue and the clean-up succeed under the policy of the partition', async () => {
    expect(stack.environment['AWS_ENDPOINT_URL']).toBeUndefined();
    const ready = await resolved(provider, nodeClass(stack, {}, 'partition'));
    expect(ready.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    const type = (await provider.instanceTypes(pool, ready)).find(({ name }) => name === 'm5.large')!;
    expect(type.offerings.some(({ available, price }) => available && price > 0)).toBe(true);
    expect(provider.priceList?.source).toBe(prices);
    const result = await provider.launch(requestFor(claim([m5]), ready));
    if (!result.ok) throw new Error(result.error.message);
    const { providerId, zone } = result.value;
    expect(zone.startsWith(region)).toBe(true);
    const shown = await settled(
      () => provider.get(providerId),
      (found) => found !== undefined,
    );
    expect(shown?.instanceType).toBe('m5.large');
    expect((await provider.account!.queue!.look()).waiting).toBeGreaterThanOrEqual(0);
    expect(await settled(() => provider.terminate(providerId))).toBe('terminating');
    await provider.cleanUpNodeClass(ready);
    expect((await cloud.permissions()).denials).toEqual([]);
    expect(Object.keys((await cloud.permissions()).used)).toContain(
      `arn:${partition}:sts::123456789012:assumed-role/StowageController/session`,
    );
  });

  test('only endpoints of the partition are called', async () => {
    const suffix = partition === 'aws-cn' ? '.amazonaws.com.cn' : '.amazonaws.com';
    const iam = { aws: 'iam', 'aws-us-gov': 'iam.us-gov', 'aws-cn': 'iam.cn-north-1' }[partition]!;
    const own = ['ec2', 'eks', 'sqs', 'ssm'].map((service) => `${service}.${region}${suffix}`);
    const hosts = [...own, `${iam}${suffix}`, ...(pricingHost === undefined ? [] : [pricingHost])];
    expect(Object.keys(await cloud.tunnels()).sort()).toEqual(hosts.sort());
    expect(problems.filter((problem) => problem.includes('tunnel'))).toEqual([]);
  });

  test('without the proxy no call gets through', async () => {
    const { provider: direct } = awsProvider(stack);
    await expect(direct.account!.authenticate()).rejects.toMatchObject({ type: 'Unavailable' });
  });
});

// Rules `node-classes/instance-profiles`, `instance-types/built-in-prices`.
describe('an isolated VPC, without endpoints for IAM and Pricing', () => {
  let folder: string;
  let stack: Stack;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'stowage-isolated-'));
    stack = await startStack({
      ...{ folder, name: 'isolated', parts: ['cloud'], moto: process.env.STOWAGE_TEST_MOTO },
      instanceFamilies: smallRegion,
    });
  });
  afterAll(async () => {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('with a given instance profile a node class is Ready and launches at list prices; IAM and Pricing are not called', async () => {
    const cloud = new CloudProxyControl(stack.awsEndpoint!);
    await cloud.configure(briefLags);
    const outside = awsProvider(stack);
    const { status } = await resolved(outside.provider, nodeClass(stack, {}, 'made-outside'));
    const instanceProfile = status?.instanceProfile;
    await cloud.configure({ isolatedVpc: true });
    await cloud.clearRequests();
    const { provider } = awsProvider(stack, { isolatedVpc: true });
    const given = nodeClass(stack, { role: undefined, instanceProfile }, 'isolated');
    const ready = await resolved(provider, given);
    expect(isTrue(ready.status?.conditions, 'Ready')).toBe(true);
    const result = await provider.launch(requestFor(claim([m5]), ready));
    expect(result.ok).toBe(true);
    expect(provider.priceList?.source).toBe('estimate');
    await provider.cleanUpNodeClass(ready);
    expect(await cloud.requests({ service: 'iam' })).toEqual([]);
    expect(await cloud.requests({ service: 'pricing' })).toEqual([]);
  });
});
