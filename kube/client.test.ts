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

  const write = (user: object, context: object = { cluster: 'c', user: 'u' }, cluster?: object): string => {
    const path = join(folder, 'config');
    const { port } = server.address() as AddressInfo;
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'x',
      clusters: [{ name: 'c', cluster: cluster ?? { server: `http://127.0.0.1:${port}/` } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context }],
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
  };

  test.each([
    [{}, 'clusters[0].cluster.server is missing'],
    [{ server: 'ftp://a' }, 'clusters[c].cluster.server: is no address, such as https://10.0.0.1:6443'],
    [{ server: 'http://[' }, 'clusters[c].cluster.server: is no address'],
    [{ server: 'https://me:hunter2@a' }, 'clusters[c].cluster.server: has a user name or password'],
    [{ server: 'https://a', 'proxy-url': 'hunter2' }, 'clusters[c].cluster.proxy-url: is no address'],
  ])('a kubeconfig with cluster %j is refused by its field', (cluster, said) => {
    const kubeconfig = write({}, undefined, cluster);
    expect(() => createKubeClient({ kubeconfig })).toThrow(`${kubeconfig}: `);
    expect(() => createKubeClient({ kubeconfig })).toThrow(said);
    expect(() => createKubeClient({ kubeconfig })).not.toThrow('hunter2');
  });

  test.each<[string, object, string]>([
    ['a file that does not exist', { 'client-certificate': '/nope/c', 'client-key': '/nope/k' }, '/nope/c'],
    ['a certificate that is none', { 'client-certificate-data': 'QUJD', 'client-key-data': 'QUJD' }, 'PEM'],
    ['an exec plugin that does not exist', { exec: { command: 'nope-nope' } }, 'spawn nope-nope ENOENT'],
    ['an exec plugin that prints anything else', { exec: { command: 'echo', args: ['hunter2'] } }, 'no ExecCredential'],
  ])('credentials with %s are named with their user, and what a plugin prints is not shown', async (_, user, said) => {
    const api = { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' };
    const given = 'exec' in user ? { exec: { ...api, ...(user.exec as object) } } : user;
    const client = createKubeClient({ kubeconfig: write(given) });
    const error: unknown = await client.serverVersion().catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      type: 'Unavailable',
      message: expect.stringMatching(new RegExp(`no credentials of user "u" of the kubeconfig: .*${said}`)) as unknown,
    });
    expect(String(error)).not.toContain('hunter2');
    client.close();
  });

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
