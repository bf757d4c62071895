import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { observe } from '../../tools/stack/demo/observe.js';
import { freePorts } from '../../tools/stack/ports.js';
import { within } from './world.js';

// Threads of Temporal's SDK would keep a process that has no worker yet for ever.
const nowhere = 'http://127.0.0.1:1';
let folder: string;
let taken: Server;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stowage-ending-'));
  const clusters = [{ name: 'c', cluster: { server: nowhere } }];
  const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
  const config = { 'current-context': 'c', clusters, contexts, users: [{ name: 'u', user: {} }] };
  writeFileSync(join(folder, 'config'), JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
  taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
});
afterAll(() => {
  taken.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Run {
  readonly said: () => string;
  readonly end: () => void;
  /** Its exit status; null where a signal has ended it. */
  readonly ended: Promise<number | null>;
}

/** Stowage without API server and Temporal. */
function run(ports: { readonly metrics: number; readonly health: number }): Run {
  const env = {
    ...process.env,
    ...{ CLUSTER_NAME: 'nowhere', KUBECONFIG: join(folder, 'config'), TEMPORAL_ADDRESS: '127.0.0.1:1' },
    ...{ AWS_REGION: 'us-west-2', AWS_ENDPOINT_URL: nowhere, LISTEN_ADDRESS: '127.0.0.1' },
    ...{ METRICS_PORT: String(ports.metrics), HEALTH_PROBE_PORT: String(ports.health) },
  };
  const child = spawn(process.execPath, ['bin/stowage', 'run'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  return { said: () => said, end: () => void child.kill('SIGTERM'), ended };
}

test('SIGTERM while the process waits for Temporal ends it with exit status 0', async () => {
  const [metrics = 0, health = 0] = await freePorts(2);
  const { said, end, ended } = run({ metrics, health });
  await observe('It waiting', () => Promise.resolve(said().includes('Temporal is unreachable')), within(120), () => Promise.resolve(said())); // prettier-ignore

  end();

  expect([await ended, said().includes('shutdown timed out')]).toEqual([0, false]);
});

test('a process whose port is taken exits and names the setting', async () => {
  const [health = 0] = await freePorts(1);
  const { port } = taken.address() as AddressInfo;
  const { said, ended } = run({ metrics: port, health });

  expect(await ended).toBe(2);
  expect(said()).toContain(`stowage: METRICS_PORT: cannot listen on port ${port}: `);
});
