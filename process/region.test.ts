import http from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { listenLocally } from '../test/builders/local-server.js';
import { withRegion } from './region.js';
import { readSettings } from './settings.js';

describe('the AWS region', () => {
  let server: http.Server;
  let endpoint: string;
  let asked: string[];
  beforeEach(async () => {
    asked = [];
    server = http.createServer((request, response) => {
      asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
      if (request.method === 'PUT') response.end('token');
      else if (request.headers['x-aws-ec2-metadata-token'] === 'token') response.end('eu-central-1');
      else response.writeHead(401).end();
    });
    endpoint = await listenLocally(server);
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const regionOf = async (settings: Record<string, string>, environment: Record<string, string> = {}) =>
    (await withRegion(readSettings({ CLUSTER_NAME: 'c', ...settings }), { endpoint, environment })).AWS_REGION;

  test('is AWS_REGION if that is set', async () => {
    await expect(regionOf({ AWS_REGION: 'us-west-2' })).resolves.toBe('us-west-2');
    await expect(regionOf({}, { AWS_DEFAULT_REGION: 'us-east-2' })).resolves.toBe('us-east-2');
    expect(asked).toEqual([]);
  });

  test('is that of the instance metadata without AWS_REGION', async () => {
    await expect(regionOf({})).resolves.toBe('eu-central-1');
    expect(asked).toEqual(['PUT /latest/api/token', 'GET /latest/meta-data/placement/region']);
  });

  test('stays unset where metadata is switched off or unreachable, and for another cloud', async () => {
    await expect(regionOf({}, { AWS_EC2_METADATA_DISABLED: 'true' })).resolves.toBeUndefined();
    await expect(regionOf({ CLOUD_PROVIDER: 'kwok' })).resolves.toBeUndefined();
    expect(asked).toEqual([]);
    endpoint = 'http://127.0.0.1:1';
    await expect(regionOf({})).resolves.toBeUndefined();
  });
});
