import { randomInt } from 'node:crypto';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Below what operating systems give to outgoing connections (from 32768 on Linux, 49152 elsewhere), which come and go
 * between the choice of a port and its use.
 */
const range = { first: 10_000, last: 31_999 };

/** Ports are given in rows that do not overlap: while a process of a stack listens, no other gets the ports of its neighbours that are down. */
const row = 40;
const rows = Math.floor((range.last - range.first + 1) / row);

/** How long a chosen row stays claimed before its process listens, or between two runs of it. */
const claimMs = 30 * 60_000;

/** Free loopback ports that no other process on this machine is given, all different; `count` is at most 40. */
export async function freePorts(count: number, claims = join(tmpdir(), 'stowage-ports')): Promise<number[]> {
  if (count > row) throw new Error(`${count} ports are wanted at once; at most ${row} are given.`);
  mkdirSync(claims, { recursive: true });
  // Each row once, from one at random.
  const from = randomInt(rows);
  for (let n = 0; n < rows; n++) {
    const first = range.first + row * ((from + n) % rows);
    if (!claim(join(claims, String(first)))) continue;
    const ports = Array.from({ length: row }, (_, index) => first + index);
    if (await areFree(ports)) return ports.slice(0, count);
  }
  throw new Error(`No ${row} loopback ports in a row are free between ${range.first} and ${range.last}.`);
}

/** Whether the row is this process' now: one file a row, which only one process can create. */
function claim(file: string): boolean {
  const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined && Date.now() - since > claimMs) rmSync(file, { force: true });
  try {
    writeFileSync(file, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

async function areFree(ports: readonly number[]): Promise<boolean> {
  const servers = await Promise.all(ports.map(listen));
  await Promise.all(servers.filter((server) => server !== undefined).map(close));
  return servers.every((server) => server !== undefined);
}

function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen({ host: '127.0.0.1', port }, () => {
      resolve(server);
    });
  });
}

function close(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}
