import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pin, Pinned } from './prebuilt.mjs';
import type { Toolchain } from './toolchain.js';

// The installer as a fresh clone runs it, on a machine without Go, with release pages on loopback whose archives are laid out as the real ones.
let root: string;
let tools: string;
let server: Server;
const pages = new Map<string, Buffer>();
const asked: string[] = [];
const pinned = JSON.parse(readFileSync('tools/stack/prebuilt.json', 'utf8')) as Pinned;

const sum = (algorithm: string, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex');

/** A program or an archive of programs, each of which says its URL. */
function published({ url, members }: Pin): Buffer {
  const content = `#!/bin/sh\necho ${basename(url)}\n`;
  if (members === undefined) return Buffer.from(content);
  const folder = mkdtempSync(join(root, 'content-'));
  for (const member of Object.keys(members)) {
    mkdirSync(join(folder, member, '..'), { recursive: true });
    writeFileSync(join(folder, member), content);
  }
  const top = readdirSync(folder);
  return execFileSync('tar', ['-czf', '-', '-C', folder, ...top]);
}

/** What prebuilt.json pins, published by the server. */
function republished(pin: Pin): Pin {
  const path = new URL(pin.url).pathname;
  const bytes = pages.get(path) ?? published(pin);
  pages.set(path, bytes);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const checksum = pin.sha512 === undefined ? { sha256: sum('sha256', bytes) } : { sha512: sum('sha512', bytes) };
  return { ...pin, ...checksum, url } as Pin;
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'stowage-install-'));
  tools = join(root, 'tools');
  mkdirSync(tools);
  for (const name of ['tar', 'gzip']) {
    symlinkSync(execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim(), join(tools, name));
  }
  server = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.writeHead(pages.has(url) ? 200 : 404).end(pages.get(url));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cpSync('tools/stack', join(root, 'tools/stack'), { recursive: true, filter: (file) => !file.endsWith('.ts') });
  const here = Object.entries(pinned).map(([component, platforms]) => [
    component,
    Object.fromEntries(Object.entries(platforms).map(([platform, pins]) => [platform, pins.map(republished)])),
  ]);
  writeFileSync(join(root, 'tools/stack/prebuilt.json'), JSON.stringify(Object.fromEntries(here)));
});

afterAll(() => {
  server.close();
  rmSync(root, { recursive: true });
});

let cache: string;
beforeEach(() => {
  cache = mkdtempSync(join(root, 'cache-'));
  asked.length = 0;
});

interface Outcome {
  readonly failed: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

function install(arch: 'x64' | 'arm64', ...others: string[]): Promise<Outcome> {
  const as = `Object.defineProperties(process, { arch: { value: '${arch}' }, platform: { value: 'linux' } })`;
  const args = [
    ...['--import', `data:text/javascript,${encodeURIComponent(as)}`],
    ...[join(root, 'tools/stack/install.mjs'), '--json', 'kubernetes', 'temporal', ...others],
  ];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env: { PATH: tools, XDG_CACHE_HOME: cache } }, (error, stdout, stderr) => {
      resolve({ failed: error !== null, stdout, stderr });
    });
  });
}

const components = (): string[] => {
  const names = readdirSync(join(cache, 'stowage')).map((name) => name.replace(/-v[\d.]+-[0-9a-f]+/, ''));
  return names.sort();
};

describe('the installer on a machine without Go', () => {
  test.each([
    ['x64', 'amd64'],
    ['arm64', 'arm64'],
  ] as const)('downloads every published part for %s, and says so', async (arch, named) => {
    const { failed, stdout, stderr } = await install(arch);

    expect(stderr).toContain('(kubernetes downloaded, temporal downloaded)');
    expect(failed).toBe(false);
    const paths = JSON.parse(stdout) as Toolchain;
    const says = (program: string): string => execFileSync(program, { encoding: 'utf8' }).trim();
    expect(says(paths.etcd)).toMatch(new RegExp(`^etcd-v.*-linux-${named}\\.tar\\.gz$`));
    for (const name of ['apiserver', 'scheduler', 'controllerManager', 'kubectl'] as const) {
      expect(says(paths[name])).toBe(`kubernetes-server-linux-${named}.tar.gz`);
    }
    expect(says(paths.kwok)).toBe(`kwok-linux-${named}`);
    expect(says(paths.temporal)).toContain(`linux_${named}.tar.gz`);
    expect(readdirSync(paths.kwokStages)).toHaveLength(5);
    expect(components()).toEqual(['kubernetes', 'temporal']);

    const before = asked.length;
    expect(await install(arch)).toEqual({ failed: false, stdout, stderr: '' });
    expect(asked).toHaveLength(before);
  });

  test('refuses an archive with another checksum, says so, and asks for Go', async () => {
    const path = [...pages.keys()].find((name) => name.endsWith('kubernetes-server-linux-amd64.tar.gz')) ?? '';
    const right = pages.get(path) ?? Buffer.of();
    pages.set(path, right.subarray(0, right.length / 2));
    try {
      const { failed, stdout, stderr } = await install('x64');

      expect(failed).toBe(true);
      expect(stdout).toBe('');
      expect(stderr).toMatch(
        /compiling instead: .*amd64\.tar\.gz: its SHA-512 is [0-9a-f]{128}; [0-9a-f]{128} is pinned/,
      );
      expect(stderr).toContain('Go 1.26 or newer was not found');
      expect(components()).toEqual([]);
    } finally {
      pages.set(path, right);
    }
  });

  test('finishes other downloads where one part cannot be installed, and fails with the reason', async () => {
    const python = `#!/bin/sh
case "$*" in
  --version) echo Python 3.11 ;;
  -c*) echo 3.11.0 ;;
  *) echo no virtual environments today; exit 1 ;;
esac
`;
    writeFileSync(join(tools, 'python3'), python, { mode: 0o755 });
    try {
      const { failed, stderr } = await install('x64', 'moto');

      expect(failed).toBe(true);
      expect(stderr.trimEnd().split('\n').slice(-4).join('\n')).toContain('no virtual environments today');
      expect(components()).toEqual(['kubernetes', 'temporal']);
    } finally {
      rmSync(join(tools, 'python3'));
    }
  });

  test('removes what an aborted run left, and begins anew', async () => {
    await install('x64');
    const [whole = ''] = readdirSync(join(cache, 'stowage')).filter((name) => name.startsWith('kubernetes-'));
    rmSync(join(cache, 'stowage', whole), { recursive: true });
    const half = join(cache, 'stowage', `${whole}.partial-0/bin`);
    mkdirSync(half, { recursive: true });
    writeFileSync(join(half, 'kube-apiserver'), 'half');

    expect(await install('x64')).toMatchObject({ failed: false });
    expect(components()).toEqual(['kubernetes', 'temporal']);
    expect(readFileSync(join(cache, 'stowage', whole, 'bin/kube-apiserver'), 'utf8')).toContain('amd64');
  });
});
