import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { steppingClock } from '../../test/builders/aws-world.js';
import { createCalls } from './calls.js';

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
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('each action has a request budget of its own: dry runs that are throttled do not slow launches down', async () => {
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

test('who hears of calls hears whether AWS has answered: too many requests, or nothing, is no answer', async () => {
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
