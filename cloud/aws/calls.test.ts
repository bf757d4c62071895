import http from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { listenLocally } from '../../test/builders/local-server.js';
import { steppingClock } from '../../test/builders/aws-world.js';
import { createCalls, signedHeaders } from './calls.js';

Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' });

let server: http.Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
});

const refusal =
  '<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message></Error></Errors></Response>';

/** EC2 that throttles RunInstances alone. */
async function ec2(): Promise<string> {
  server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const throttled = Buffer.concat(chunks).toString().includes('Action=RunInstances');
      response.writeHead(throttled ? 503 : 200, { 'content-type': 'text/xml' });
      response.end(throttled ? refusal : '<CreateFleetResponse><fleetId>fleet-1</fleetId></CreateFleetResponse>');
    });
  });
  return listenLocally(server);
}

test('each AWS action has its own request budget: throttled dry runs do not slow launches down', async () => {
  const clock = steppingClock();
  const calls = createCalls({ region: 'eu-central-1', endpoint: await ec2(), clock });
  const dryRun = calls.runInstances({ DryRun: true, MinCount: 1, MaxCount: 1 });
  await expect(dryRun).rejects.toMatchObject({ type: 'Throttled' });
  const waited = clock.time;
  expect(waited).toBeGreaterThan(0);
  const fleets = Array.from({ length: 100 }, () =>
    calls.createFleet({ LaunchTemplateConfigs: [], TargetCapacitySpecification: { TotalTargetCapacity: 1 } }),
  );
  expect(await Promise.all(fleets)).toHaveLength(100);
  expect(clock.time).toBe(waited);
});

test('listeners of calls hear whether AWS answered: throttling and silence are no answer', async () => {
  const heard: (readonly [string, boolean])[] = [];
  const clock = steppingClock();
  const onCall = ({ action, answered }: { action: string; answered: boolean }): void =>
    void heard.push([action, answered]);
  const calls = createCalls({ region: 'eu-central-1', endpoint: await ec2(), clock, onCall });
  await calls.createFleet({ LaunchTemplateConfigs: [], TargetCapacitySpecification: { TotalTargetCapacity: 1 } });
  await calls.runInstances({ DryRun: true, MinCount: 1, MaxCount: 1 }).catch(() => undefined);
  const away = createCalls({ region: 'eu-central-1', endpoint: 'http://127.0.0.1:1', clock, onCall });
  await away.describeImages({}).catch(() => undefined);

  expect([...new Map(heard)]).toEqual([
    ['ec2:CreateFleet', true],
    ['ec2:RunInstances', false],
    ['ec2:DescribeImages', false],
  ]);
});

// Which kind an error is of says the table of errors.
test.each([
  ['RequestLimitExceeded', 503, 'Throttled', 4, 4],
  ['InternalError', 500, 'Unavailable', 4, 1],
  ['UnauthorizedOperation', 403, 'Denied', 1, 1],
  ['InvalidGroup.NotFound', 400, 'NotFound', 1, 1],
  ['VcpuLimitExceeded', 400, 'InsufficientCapacity', 1, 1],
  ['InvalidParameterValue', 400, 'Invalid', 1, 1],
])('%s (%d) is %s: a call that may be made twice is made %d times, CreateFleet %d', async (code, status, ...more) => {
  const [type, twice, fleet] = more;
  let asked = 0;
  server = http.createServer((_, response) => {
    asked += 1;
    response.writeHead(status, { 'content-type': 'text/xml' });
    response.end(refusal.replace('RequestLimitExceeded', code));
  });
  const endpoint = await listenLocally(server);
  const calls = createCalls({ region: 'eu-central-1', endpoint, clock: steppingClock() });
  await expect(calls.describeImages({})).rejects.toMatchObject({ type, details: { code } });
  expect(asked).toBe(twice);
  const target = { TotalTargetCapacity: 1 };
  await expect(
    calls.createFleet({ LaunchTemplateConfigs: [], TargetCapacitySpecification: target }),
  ).rejects.toMatchObject({ type });
  expect(asked - twice).toBe(fleet);
});

test('in China every call goes to an endpoint of China, those without a client of the SDK too', async () => {
  const asked = new Set<string>();
  server = http.createServer().on('connect', ({ url = '' }, socket) => {
    asked.add(url);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  const httpsProxy = await listenLocally(server);
  const calls = createCalls({ region: 'cn-north-1', httpsProxy, clock: steppingClock() });
  await Promise.allSettled([
    calls.describeImages({}),
    calls.getInstanceProfile({ InstanceProfileName: 'p' }),
    calls.getParameter('/a'),
    calls.describeCluster('c'),
    calls.getQueueUrl('q'),
    calls.getProducts({ ServiceCode: 'AmazonEC2' }),
    calls.time(),
    calls.getManagedResource('arn:aws-cn:eks:cn-north-1:1:cluster/c'),
  ]);
  expect([...asked].filter((host) => !/\.cn-north(west)?-1\.amazonaws\.com\.cn:443$/.test(host))).toEqual([]);
  expect(asked).toContain('arc-zonal-shift.cn-north-1.amazonaws.com.cn:443');
  expect(asked.size).toBe(7);
});

test("a call refused for its time is repeated with AWS's clock, a launch too", async () => {
  const times: string[] = [];
  const late =
    '<Response><Errors><Error><Code>RequestExpired</Code><Message>expired</Message></Error></Errors></Response>';
  server = http.createServer((request, response) => {
    const at = String(request.headers['x-amz-date']).slice(0, 8);
    times.push(at);
    const date = new Date(Date.now() + 3 * 24 * 3_600_000);
    const refused = at !== date.toISOString().slice(0, 10).replaceAll('-', '');
    response.writeHead(refused ? 400 : 200, { 'content-type': 'text/xml', date: date.toUTCString() });
    response.end(refused ? late : '<CreateFleetResponse><fleetId>fleet-1</fleetId></CreateFleetResponse>');
  });
  const calls = createCalls({ region: 'eu-central-1', endpoint: await listenLocally(server), clock: steppingClock() });
  const fleet = calls.createFleet({
    LaunchTemplateConfigs: [],
    TargetCapacitySpecification: { TotalTargetCapacity: 1 },
  });
  await expect(fleet).resolves.toMatchObject({ FleetId: 'fleet-1' });
  expect(times).toHaveLength(2);
});

test('credentials that are over are not tried again and again', async () => {
  let asked = 0;
  const over =
    '<Response><Errors><Error><Code>ExpiredToken</Code><Message>expired</Message></Error></Errors></Response>';
  server = http.createServer((_, response) => {
    asked += 1;
    response.writeHead(400, { 'content-type': 'text/xml' }).end(over);
  });
  const calls = createCalls({ region: 'eu-central-1', endpoint: await listenLocally(server), clock: steppingClock() });
  await expect(calls.describeSubnets({})).rejects.toMatchObject({ type: 'Denied', details: { code: 'ExpiredToken' } });
  expect(asked).toBe(1);
});

// The request `get-vanilla` of AWS' published test suite for Signature Version 4.
test('a GET request is signed as in the examples of AWS', () => {
  const headers = signedHeaders({
    url: new URL('https://example.amazonaws.com/'),
    region: 'us-east-1',
    service: 'service',
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' },
    now: Date.parse('2015-08-30T12:36:00Z'),
  });
  expect(headers).toEqual({
    'x-amz-date': '20150830T123600Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, ' +
      'Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  });
});
