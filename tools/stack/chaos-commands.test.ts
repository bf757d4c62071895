import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { DescribeLaunchTemplatesCommand, EC2Client, TerminateInstancesCommand } from '@aws-sdk/client-ec2';
import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { IAMClient, ListInstanceProfilesCommand } from '@aws-sdk/client-iam';
import { PricingClient, GetProductsCommand } from '@aws-sdk/client-pricing';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Command } from 'commander';
import { addChaosCommands } from './chaos-commands.js';
import { Cloud } from './cloud-proxy/cloud.js';
import { stowageKey } from './cloud-proxy/permissions/authority.js';
import { createProxy } from './cloud-proxy/server.js';
import type { StackState } from './stack-state.js';

const image = '/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id';
const items = (set: string, ...each: string[]): string =>
  `<Response><${set}>${each.map((item) => `<item>${item}</item>`).join('')}</${set}></Response>`;

const x86 = '<processorInfo><supportedArchitectures><item>x86_64</item></supportedArchitectures></processorInfo>';

/** Of an instance of Stowage's, unless its id says otherwise. */
const tagsOf = (id: string): string =>
  id.startsWith('i-other')
    ? ''
    : ['kubernetes.io/cluster/c=owned', 'karpenter.sh/nodepool=general']
        .map((tag) => tag.split('='))
        .map(([key, value]) => `<item><key>${key}</key><value>${value}</value></item>`)
        .join('');

/** moto with one type in two zones, any instance, and pages of fifteen launch templates by default. */
function motoAnswer(body: string): string {
  const params = new URLSearchParams(body);
  switch (params.get('Action')) {
    case 'DescribeInstanceTypes':
      return items('instanceTypeSet', `<instanceType>m5.large</instanceType>${x86}`);
    case 'DescribeInstanceTypeOfferings':
      return items(
        'instanceTypeOfferingSet',
        ...['a', 'b'].map((zone) => `<instanceType>m5.large</instanceType><location>us-west-2${zone}</location>`),
      );
    case 'DescribeInstances': {
      const ids = [...params].flatMap(([key, value]) => (key.startsWith('InstanceId.') ? [value] : []));
      const each = ids.map(
        (id) =>
          `<item><instanceId>${id}</instanceId><instanceType>m5.large</instanceType><tagSet>${tagsOf(id)}</tagSet></item>`,
      );
      return items('reservationSet', `<instancesSet>${each.join('')}</instancesSet>`);
    }
    case 'DescribeLaunchTemplates': {
      const count = Math.min(40, Number(params.get('MaxResults') ?? 15));
      return items(
        'launchTemplates',
        ...Array.from({ length: count }, (_, i) => `<launchTemplateId>lt-${i}</launchTemplateId>`),
      );
    }
    case 'DescribeSubnets':
      return items(
        'subnetSet',
        '<subnetId>subnet-1</subnetId><availabilityZone>us-west-2a</availabilityZone><availableIpAddressCount>9</availableIpAddressCount>',
      );
    case 'CreateLaunchTemplate':
      return `<Response><launchTemplate><launchTemplateId>lt-${params.get('LaunchTemplateName')!}</launchTemplateId></launchTemplate></Response>`;
    case 'CreateFleet':
      return items('fleetInstanceSet', `<instanceIds><item>i-${++launched}</item></instanceIds>`);
    case 'GetInstanceProfile':
      return '<Response><GetInstanceProfileResult><InstanceProfile><Roles><member><Arn>role</Arn></member></Roles></InstanceProfile></GetInstanceProfileResult></Response>';
    default: {
      const action = params.get('Action') ?? '';
      return `<${action}Response><${action}Result/></${action}Response>`;
    }
  }
}

let launched = 0;
const servers: http.Server[] = [];
const cleanUps: (() => void)[] = [];
let cloud: Cloud;
let endpoint: string;
let printed: string;

async function listen(server: http.Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeEach(async () => {
  const moto = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'text/xml');
      response.end(motoAnswer(Buffer.concat(chunks).toString()));
    });
  });
  cloud = new Cloud({
    motoEndpoint: await listen(moto),
    region: 'us-west-2',
    cluster: 'c',
    clusterEndpoint: 'https://api',
    clusterCertificate: undefined,
    policyFile: 'deploy/iam-policy.json',
    nodeRole: 'nodes',
  });
  cloud.configure({ visibleAfterMs: 0, tagsAfterMs: 0 });
  endpoint = await listen(createProxy(cloud));
  printed = '';
  const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  cleanUps.push(() => write.mockRestore());
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
  cloud.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** `npm run stack -- chaos ...`. */
async function chaos(...args: string[]): Promise<void> {
  const program = new Command();
  const located = (command: Command): Command => command.option('--name <name>', '', 'default').option('--dir <dir>');
  const state = { cluster: 'c', region: 'us-west-2', endpoints: { awsEndpoint: endpoint } } as StackState;
  addChaosCommands(program, located, () => state);
  await program.parseAsync(['chaos', ...args], { from: 'user' });
}

function client<T extends { destroy: () => void }>(make: (config: object) => T, accessKeyId = stowageKey): T {
  const credentials = { accessKeyId, secretAccessKey: 'local' };
  const made = make({ region: 'us-west-2', endpoint, maxAttempts: 1, credentials });
  cleanUps.push(() => made.destroy());
  return made;
}
const clients = {
  ec2: () => client((config) => new EC2Client(config)),
  iam: (key?: string) => client((config) => new IAMClient(config), key),
  pricing: () => client((config) => new PricingClient(config)),
  ssm: (key?: string) => client((config) => new SSMClient(config), key),
};
const prices = () => clients.pricing().send(new GetProductsCommand({ ServiceCode: 'AmazonEC2' }));
const profiles = (key?: string) => clients.iam(key).send(new ListInstanceProfilesCommand({}));
const parameter = (key?: string) => clients.ssm(key).send(new GetParameterCommand({ Name: image }));

test('chaos without a command: EC2 answers late and counts requests, as on a good day', async () => {
  await chaos('clear');
  expect(cloud.settings).toMatchObject({
    visibleAfterMs: 2_000,
    tagsAfterMs: 1_000,
    profileUnknownMs: 10_000,
    rateLimits: { RunInstances: { burst: 5 }, 'Describe*': { burst: 100 }, '*': { burst: 50 } },
  });
  await cloud.instances.adopt(['i-1'], {});
  await expect(clients.ec2().send(new TerminateInstancesCommand({ InstanceIds: ['i-1'] }))).rejects.toMatchObject({
    name: 'InvalidInstanceID.NotFound',
  });
  await chaos('set', '{"rateLimits": {"*": {"burst": 1, "perSecond": 0.001}}}');
  const list = () => clients.ec2().send(new DescribeLaunchTemplatesCommand({}));
  await list();
  await expect(list()).rejects.toMatchObject({ name: 'RequestLimitExceeded' });
});

describe('chaos commands', () => {
  test.each([
    ['error', 'InsufficientInstanceCapacity', 0],
    ['throttle', 'RequestLimitExceeded', 0],
    ['cut', 'socket hang up', 0],
    ['lost', 'socket hang up', 1],
  ])('%s affects as many calls as it says, after those it lets through', async (kind, words, ended) => {
    await cloud.instances.adopt(['i-1', 'i-2', 'i-3'], {});
    const more = kind === 'error' ? ['--code', words] : [];
    await chaos(kind, 'TerminateInstances', '--after', '1', '--times', '1', ...more);
    const end = (id: string) => clients.ec2().send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    await end('i-1');
    const failure = await end('i-2').catch((error: unknown) => String(error));
    expect(failure).toContain(words);
    expect(cloud.instances.get('i-2')?.state === 'shutting-down').toBe(ended === 1);
    await end('i-3');
    await chaos('list');
    expect(JSON.parse(printed.slice(printed.indexOf('{')))).toEqual({ faults: [], pools: [] });
  });

  test.each([
    ['delay', ['--delay', '2'], { delayMs: 2000 }],
    ['hang', [], {}],
  ])('%s sets a fault until it is cleared', async (kind, args, more) => {
    await chaos(kind, '*', '--times', '0', ...args);
    expect(cloud.faults.list()).toMatchObject([{ kind, action: '*', times: 0, ...more }]);
    await chaos('clear');
    expect(cloud.faults.list()).toEqual([]);
  });

  test('capacity removes the capacity of pools, and the last rule comes first', async () => {
    await chaos('capacity', 'm5.*', '--zone', 'us-west-2a', '--capacity-type', 'spot');
    await chaos('capacity', 'c*', '--left', '3', '--code', 'VcpuLimitExceeded');
    expect(cloud.pools.rules).toEqual([
      { instanceType: 'c*', code: 'VcpuLimitExceeded', capacity: 3 },
      {
        instanceType: 'm5.*',
        zone: 'us-west-2a',
        capacityType: 'spot',
        code: 'InsufficientInstanceCapacity',
        capacity: 0,
      },
    ]);
  });

  test('price sets spot prices of a type in a zone', async () => {
    await chaos('price', 'm5.large', '0.5', '--zone', 'us-west-2b');
    const machine = (await cloud.catalogue.machine('m5.large'))!;
    expect(cloud.market.price(machine, 'us-west-2b')).toBe(0.5);
    expect(cloud.market.price(machine, 'us-west-2a')).not.toBe(0.5);
    expect(printed).toContain('1 spot prices changed');
  });

  test('walk starts and stops a random walk of spot prices; set changes any setting', async () => {
    await chaos('walk', '0.05', '--interval', '60');
    expect(cloud.settings.spotWalk).toEqual({ volatility: 0.05, intervalMs: 60_000, seed: 'stowage' });
    await chaos('walk', '0');
    expect(cloud.settings.spotWalk).toBeNull();
    await chaos('set', '{"ipFamily": "ipv6", "joiner": {"joinDelayMs": 9}}');
    expect(cloud.settings).toMatchObject({ ipFamily: 'ipv6', joiner: { joinDelayMs: 9, readyDelayMs: 0 } });
  });

  test('terminations makes instances end slowly', async () => {
    await chaos('terminations', '120');
    expect(cloud.settings.shuttingDownMs).toBe(120_000);
  });

  test('slow delays every answer', async () => {
    await chaos('slow');
    expect(cloud.settings.latencyMs).toEqual({ from: 3000, to: 7000 });
    await chaos('slow', '--from', '0', '--to', '0');
    expect(cloud.settings.latencyMs).toBeNull();
  });

  test.each([
    ['termination', [], 'disableApiTermination'],
    ['stop', ['--stop'], 'disableApiStop'],
  ])('protect keeps an instance by %s protection', async (_, args, attribute) => {
    await cloud.instances.adopt(['i-1'], {});
    await chaos('protect', 'i-1', ...args);
    await expect(clients.ec2().send(new TerminateInstancesCommand({ InstanceIds: ['i-1'] }))).rejects.toMatchObject({
      name: 'OperationNotPermitted',
      message: expect.stringContaining(attribute),
    });
  });

  test('no-prices takes the Pricing API away', async () => {
    await expect(prices()).resolves.toBeDefined();
    await chaos('no-prices');
    await expect(prices()).rejects.toThrow('socket hang up');
  });

  test('isolate takes IAM and the Pricing API from Stowage alone, until it ends', async () => {
    await chaos('isolate');
    await expect(profiles()).rejects.toThrow('socket hang up');
    await expect(prices()).rejects.toThrow('socket hang up');
    await expect(parameter()).resolves.toBeDefined();
    await expect(profiles('local')).resolves.toBeDefined();
    await chaos('isolate', '--end');
    await expect(profiles()).resolves.toBeDefined();
  });

  test('require-proxy closes the direct way to AWS for Stowage alone, until it ends', async () => {
    await chaos('require-proxy');
    await expect(parameter()).rejects.toThrow('socket hang up');
    await expect(parameter('local')).resolves.toBeDefined();
    await chaos('require-proxy', '--end');
    await expect(parameter()).resolves.toBeDefined();
  });

  test('instances, impair, interrupt and rebalance work on existing instances', async () => {
    await cloud.instances.adopt(['i-1'], { lifecycle: 'spot' });
    const sent = jest.spyOn(cloud.events, 'send');
    await chaos('instances');
    expect(printed).toContain('i-1');
    await chaos('impair', 'i-1');
    expect(cloud.instances.get('i-1')?.health).toMatchObject({ systemStatus: 'impaired' });
    await chaos('rebalance', 'i-1');
    await chaos('interrupt', 'i-1', '--warning', '3600');
    const text = JSON.stringify(sent.mock.calls);
    for (const kind of ['Rebalance Recommendation', 'Spot Instance Interruption Warning']) expect(text).toContain(kind);
    await expect(chaos('impair', 'i-2')).rejects.toThrow('i-2');
  });

  test('strangers fills the account with resources of others', async () => {
    cloud.configure({ profileUnknownMs: 0 });
    await chaos('strangers');
    const { templates, profiles, instances } = JSON.parse(printed) as Record<string, string[]>;
    expect([templates, profiles, instances].map((each) => each?.length)).toEqual([2, 2, 2]);
    const made = cloud.log.list({ action: 'CreateLaunchTemplate' });
    expect(made.map(({ params }) => JSON.stringify(params))).toEqual([
      expect.stringContaining('kubernetes.io/cluster/c'),
      expect.stringContaining('kubernetes.io/cluster/other'),
    ]);
    expect(cloud.instances.all().map(({ id }) => id)).toEqual(instances);
  });

  test('permissions lists what the shipped policy allowed and denied, by caller', async () => {
    await parameter();
    await cloud.instances.adopt(['i-other'], {});
    const end = new TerminateInstancesCommand({ InstanceIds: ['i-other'] });
    await expect(clients.ec2().send(end)).rejects.toMatchObject({ name: 'UnauthorizedOperation' });
    await chaos('permissions');
    const principal = 'arn:aws:sts::123456789012:assumed-role/StowageController/session';
    expect(JSON.parse(printed)).toMatchObject({
      used: { [principal]: { 'ssm:GetParameter': 1 } },
      denials: [{ principal, action: 'ec2:TerminateInstances', resource: expect.stringContaining('i-other') }],
    });
  });

  test('set turns the cluster that EKS describes into an IPv6 cluster', async () => {
    const eks = client((config) => new EKSClient(config));
    const network = async () =>
      (await eks.send(new DescribeClusterCommand({ name: 'c' }))).cluster?.kubernetesNetworkConfig;
    await expect(network()).resolves.toMatchObject({ ipFamily: 'ipv4', serviceIpv4Cidr: '10.100.0.0/16' });
    await chaos('set', '{"ipFamily": "ipv6"}');
    await expect(network()).resolves.toMatchObject({ ipFamily: 'ipv6', serviceIpv6Cidr: 'fd00:10:100::/108' });
  });

  test('invalid commands are refused', async () => {
    await expect(chaos('slow', '--to', 'long')).rejects.toThrow('"long" is no number');
  });
});

test('the local cloud lists every launch template, in pages', async () => {
  const ec2 = clients.ec2();
  const first = await ec2.send(new DescribeLaunchTemplatesCommand({ MaxResults: 30 }));
  const second = await ec2.send(new DescribeLaunchTemplatesCommand({ MaxResults: 30, NextToken: first.NextToken }));
  expect([first, second].map(({ LaunchTemplates }) => LaunchTemplates?.length)).toEqual([30, 10]);
});
