import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { freePorts } from './ports.js';

let claims: string;

beforeEach(() => {
  claims = mkdtempSync(join(tmpdir(), 'stowage-ports-test-'));
});

afterEach(() => {
  rmSync(claims, { recursive: true });
});

const dayAgo = new Date(Date.now() - 86_400_000);

/** The first ports of all rows that are still given. */
async function everyRow(): Promise<number[]> {
  const given: number[] = [];
  for (;;) {
    const ports = await freePorts(1, claims).catch(() => []);
    if (ports.length === 0) return given;
    given.push(...ports);
  }
}

describe('free ports for stacks', () => {
  test('are given to one stack alone, before it listens on them', async () => {
    const given = await Promise.all(Array.from({ length: 40 }, () => freePorts(22, claims)));
    const all = given.flat();
    expect(new Set(all).size).toBe(40 * 22);
    expect(readdirSync(claims).length).toBeGreaterThanOrEqual(40);
  });

  test('are reused where their claim is a day old', async () => {
    const [first = 0] = await freePorts(1, claims);
    utimesSync(join(claims, String(first)), dayAgo, dayAgo);
    expect(await everyRow()).toContain(first);
  });

  test('are of a row in which no port is in use', async () => {
    const [first = 0] = await freePorts(1, claims);
    const server = createServer().listen({ host: '127.0.0.1', port: first + 39 });
    await once(server, 'listening');
    try {
      utimesSync(join(claims, String(first)), dayAgo, dayAgo);
      expect(await everyRow()).not.toContain(first);
    } finally {
      server.close();
      await once(server, 'close');
    }
  });

  test("beyond a row's size are refused", async () => {
    await expect(freePorts(41, claims)).rejects.toThrow('41 ports are wanted at once; at most 40 are given.');
  });
});
