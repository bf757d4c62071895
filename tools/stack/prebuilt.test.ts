import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { download, downloadOrCompile, type Pin, type Pinned, pinsFor } from './prebuilt.mjs';

// Release pages, on loopback.
const program = Buffer.from(`#!/bin/sh\necho ${'works '.repeat(20_000)}\n`);
const other = Buffer.from('#!/bin/sh\necho other\n');
const hash = (algorithm: 'sha256' | 'sha512', bytes: Buffer): string =>
  createHash(algorithm).update(bytes).digest('hex');

let root: string;
let folder: string;
let archive: Buffer;
let server: Server;
const at = (path: string): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'stowage-prebuilt-'));
  const content = join(root, 'content/release/bin');
  mkdirSync(content, { recursive: true });
  // The mode that the archive has for them counts for nothing.
  writeFileSync(join(content, 'tool'), program, { mode: 0o600 });
  writeFileSync(join(content, 'other'), other);
  writeFileSync(join(content, 'unwanted'), 'unwanted');
  execFileSync('tar', ['-czf', join(root, 'tools.tar.gz'), '-C', join(root, 'content'), 'release']);
  archive = readFileSync(join(root, 'tools.tar.gz'));
  server = createServer(({ url }, response) => {
    if (url === '/tool') response.end(program);
    else if (url === '/tools.tar.gz') response.end(archive);
    else if (url === '/moved') response.writeHead(302, { location: '/tool' }).end();
    else if (url === '/half') {
      response.writeHead(200, { 'content-length': program.length });
      response.write(program.subarray(0, program.length / 2), () => response.destroy());
    } else if (url === '/half-without-a-length') response.end(program.subarray(0, program.length / 2));
    else if (url === '/half.tar.gz') response.end(archive.subarray(0, archive.length / 2));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterAll(() => {
  server.close();
  rmSync(root, { recursive: true });
});

beforeEach(() => {
  folder = mkdtempSync(join(root, 'component-'));
});

const source = 'https://example.com/checksums';
const ofFile = (path: string, to = 'bin/tool'): Pin => ({ url: at(path), source, sha256: hash('sha256', program), to });
const ofArchive = (members: Record<string, string>, path = 'tools.tar.gz'): Pin => ({
  ...{ url: at(path), source, members },
  sha512: hash('sha512', archive),
});

describe('prebuilt parts from release pages', () => {
  test.each(['tool', 'moved'])('exist and can be run: %s', async (path) => {
    await download(ofFile(path), folder);

    expect(readdirSync(folder)).toEqual(['bin']);
    expect(readFileSync(join(folder, 'bin/tool'))).toEqual(program);
    expect(statSync(join(folder, 'bin/tool')).mode & 0o777).toBe(0o755);
  });

  test('are programs only below bin', async () => {
    await download(ofFile('tool', 'stages/ready.yaml'), folder);

    expect(statSync(join(folder, 'stages/ready.yaml')).mode & 0o777).toBe(0o644);
  });

  test('are taken out of an archive without other files', async () => {
    await download(ofArchive({ 'release/bin/tool': 'bin/tool', 'release/bin/other': 'bin/another' }), folder);

    expect(readdirSync(folder)).toEqual(['bin']);
    expect(readdirSync(join(folder, 'bin')).sort()).toEqual(['another', 'tool']);
    expect(readFileSync(join(folder, 'bin/tool'))).toEqual(program);
    expect(statSync(join(folder, 'bin/tool')).mode & 0o777).toBe(0o755);
    expect(readFileSync(join(folder, 'bin/another'))).toEqual(other);
  });

  test.each<[string, () => Pin, RegExp]>([
    [
      'of another SHA-256',
      () => ({ url: at('tool'), source, to: 'bin/tool', sha256: '0'.repeat(64) }),
      /tool: its SHA-256 is [0-9a-f]{64}; 0{64} is pinned/,
    ],
    [
      'of another SHA-512',
      () => ({ url: at('tools.tar.gz'), source, members: { 'release/bin/tool': 'bin/tool' }, sha512: '0'.repeat(128) }),
      /tools\.tar\.gz: its SHA-512 is [0-9a-f]{128}; 0{128} is pinned/,
    ],
    ['cut off', () => ofFile('half'), /half: /],
    ['that is half of itself', () => ofFile('half-without-a-length'), /half-without-a-length: its SHA-256 is/],
    [
      'that is half an archive',
      () => ofArchive({ 'release/bin/tool': 'bin/tool' }, 'half.tar.gz'),
      /half\.tar\.gz: its SHA-512 is/,
    ],
    ['that is not there', () => ofFile('gone'), /gone: answered 404 Not Found/],
    [
      'whose archive lacks a member',
      () => ofArchive({ 'release/bin/tool': 'bin/tool', 'release/bin/gone': 'bin/gone' }),
      /tools\.tar\.gz: it holds no release\/bin\/gone$/,
    ],
  ])('%s is refused, and nothing is left of it', async (_, pin, problem) => {
    await expect(download(pin(), folder)).rejects.toThrow(problem);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('that are no archive, with a right checksum, are refused', async () => {
    const pin = { url: at('tool'), source, members: { tool: 'bin/tool' }, sha256: hash('sha256', program) };

    await expect(download(pin, folder)).rejects.toThrow(/tool: it holds no tool/);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('report a server that does not exist', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));

    await expect(download({ ...ofFile('tool'), url: `http://127.0.0.1:${port}/tool` }, folder)).rejects.toThrow(
      `http://127.0.0.1:${port}/tool: connect ECONNREFUSED`,
    );
  });
});

describe('how a part of the stack is installed', () => {
  const ways = (pins: readonly Pin[] | undefined) => {
    const said: string[] = [];
    const compile = (): Promise<void> => {
      mkdirSync(join(folder, 'bin'));
      writeFileSync(join(folder, 'bin/tool'), 'compiled');
      return Promise.resolve();
    };
    const step = (title: string, run: () => Promise<void>): Promise<void> => {
      said.push(title);
      return run();
    };
    const way = downloadOrCompile({ pins, folder, step, say: (line) => said.push(line), compile });
    return way.then((taken) => ({ taken, said, found: readFileSync(join(folder, 'bin/tool'), 'latin1') }));
  };

  test('is by download where a download is pinned', async () => {
    expect(await ways([ofFile('tool')])).toMatchObject({ taken: 'downloaded', said: ['downloading tool'] });
  });

  test('is by compiling where none is pinned', async () => {
    expect(await ways(undefined)).toEqual({ taken: 'compiled', said: [], found: 'compiled' });
  });

  test('is by compiling everything, with the reason, where one of several parts cannot be downloaded', async () => {
    const { taken, said, found } = await ways([
      ofArchive({ 'release/bin/other': 'bin/another' }),
      ofFile('tool', 'stages/ready.yaml'),
      ofFile('gone', 'bin/gone'),
    ]);

    expect([taken, found]).toEqual(['compiled', 'compiled']);
    expect(said.at(-1)).toMatch(/cannot be downloaded, compiling instead: .*gone: answered 404/);
    expect(readdirSync(folder)).toEqual(['bin']);
    expect(readdirSync(join(folder, 'bin'))).toEqual(['tool']);
  });
});

describe('pinned downloads', () => {
  const pinned = JSON.parse(readFileSync('tools/stack/prebuilt.json', 'utf8')) as Pinned;
  const all = Object.values(pinned).flatMap((platforms) => Object.values(platforms).flat());
  const modules = readFileSync('tools/stack/kubernetes/go.mod', 'utf8');
  const version = (module: string): string => new RegExp(`^\\t${module} (v\\S+)`, 'm').exec(modules)?.[1] ?? '';
  const urls = (component: string, platform: string): string[] =>
    (pinsFor(pinned, component, platform) ?? []).map(({ url }) => url);

  test('have a checksum and its source', () => {
    expect(all.length).toBeGreaterThan(0);
    for (const { url, source: read, sha256 = '', sha512 = '' } of all) {
      expect(url).toMatch(/^https:\/\//);
      expect(read).toMatch(/^https:\/\//);
      expect(`${sha256}${sha512}`).toMatch(/^([0-9a-f]{64}|[0-9a-f]{128})$/);
    }
  });

  test.each([
    ['linux-x64', 'amd64', 'arm64'],
    ['linux-arm64', 'arm64', 'amd64'],
  ])('for %s are built for %s', (platform, own, others) => {
    for (const component of ['kubernetes', 'temporal']) {
      const named = urls(component, platform).join(' ');
      expect(named).toContain(own);
      expect(named).not.toContain(others);
    }
  });

  test('have the versions that are compiled otherwise', () => {
    for (const platform of ['linux-x64', 'linux-arm64']) {
      const [server, etcd, kwok, ...stages] = urls('kubernetes', platform);
      expect(server).toContain(`/${version('k8s.io/kubernetes')}/`);
      expect(etcd).toContain(`/${version('go.etcd.io/etcd/server/v3')}/`);
      expect(stages.length).toBeGreaterThan(0);
      for (const url of [kwok, ...stages]) expect(url).toContain(`/${version('sigs.k8s.io/kwok')}/`);
    }
    const parts = readFileSync('tools/stack/cluster-parts.mjs', 'utf8');
    const constant = (name: string): string => new RegExp(`${name} = '(\\S+)'`).exec(parts)?.[1] ?? '';
    expect(constant('kubernetesVersion')).toBe(version('k8s.io/kubernetes'));
    for (const platform of ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']) {
      expect(urls('temporal', platform)).toEqual([expect.stringContaining(`/${constant('temporalCliVersion')}/`)]);
    }
  });

  test('do not exist where a project publishes none for the platform', () => {
    expect(pinsFor(pinned, 'kubernetes', 'darwin-arm64')).toBeUndefined();
    expect(pinsFor(pinned, 'moto', 'linux-x64')).toBeUndefined();
  });
});
