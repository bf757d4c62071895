import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { download, downloadOrCompile, type Pin } from './prebuilt.mjs';

// Release pages, on loopback.
const program = Buffer.from(`#!/bin/sh\necho ${'works '.repeat(20_000)}\n`);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

let folder: string;
let bin: string;
let archive: Buffer;
let server: Server;
const at = (path: string): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stowage-prebuilt-'));
  mkdirSync(join(folder, 'content/release'), { recursive: true });
  writeFileSync(join(folder, 'content/release/tool'), program);
  execFileSync('tar', ['-czf', join(folder, 'tool.tar.gz'), '-C', join(folder, 'content'), 'release/tool']);
  archive = readFileSync(join(folder, 'tool.tar.gz'));
  server = createServer(({ url }, response) => {
    if (url === '/tool') response.end(program);
    else if (url === '/tool.tar.gz') response.end(archive);
    else if (url === '/half') {
      response.writeHead(200, { 'content-length': program.length });
      response.write(program.subarray(0, program.length / 2), () => response.destroy());
    } else if (url === '/half-without-a-length') response.end(program.subarray(0, program.length / 2));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  bin = mkdtempSync(join(folder, 'bin-'));
});

const pin = (path: string, more: Partial<Pin> = {}): Pin => ({
  ...{ name: 'tool', url: at(path), sha256: sha256(program) },
  ...more,
});

describe('a program of a release page', () => {
  test('is there, and can be run', async () => {
    await download(pin('tool'), bin);

    expect(readdirSync(bin)).toEqual(['tool']);
    expect(readFileSync(join(bin, 'tool'))).toEqual(program);
    expect(statSync(join(bin, 'tool')).mode & 0o777).toBe(0o755);
  });

  test('is taken out of an archive', async () => {
    await download(pin('tool.tar.gz', { sha256: sha256(archive), member: 'release/tool' }), bin);

    expect(readFileSync(join(bin, 'tool'))).toEqual(program);
  });

  test.each<[string, string, Partial<Pin>, RegExp]>([
    ['of another checksum', 'tool', { sha256: '0'.repeat(64) }, /its SHA-256 is [0-9a-f]{64}; 0{64} is pinned/],
    ['cut off', 'half', {}, /half: /],
    ['that is half of itself', 'half-without-a-length', {}, /its SHA-256 is/],
    ['that is not there', 'gone', {}, /gone: answered 404 Not Found/],
  ])('%s is refused, and nothing is left of it', async (_, path, more, problem) => {
    await expect(download(pin(path, more), bin)).rejects.toThrow(problem);
    expect(readdirSync(bin)).toEqual([]);
  });
});

describe('the shortest way', () => {
  const ways = (pins: readonly Pin[] | undefined) => {
    const said: string[] = [];
    const compile = (): Promise<void> => {
      mkdirSync(bin, { recursive: true });
      writeFileSync(join(bin, 'tool'), 'compiled');
      return Promise.resolve();
    };
    const step = (title: string, run: () => Promise<void>): Promise<void> => {
      said.push(title);
      return run();
    };
    const way = downloadOrCompile({ pins, bin, step, say: (line) => said.push(line), compile });
    return way.then((taken) => ({ taken, said, found: readFileSync(join(bin, 'tool'), 'latin1') }));
  };

  test('is to download what is pinned', async () => {
    expect(await ways([pin('tool')])).toMatchObject({ taken: 'downloaded', said: ['downloading tool'] });
  });

  test('is to compile what is not', async () => {
    expect(await ways(undefined)).toEqual({ taken: 'compiled', said: [], found: 'compiled' });
  });

  test('is to compile, saying why, where one of several cannot be had', async () => {
    const { taken, said, found } = await ways([pin('tool'), pin('gone', { name: 'other' })]);

    expect([taken, found]).toEqual(['compiled', 'compiled']);
    expect(said.at(-1)).toMatch(/cannot be downloaded, compiling instead: .*gone: answered 404/);
    expect(readdirSync(bin)).toEqual(['tool']);
  });
});

test('what is pinned is pinned by https and SHA-256', () => {
  const pins = JSON.parse(readFileSync('devstack/prebuilt.json', 'utf8')) as Record<string, Record<string, Pin[]>>;
  const all = Object.values(pins).flatMap((platforms) => Object.values(platforms).flat());

  expect(all.length).toBeGreaterThan(0);
  for (const each of all) {
    expect(each.url).toMatch(/^https:\/\//);
    expect(each.sha256).toMatch(/^[0-9a-f]{64}$/);
  }
});
