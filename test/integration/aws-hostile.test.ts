import {
  CreateSecurityGroupCommand,
  CreateVpcCommand,
  DescribeLaunchTemplatesCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { EC2NodeClass, EC2NodeClassStatus } from '../../api/aws/ec2-node-class.js';
import type { AwsOptions } from '../../cloud/aws/options.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { awsProvider, briefLags, claim, need, nodeClass, pool, requestFor, resolved, useCloud } from './aws-subject.js';

const { stack, cloud } = useCloud();
const m5 = need('node.kubernetes.io/instance-type', 'm5.large');
const onDemand = need('karpenter.sh/capacity-type', 'on-demand');

const client = (): EC2Client =>
  new EC2Client({
    region: stack().region,
    endpoint: stack().awsEndpoint!,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
const launchedFor = async (uid: string | undefined): Promise<number> =>
  (await cloud().instances()).filter(({ tags }) => tags['stowage.dev/nodeclaim-uid'] === uid).length;
const validation = ({ status }: EC2NodeClass) =>
  conditionOf((status as EC2NodeClassStatus).conditions, 'ValidationSucceeded');
const classOf = (spec: Partial<EC2NodeClass['spec']>, name: string, more: Partial<AwsOptions> = {}) => {
  const { provider } = awsProvider(stack(), more);
  return { provider, resolve: () => resolved(provider, nodeClass(stack(), spec, name)) };
};
const tagsOf = (count: number): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`équipe-${i}`, i === 0 ? '価格 = 1 + 2 @ "★" \'&<>' : 'x']),
  );

beforeEach(async () => {
  await cloud().reset();
  await cloud().configure(briefLags);
});
afterAll(() => cloud().reset());

describe('EC2NodeClass fields at their limits', () => {
  test("as many tags as EC2 accepts beside Stowage's own, in any script, are on the instance", async () => {
    const tags = tagsOf(44);
    const { provider, resolve } = classOf({ tags }, 'many-tags');
    const ready = await resolve();
    expect(isTrue(ready.status?.conditions, 'Ready')).toBe(true);
    const given = claim([m5]);
    expect(await provider.launch(requestFor(given, ready))).toMatchObject({ ok: true });
    const made = (await cloud().instances()).find(
      (each) => each.tags['stowage.dev/nodeclaim-uid'] === given.metadata.uid,
    );
    expect(made?.tags).toMatchObject(tags);
  });

  test.each([45, 50])('%i tags are too many, and the node class is not Ready with that reason', async (count) => {
    const { provider, resolve } = classOf({ tags: tagsOf(count) }, `too-many-tags-${count}`);
    const broken = await resolve();
    expect(validation(broken)).toMatchObject({
      ...{ status: 'False', reason: 'ValidationFailed' },
      message: expect.stringContaining('TagLimitExceeded'),
    });
    const given = claim([m5]);
    await expect(provider.launch(requestFor(given, broken))).resolves.toMatchObject({
      ok: false,
      error: { kind: 'NodeClassNotReady', message: expect.stringContaining('TagLimitExceeded') },
    });
    expect(await launchedFor(given.metadata.uid)).toBe(0);
  });

  test("user data longer than EC2's limit is reported with both sizes, and EC2 is not called", async () => {
    const { resolve } = classOf({ userData: `#!/bin/sh\n# ${'é'.repeat(8_190)}` }, 'much-user-data');
    expect(validation(await resolve())).toMatchObject({
      status: 'False',
      reason: 'UserDataSizeLimitExceeded',
      message: expect.stringMatching(/1\d{4} bytes of user data, EC2 takes 16384/),
    });
  });
});

describe('security groups of another VPC', () => {
  const elsewhere = async (): Promise<string> => {
    const ec2 = client();
    const { Vpc } = await ec2.send(new CreateVpcCommand({ CidrBlock: '10.77.0.0/16' }));
    const group = { GroupName: `elsewhere-${Date.now()}`, Description: 'elsewhere', VpcId: Vpc?.VpcId };
    const { GroupId = '' } = await ec2.send(new CreateSecurityGroupCommand(group));
    ec2.destroy();
    return GroupId;
  };

  test('keep the node class from Ready, with their names', async () => {
    const id = await elsewhere();
    const { resolve } = classOf({ securityGroupSelectorTerms: [{ id }] }, 'other-vpc');
    expect(validation(await resolve())).toMatchObject({
      ...{ status: 'False', reason: 'SecurityGroupSubnetVPCMismatch' },
      message: expect.stringContaining(id),
    });
  });

  test('fail a launch with a specific reason where node classes are not validated by dry runs, and launch nothing', async () => {
    const id = await elsewhere();
    const untried = classOf({ securityGroupSelectorTerms: [{ id }] }, 'other-vpc-untried', { disableDryRun: true });
    const given = claim([m5, onDemand]);
    const launch = untried.provider.launch(requestFor(given, await untried.resolve()));
    await expect(launch).rejects.toMatchObject({
      type: 'LaunchFailed',
      details: { reason: 'SecurityGroupSubnetVPCMismatch' },
      message: expect.stringContaining(id),
    });
    expect(await launchedFor(given.metadata.uid)).toBe(0);
  });
});

describe('a region with little capacity or few addresses', () => {
  test('no free address in any subnet: the launch is refused with that reason once, and succeeds when there are addresses', async () => {
    const { provider, resolve } = classOf({}, 'no-addresses');
    const ready = await resolve();
    const none = Object.fromEntries(ready.status!.subnets!.map(({ id }) => [id, 0]));
    await cloud().configure({ freeAddresses: none });
    const given = claim([m5, onDemand]);
    const refused = await provider.launch(requestFor(given, ready));
    expect(refused).toMatchObject({ ok: false, error: { kind: 'InsufficientCapacity' } });
    expect(JSON.stringify(refused)).toContain('InsufficientFreeAddressesInSubnet');
    await cloud().clearRequests();
    expect(await provider.launch(requestFor(claim([m5, onDemand]), ready))).toMatchObject({ ok: false });
    expect(await cloud().requests({ action: 'CreateFleet' })).toEqual([]);
    expect(await launchedFor(given.metadata.uid)).toBe(0);
  });

  test('capacity in one zone alone: one request finds it, without asking the others again', async () => {
    const { provider, resolve } = classOf({}, 'one-zone');
    const ready = await resolve();
    const [left, ...empty] = ready.status!.subnets!.map(({ zone }) => zone);
    await cloud().setPools(empty.map((zone) => ({ zone, code: 'InsufficientInstanceCapacity', capacity: 0 })));
    await cloud().clearRequests();
    const result = await provider.launch(requestFor(claim([onDemand]), ready));
    expect(result).toMatchObject({ ok: true, value: { zone: left } });
    expect(await cloud().requests({ action: 'CreateFleet' })).toHaveLength(1);
    const again = await provider.launch(requestFor(claim([m5]), ready));
    expect(again).toMatchObject({ ok: true, value: { zone: left } });
  });

  test('no subnet matches any more: the node class is not Ready, and subnets resolved before are dropped', async () => {
    const { provider, resolve } = classOf({}, 'subnets-gone');
    const ready = await resolve();
    const gone = { ...ready, spec: { ...ready.spec, subnetSelectorTerms: [{ tags: { 'no-such': '★' } }] } };
    const { status } = await provider.resolveNodeClass(gone);
    expect((status as EC2NodeClassStatus).subnets).toEqual([]);
    expect(isTrue((status as EC2NodeClassStatus).conditions, 'Ready')).toBe(false);
  });
});

test('answers that take three to seven seconds: forty parallel launches have one instance each, and none is abandoned', async () => {
  const { provider, resolve } = classOf({}, 'slow');
  const ready = await resolve();
  await provider.instanceTypes(pool, ready);
  await cloud().configure({ latencyMs: { from: 3_000, to: 7_000 } });
  const claims = Array.from({ length: 40 }, () => claim([m5, onDemand]));
  const results = await Promise.all(claims.map((each) => provider.launch(requestFor(each, ready))));
  expect(results.filter(({ ok }) => !ok)).toEqual([]);
  const ids = results.flatMap((result) => (result.ok ? result.value.providerId : []));
  expect(new Set(ids).size).toBe(40);
  const ended = await Promise.all(ids.map((id) => provider.terminate(id)));
  expect(new Set(ended)).toEqual(new Set(['terminating']));
  await cloud().configure({ latencyMs: null });
  expect(
    (await Promise.all(claims.map(({ metadata }) => launchedFor(metadata.uid)))).every((count) => count === 1),
  ).toBe(true);
});

test('credentials that expire during a launch fail it with that reason; with new ones the claim has one instance', async () => {
  const { provider, resolve } = classOf({}, 'expiring');
  const ready = await resolve();
  const given = claim([m5, onDemand]);
  await cloud().addFault({ kind: 'error', service: 'ec2', action: 'CreateFleet', code: 'ExpiredToken', status: 403 });
  await expect(provider.launch(requestFor(given, ready))).rejects.toMatchObject({
    type: 'Denied',
    message: expect.stringContaining('ExpiredToken'),
  });
  expect(await provider.launch(requestFor(given, ready, false))).toMatchObject({ ok: true });
  expect(await launchedFor(given.metadata.uid)).toBe(1);
});

// Rule `node-classes/deletion`.
test('deleting a node class deletes launch templates too that EC2 does not list yet', async () => {
  await cloud().configure({ ...briefLags, templatesListedAfterMs: 3_600_000 });
  const { provider, resolve } = classOf({}, 'unlisted');
  const ready = await resolve();
  const given = claim([m5, onDemand]);
  expect(await provider.launch(requestFor(given, ready))).toMatchObject({ ok: true });
  const own = { Name: 'tag:karpenter.k8s.aws/ec2nodeclass', Values: ['unlisted'] };
  const ec2 = client();
  const listed = async (): Promise<number> =>
    (await ec2.send(new DescribeLaunchTemplatesCommand({ Filters: [own] }))).LaunchTemplates?.length ?? 0;
  expect(await listed()).toBe(0);
  await provider.cleanUpNodeClass(ready);
  await cloud().configure({ templatesListedAfterMs: 0 });
  expect(await listed()).toBe(0);
  const deleted = await cloud().requests({ action: 'DeleteLaunchTemplate' });
  expect(deleted.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  ec2.destroy();
});
