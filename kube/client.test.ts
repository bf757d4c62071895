import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKubeClient } from './client.js';

describe('a client from a kubeconfig', () => {
  let folder: string;
  let server: http.Server;
  let seen: http.IncomingHttpHeaders[];
  let accepted: string | undefined;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
    seen = [];
    accepted = undefined;
    server = http.createServer((request, response) => {
      seen.push(request.headers);
      if (accepted !== undefined && request.headers.authorization !== accepted) response.statusCode = 401;
      response.end(JSON.stringify({ gitVersion: 'v1.36.1' }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  });

  test('a kubeconfig that is no YAML is named, and nothing of what it holds is shown', () => {
    const kubeconfig = join(folder, 'broken');
    writeFileSync(kubeconfig, 'users:\n- name: a\n  user: { token: hunter2\n');

    expect(() => createKubeClient({ kubeconfig })).toThrow(
      /broken: no kubeconfig can be read from it: it cannot be parsed at line \d, column \d/,
    );
    expect(() => createKubeClient({ kubeconfig })).not.toThrow(/hunter2/);
  });

  const write = (user: object, context: object = { cluster: 'c', user: 'u' }): string => {
    const path = join(folder, 'config');
    const { port } = server.address() as AddressInfo;
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'x',
      clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}/` } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context }],
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
  };

  test('a client sends its token and user agent', async () => {
    const client = createKubeClient({ kubeconfig: write({ token: 't1' }), userAgent: 'stowage/1' });
    expect(await client.serverVersion()).toBe('v1.36.1');
    expect(seen).toMatchObject([{ authorization: 'Bearer t1', 'user-agent': 'stowage/1' }]);
    client.close();
  });

  test('a client reads its kubeconfig again when the token is refused', async () => {
    const client = createKubeClient({ kubeconfig: write({ token: 'old' }) });
    await client.serverVersion();
    write({ token: 'new' });
    accepted = 'Bearer new';
    expect(await client.serverVersion()).toBe('v1.36.1');
    expect(seen.map(({ authorization }) => authorization)).toEqual(['Bearer old', 'Bearer old', 'Bearer new']);
    client.close();
  });

  test('a client sends a user name and password', async () => {
    const client = createKubeClient({ kubeconfig: write({ username: 'me', password: 'p' }) });
    await client.serverVersion();
    expect(seen).toMatchObject([{ authorization: `Basic ${Buffer.from('me:p').toString('base64')}` }]);
    client.close();
  });

  test('a client runs the exec plugin of its kubeconfig for a token', async () => {
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'made' },
    };
    const print = `process.stdout.write(${JSON.stringify(JSON.stringify(credential))})`;
    const exec = {
      apiVersion: credential.apiVersion,
      command: process.execPath,
      args: ['-e', print],
      interactiveMode: 'Never',
    };
    const client = createKubeClient({ kubeconfig: write({ exec }) });
    await client.serverVersion();
    expect(seen).toMatchObject([{ authorization: 'Bearer made' }]);
    client.close();
  });

  test('says which file is missing, and which context has no cluster', () => {
    expect(() => createKubeClient({ kubeconfig: join(folder, 'absent') })).toThrow('absent');
    const kubeconfig = write({}, { cluster: 'other', user: 'u' });
    expect(() => createKubeClient({ kubeconfig })).toThrow('current context "x" has no cluster');
  });
});
