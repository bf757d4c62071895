import http from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pino from 'pino';
import { listenLocally } from '../test/builders/local-server.js';
import { nodeClaim, nodePool } from '../test/builders/activity-world.js';
import { ec2NodeClass } from '../test/builders/aws-world.js';
import type { EC2NodeClass } from '../api/aws/ec2-node-class.js';
import type { LaunchRequest } from '../cloud/port.js';
import type { KubeClient } from '../kube/port.js';
import { createCloud } from './cloud.js';
import { readSettings } from './settings.js';

Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' });

const zone = 'eu-central-1a';
const m5 =
  '<instanceType>m5.large</instanceType><hypervisor>nitro</hypervisor><processorInfo><supportedArchitectures><item>x86_64</item>' +
  '</supportedArchitectures></processorInfo><vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>8192</sizeInMiB>' +
  '</memoryInfo><supportedUsageClasses><item>on-demand</item></supportedUsageClasses><networkInfo><maximumNetworkInterfaces>3' +
  '</maximumNetworkInterfaces><ipv4AddressesPerInterface>10</ipv4AddressesPerInterface><maximumNetworkCards>1</maximumNetworkCards>' +
  '<networkCards><item><networkCardIndex>0</networkCardIndex><maximumNetworkInterfaces>3</maximumNetworkInterfaces></item>' +
  '</networkCards></networkInfo>';
const answers: Readonly<Record<string, string>> = {
  DescribeInstanceTypes: `<instanceTypeSet><item>${m5}</item></instanceTypeSet>`,
  DescribeInstanceTypeOfferings: `<instanceTypeOfferingSet><item><instanceType>m5.large</instanceType><location>${zone}</location></item></instanceTypeOfferingSet>`,
  DescribeCapacityReservations:
    '<capacityReservationSet><item><capacityReservationId>cr-1</capacityReservationId><availableInstanceCount>3</availableInstanceCount></item></capacityReservationSet>',
  DescribeSubnets: `<subnetSet><item><subnetId>subnet-1</subnetId><availabilityZone>${zone}</availabilityZone><availableIpAddressCount>99</availableIpAddressCount></item></subnetSet>`,
};

let servers: http.Server[];
let userData: string;
let asked: string[];
let endpoint: string;
let folder: string;

async function listen(server: http.Server): Promise<string> {
  servers.push(server);
  return listenLocally(server);
}

beforeEach(async () => {
  [servers, userData, asked] = [[], '', []];
  folder = mkdtempSync(join(tmpdir(), 'cloud-'));
  // EC2 that launches nothing, and keeps the user data that it was given.
  const ec2 = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const params = new URLSearchParams(Buffer.concat(chunks).toString());
      const action = params.get('Action') ?? request.url ?? '';
      asked.push(action);
      const sent = params.get('LaunchTemplateData.UserData');
      if (sent !== null) userData = Buffer.from(sent, 'base64').toString();
      response.setHeader('content-type', 'text/xml');
      response.end(`<${action}Response>${answers[action] ?? ''}</${action}Response>`);
    });
  });
  endpoint = await listen(ec2);
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const service = { spec: { clusterIP: '172.20.0.10' } };
const kube = (certificates: string | undefined) =>
  ({
    certificateAuthority: () => Promise.resolve(certificates),
    serverVersion: () => Promise.resolve('v1.34.1'),
    get: (kind: string) => Promise.resolve(kind === 'Service' ? service : undefined),
  }) as unknown as KubeClient;

const cloudOf = (settings: Record<string, string>, certificates: string | undefined = 'S1VCRQ==') =>
  createCloud(
    readSettings({
      CLUSTER_NAME: 'c',
      AWS_REGION: 'eu-central-1',
      CLUSTER_ENDPOINT: 'https://api',
      CLUSTER_SERVICE_CIDR: '172.20.0.0/16',
      ISOLATED_VPC: 'true',
      ...settings,
    }),
    kube(certificates),
    pino({ level: 'silent' }),
  );

/** A node class that EC2 has resolved, with a reservation. */
function resolved(amiFamily: string): EC2NodeClass {
  const reservation = {
    ...{ id: 'cr-1', availabilityZone: zone, instanceType: 'm5.large', instanceMatchCriteria: 'open' },
    ...{ reservationType: 'default', ownerID: '1', state: 'active' },
  };
  const status = {
    conditions: [{ type: 'Ready', status: 'True' }],
    instanceProfile: 'nodes',
    subnets: [{ id: 'subnet-1', zone }],
    amis: [{ id: 'ami-1', requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }] }],
    capacityReservations: [reservation],
  };
  const spec = { amiFamily, amiSelectorTerms: [{ id: 'ami-1' }] };
  return { ...ec2NodeClass(spec), status } as unknown as EC2NodeClass;
}

/** User data of a node of the family. */
async function userDataOf(amiFamily: string, settings: Record<string, string> = {}): Promise<string> {
  const nodeClass = resolved(amiFamily);
  const request: LaunchRequest = {
    ...{ claim: nodeClaim('c1'), nodeClass },
    ...{ clientToken: 'uid-c1', firstAttempt: true },
  };
  await cloudOf({ AWS_ENDPOINT_URL: endpoint, ...settings }).launch(request);
  return userData;
}

// Rule `launch-templates/user-data`.
describe('with CLUSTER_ENDPOINT and without CLUSTER_CA_BUNDLE', () => {
  test.each([
    ['AL2023', 'certificateAuthority: S1VCRQ=='],
    ['Bottlerocket', 'cluster-certificate = "S1VCRQ=="'],
    ['AL2', "--b64-cluster-ca 'S1VCRQ=='"],
    ['Windows2022', "-Base64ClusterCA 'S1VCRQ=='"],
  ])('%s nodes get the certificates of the kubeconfig', async (family, words) => {
    await expect(userDataOf(family)).resolves.toContain(words);
    expect(asked.filter((each) => each.includes('clusters'))).toEqual([]);
  });

  test('CLUSTER_CA_BUNDLE comes before the certificates of EKS', async () => {
    await expect(userDataOf('AL2023', { CLUSTER_CA_BUNDLE: 'U0VU' })).resolves.toContain('certificateAuthority: U0VU');
  });
});

test.each(['AL2', 'Bottlerocket', 'Windows2022'])('%s nodes get the address of kube-dns', async (family) => {
  await expect(userDataOf(family)).resolves.toContain('172.20.0.10');
});

describe('connections to AWS', () => {
  /** Hosts that a proxy was asked for a tunnel to. */
  async function tunnels(settings: Readonly<Record<string, string>>): Promise<string[]> {
    const hosts: string[] = [];
    const proxy = http.createServer().on('connect', ({ url = '' }, socket) => {
      hosts.push(url);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    const { account } = cloudOf({ https_proxy: await listen(proxy), ...settings });
    await account!.authenticate().catch(() => undefined);
    return hosts;
  }

  test('use HTTPS_PROXY or https_proxy, except to hosts of NO_PROXY', async () => {
    const local = { AWS_ENDPOINT_URL: 'https://127.0.0.1:1' };
    const [aws, own, direct] = await Promise.all([{}, local, { ...local, NO_PROXY: '127.0.0.1' }].map(tunnels));
    expect(aws).toContain('ec2.eu-central-1.amazonaws.com:443');
    expect(own).toContain('127.0.0.1:1');
    expect(direct).toEqual([]);
  });

  test('fail for a missing file of AWS_CA_BUNDLE', () => {
    const path = join(folder, 'ca.crt');
    expect(() => cloudOf({ AWS_CA_BUNDLE: path })).toThrow(`AWS_CA_BUNDLE (--aws-ca-bundle) "${path}"`);
    writeFileSync(path, 'PEM');
    expect(() => cloudOf({ AWS_CA_BUNDLE: path })).not.toThrow();
  });
});

// Rule `reserved-capacity/gate-off`.
test.each([
  ['true', true],
  ['false', false],
])('with FEATURE_GATES=ReservedCapacity=%s a launch uses reservations: %s', async (gate, knows) => {
  const cloud = cloudOf({ AWS_ENDPOINT_URL: endpoint, FEATURE_GATES: `ReservedCapacity=${gate}` });
  const [type] = await cloud.instanceTypes(nodePool('default'), resolved('AL2023'));
  const capacityTypes = type?.offerings.flatMap(
    ({ requirements }) => requirements.find(({ key }) => key === 'karpenter.sh/capacity-type')?.values ?? [],
  );
  expect(capacityTypes?.includes('reserved')).toBe(knows);
});
