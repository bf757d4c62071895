import http from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { awsLabels } from '../api/aws/labels.js';
import { labels } from '../api/labels.js';
import { parseCatalogue } from '../cloud/kwok/catalogue.js';
import { listenLocally } from '../test/builders/local-server.js';
import { pod } from '../test/cases/objects.js';
import { catalogue } from './catalogue.js';
import { failureOf } from './failure.js';
import { planOffline } from './plan.js';

const region = 'eu-central-1';
const zones = [`${region}a`, `${region}b`, `${region}-ham-1a`];
const xml = (name: string, items: readonly string[]): string =>
  `<${name}>${items.map((item) => `<item>${item}</item>`).join('')}</${name}>`;
const inZones = (of: (zone: string) => string): string[] => zones.map(of);
const machine = (name: string, architecture: string, cpu: number, mib: number): string =>
  `<instanceType>${name}</instanceType><hypervisor>nitro</hypervisor><processorInfo>${xml('supportedArchitectures', [architecture])}</processorInfo>` +
  `<vCpuInfo><defaultVCpus>${cpu}</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>${mib}</sizeInMiB></memoryInfo>` +
  xml('supportedUsageClasses', ['on-demand', 'spot']) +
  '<networkInfo><maximumNetworkInterfaces>3</maximumNetworkInterfaces><ipv4AddressesPerInterface>10</ipv4AddressesPerInterface>' +
  `${xml('networkCards', ['<networkCardIndex>0</networkCardIndex><maximumNetworkInterfaces>3</maximumNetworkInterfaces>'])}</networkInfo>`;
const offered = (zone: string): string[] =>
  ['m5.large', 'r7g.large'].map((type) => `<instanceType>${type}</instanceType><location>${zone}</location>`);
const account: Readonly<Record<string, string>> = {
  DescribeInstanceTypes: xml('instanceTypeSet', [
    machine('m5.large', 'x86_64', 2, 8192),
    machine('r7g.large', 'arm64', 2, 16_384),
  ]),
  DescribeInstanceTypeOfferings: xml('instanceTypeOfferingSet', zones.flatMap(offered)),
  DescribeSubnets: xml(
    'subnetSet',
    inZones(
      (zone) =>
        `<subnetId>s-${zone}</subnetId><availabilityZone>${zone}</availabilityZone><availabilityZoneId>id-${zone.at(-1)!}</availabilityZoneId>`,
    ),
  ),
  DescribeSpotPriceHistory: xml(
    'spotPriceHistorySet',
    inZones(
      (zone) =>
        `<instanceType>m5.large</instanceType><availabilityZone>${zone}</availabilityZone><spotPrice>0.04</spotPrice>`,
    ),
  ),
};
const priced = (instanceType: string, USD: string): string =>
  JSON.stringify({
    product: { attributes: { instanceType } },
    terms: { OnDemand: { a: { priceDimensions: { b: { pricePerUnit: { USD } } } } } },
  });
const prices = JSON.stringify({ PriceList: [priced('m5.large', '0.115'), priced('r7g.large', '0.13')] });

const folder = mkdtempSync(join(tmpdir(), 'stowage-catalogue-'));
let answers: Readonly<Record<string, string>>;
let said: string;
let endpoint: string;
const aws = http.createServer((request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    const action = new URLSearchParams(body).get('Action') ?? 'GetProducts';
    const answer = answers[action];
    if (answer === undefined) {
      response.statusCode = 403;
      response.end('<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error></Errors></Response>'); // prettier-ignore
    } else response.end(action === 'GetProducts' ? answer : `<${action}Response>${answer}</${action}Response>`);
  });
});

beforeAll(async () => {
  endpoint = await listenLocally(aws);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  aws.closeAllConnections();
  aws.close();
});
beforeEach(() => {
  [answers, said] = [{ ...account, GetProducts: prices }, ''];
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    // The SDK of AWS has words for old versions of Node.
    if (String(text).startsWith('stowage: ')) said += String(text);
    return true;
  });
  setEnvironment({
    ...{ AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local', AWS_EC2_METADATA_DISABLED: 'true' },
    ...{ AWS_REGION: undefined, AWS_DEFAULT_REGION: undefined, AWS_PROFILE: undefined },
    ...{ AWS_CONFIG_FILE: join(folder, 'none'), AWS_SHARED_CREDENTIALS_FILE: join(folder, 'none') },
    ...{ METRICS_PORT: undefined, CLOUD_PROVIDER: undefined },
  });
});
afterEach(() => {
  jest.restoreAllMocks();
});

function setEnvironment(values: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = value;
  }
}

const ask = (): Promise<string> => catalogue(['--aws-region', region, '--aws-endpoint-url', endpoint]);

describe('stowage catalogue', () => {
  test("has each type with AWS's labels, reserved resources, and each zone of the region with prices", async () => {
    const [m5, r7g] = parseCatalogue(await ask());
    const valuesOf = (key: string) => m5!.requirements.find((each) => each.key === key)?.values;
    expect(valuesOf(awsLabels.instanceCategory)).toEqual(['m']);
    expect(valuesOf(awsLabels.instanceTenancy)).toEqual(['default', 'dedicated']);
    expect(valuesOf(labels.zoneId)).toEqual(['id-a', 'id-b']);
    expect(valuesOf(labels.region)).toEqual([region]);
    expect(m5!.capacity).toMatchObject({ cpu: 2000, pods: 29 });
    expect(m5!.overhead).toMatchObject({ cpu: 70 });
    const bought = (type = m5!) =>
      type.offerings.map(({ requirements, price, machinePrice, available }) => [
        ...[labels.capacityType, labels.zone].map((key) => requirements.find((each) => each.key === key)?.values?.[0]),
        machinePrice ?? price,
        available,
      ]);
    // A spot price is of the machine with its volume.
    const spot = expect.closeTo(0.0426, 3);
    expect(bought()).toEqual([
      ['on-demand', zones[0], 0.115, true],
      ['spot', zones[0], spot, true],
      ['on-demand', zones[1], 0.115, true],
      ['spot', zones[1], spot, true],
    ]);
    // What has no price is left out.
    expect(bought(r7g)).toEqual([
      ['on-demand', zones[0], 0.13, true],
      ['on-demand', zones[1], 0.13, true],
    ]);
    expect(said).toBe('');
  });

  test("its output is read by stowage plan for NodePools that require AWS's labels", async () => {
    const requirements = [
      { key: awsLabels.instanceCategory, operator: 'In', values: ['r'] },
      { key: awsLabels.instanceTenancy, operator: 'In', values: ['default'] },
      { key: labels.zoneId, operator: 'In', values: ['id-b'] },
      { key: awsLabels.instanceGpuCount, operator: 'DoesNotExist' },
    ];
    const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
    const pool = {
      ...{ apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'default' } },
      spec: { template: { spec: { nodeClassRef, requirements } } },
    };
    const [objects, types] = [join(folder, 'objects.json'), join(folder, 'types.json')];
    const items = [pool, pod('p', {}, { cpu: '1' })];
    writeFileSync(objects, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    writeFileSync(types, await ask());
    const policies = { preferencePolicy: 'Respect', minValuesPolicy: 'Strict' } as const;
    const text = planOffline({ objects: [objects], catalogue: types, output: 'table', repeat: 1, ...policies });
    expect(text).toMatch(/1 +default +r7g\.large +eu-central-1b +on-demand/);
    expect(said).not.toContain('stowage catalogue');
  });

  test('uses built-in prices and zones without ids where calls are denied, and says so', async () => {
    answers = { ...account, DescribeSubnets: undefined, DescribeSpotPriceHistory: undefined } as never;
    const [m5] = parseCatalogue(await ask());
    expect(m5!.offerings.map(({ machinePrice }) => machinePrice! > 0)).toEqual([true, true]);
    for (const problem of ['list prices of', 'spot prices: ec2:Desc', 'ids of zones']) expect(said).toContain(problem);
  });
});

describe('stowage catalogue reports invalid settings without a stack trace', () => {
  const failed = async (...args: string[]) =>
    failureOf(
      await catalogue(args).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );

  test('no region: status 2', async () => {
    const { status, said: message } = await failed();
    expect(status).toBe(2);
    expect(message).toMatch(/^stowage: AWS_REGION \(--aws-region\) is missing.*\n$/);
  });

  test('an unknown region: status 2', async () => {
    const { status, said: message } = await failed('--aws-region', 'no where');
    expect(status).toBe(2);
    expect(message).toContain('AWS_REGION (--aws-region) "no where": is not a region (such as us-west-2)');
  });

  test('no credentials: status 1', async () => {
    setEnvironment({ AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined });
    const { status, said: message } = await failed('--aws-region', region, '--aws-endpoint-url', endpoint);
    expect(status).toBe(1);
    expect(message).toMatch(
      /^stowage: ec2:DescribeInstanceType(s|Offerings): CredentialsProviderError: .*credentials.*\n$/,
    );
    expect(said).toBe('');
  });

  test('invalid settings of a cluster do not matter', async () => {
    setEnvironment({ METRICS_PORT: 'none', CLOUD_PROVIDER: 'kwok' });
    expect(parseCatalogue(await ask())).toHaveLength(2);
  });
});
