import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { listenLocally } from '../../test/builders/local-server.js';
import { steppingClock } from '../../test/builders/aws-world.js';
import { createCalls } from './calls.js';
import { bypasses } from './http-agents.js';

Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' });

const servers: (http.Server | https.Server)[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(server: http.Server | https.Server): Promise<string> {
  servers.push(server);
  return listenLocally(server);
}

const empty =
  '<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet/></DescribeInstancesResponse>';

test('parallel calls that EC2 answers slowly have separate sockets', async () => {
  const many = 90;
  const held: http.ServerResponse[] = [];
  const endpoint = await listen(
    http.createServer((_, response) => {
      held.push(response);
      // No request is answered before all have arrived.
      if (held.length === many) for (const each of held) each.end(empty);
    }),
  );
  const calls = createCalls({ region: 'eu-central-1', endpoint, clock: steppingClock() });
  const answers = await Promise.all(Array.from({ length: many }, () => calls.describeInstances({})));
  expect(answers).toHaveLength(many);
  expect(held).toHaveLength(many);
});

/** A self-signed certificate for this host, and its key. */
function certificate(): { cert: string; key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  const [cert, key] = [join(folder, 'crt'), join(folder, 'key')];
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const names = ['-subj', '/CN=local', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...ec, '-keyout', key, '-out', cert, ...names], { stdio: 'pipe' });
  const made = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}

describe('an endpoint with certificates of a private authority', () => {
  const { cert, key } = certificate();
  const eks = () =>
    https.createServer({ cert, key }, (_, response) => response.end(JSON.stringify({ cluster: { name: 'c' } })));
  const network = { region: 'eu-central-1', clock: steppingClock() };

  test('an endpoint with certificates of a private authority is trusted by AWS_CA_BUNDLE alone', async () => {
    const endpoint = (await listen(eks())).replace('http:', 'https:');
    const trusting = createCalls({ ...network, endpoint, trustedCa: cert });
    await expect(trusting.describeCluster('c')).resolves.toMatchObject({ cluster: { name: 'c' } });
    const usual = createCalls({ ...network, endpoint });
    await expect(usual.describeCluster('c')).rejects.toMatchObject({ type: 'Unavailable' });
  });

  test('is reached directly where NO_PROXY names it', async () => {
    const tunnels: (string | undefined)[] = [];
    const proxy = http.createServer().on('connect', ({ url }, socket) => {
      tunnels.push(url);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    const endpoint = (await listen(eks())).replace('http:', 'https:');
    const through = { ...network, endpoint, trustedCa: cert, httpsProxy: await listen(proxy) };
    const direct = createCalls({ ...through, noProxy: '10.0.0.1,127.0.0.1' });
    await expect(direct.describeCluster('c')).resolves.toMatchObject({ cluster: { name: 'c' } });
    expect(tunnels).toEqual([]);
    await expect(createCalls(through).describeCluster('c')).rejects.toMatchObject({ type: 'Unavailable' });
    expect(new Set(tunnels)).toEqual(new Set([endpoint.replace('https://', '')]));
  });
});

describe('a proxy', () => {
  test('gets a CONNECT to the endpoint, with user and password', async () => {
    const asked: (string | undefined)[] = [];
    const proxy = http.createServer().on('connect', (request, socket) => {
      asked.push(request.url, request.headers['proxy-authorization']);
      socket.once('data', (first: Buffer) => {
        // A TLS handshake: the proxy cannot read requests to AWS.
        asked.push(String(first[0]));
        socket.destroy();
      });
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    });
    const url = (await listen(proxy)).replace('//', '//user:p%40ss@');
    const calls = createCalls({ region: 'eu-central-1', httpsProxy: url, clock: steppingClock() });
    await expect(calls.createFleet({} as never)).rejects.toMatchObject({ type: 'Unavailable' });
    const user = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(asked).toEqual(['ec2.eu-central-1.amazonaws.com:443', user, '22']);
  });

  test('a proxy that refuses is named in the error', async () => {
    const proxy = http.createServer().on('connect', (_, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
    const calls = createCalls({ region: 'eu-central-1', httpsProxy: await listen(proxy), clock: steppingClock() });
    await expect(calls.createFleet({} as never)).rejects.toMatchObject({
      type: 'Unavailable',
      message: expect.stringContaining('refused a tunnel to ec2.eu-central-1.amazonaws.com:443: status 403'),
    });
  });
});

test.each([
  ['', 'ec2.eu-central-1.amazonaws.com', false],
  ['*', 'ec2.eu-central-1.amazonaws.com', true],
  ['.amazonaws.com', 'ec2.eu-central-1.amazonaws.com', true],
  ['amazonaws.com, other', 'sqs.eu-central-1.amazonaws.com', true],
  ['zonaws.com', 'sqs.eu-central-1.amazonaws.com', false],
  ['amazonaws.com:8443', 'sqs.eu-central-1.amazonaws.com', false],
  ['amazonaws.com:443', 'sqs.eu-central-1.amazonaws.com', true],
  ['10.0.0.1', '10.0.0.1', true],
])('NO_PROXY "%s": %s is reached directly: %s', (noProxy, host, direct) => {
  expect(bypasses(noProxy, host, 443)).toBe(direct);
});
