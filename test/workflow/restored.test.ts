import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { readSettings } from '../../process/settings.js';
import { connectTemporal, watchTemporal } from '../../process/temporal.js';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { ensureToolchain } from '../../tools/stack/toolchain.js';
import { workflowSources } from '../../worker/bundle.js';
import { approveSignal, nodeChangedSignal } from '../../workflows/messages.js';

const unheard = (): void => undefined;
const log = { debug: unheard, info: unheard, warn: unheard, error: unheard };
let folder: string;
let port: number;
let server: ChildProcess;

async function startServer(): Promise<void> {
  const path = (await ensureToolchain(['temporal'])).temporal!;
  const options = [`--port=${port}`, `--db-filename=${folder}/temporal.db`, '--sqlite-pragma=journal_mode=WAL'];
  server = spawn(path, ['server', 'start-dev', '--headless', '--ip=127.0.0.1', '--log-level=error', ...options]);
}

async function stopServer(): Promise<void> {
  server.kill('SIGKILL');
  await once(server, 'exit');
}

async function until(is: () => boolean): Promise<void> {
  while (!is()) await delay(100);
}

beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: 'OFF', forward: {} } },
  });
  folder = mkdtempSync(join(tmpdir(), 'stowage-restored-'));
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  ({ port } = free.address() as AddressInfo);
  free.close();
  await startServer();
});
afterAll(async () => {
  await stopServer();
  rmSync(folder, { recursive: true });
});

// Rule `invariants/rebuilt`.
test('Temporal is restored from a backup beside a running worker: a workflow goes on from the history that is restored', async () => {
  const ending = new AbortController();
  const settings = readSettings({ CLUSTER_NAME: 'c', TEMPORAL_ADDRESS: `127.0.0.1:${port}` });
  const connections = await connectTemporal(settings, log, ending.signal);
  const connected = await connections.forWorkers();
  const workflowBundle = await bundleWorkflowCode({
    ...{ workflowsPath: join(repositoryRoot(), 'test/workflow/obey.ts'), logger: new DefaultLogger('ERROR') },
    workflowInterceptorModules: workflowSources().workflowInterceptorModules,
  });
  let begun = 0;
  let polls = 0;
  const working = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const worker = await Worker.create({ connection: connected.connection, taskQueue: 'q', workflowBundle });
      const running = worker.run();
      connected.join(worker);
      begun += 1;
      await running;
      connected.leave(worker);
    }
  };
  const workflow = await connections.client.workflow.start('obey', { taskQueue: 'q', workflowId: 'obey' });
  const watching = watchTemporal(
    connections.client,
    {
      ...{ log, address: '', namespace: 'default', always: 'obey' },
      ...{ onState: () => undefined, onProblem: () => undefined, onPoll: () => (polls += 1) },
      onRestored: () => connections.restartWorkers(),
    },
    ending.signal,
  );
  const worked = working();
  const obeyed = async (actor: string): Promise<void> => {
    await workflow.signal(approveSignal, { actor });
    while ((await workflow.describe()).raw.pendingWorkflowTask) await delay(100);
  };

  await obeyed('before');
  await stopServer();
  cpSync(folder, `${folder}-backup`, { recursive: true });
  await startServer();
  for (const actor of ['lost', 'lost too', 'lost as well']) await obeyed(actor);
  const polled = polls;
  await until(() => polls >= polled + 2);
  await stopServer();
  rmSync(folder, { recursive: true });
  cpSync(`${folder}-backup`, folder, { recursive: true });
  await startServer();

  await until(() => begun === 2);
  await obeyed('after');
  await workflow.signal(nodeChangedSignal);
  expect(await workflow.result()).toEqual(['before', 'after']);
  ending.abort();
  connections.restartWorkers();
  await Promise.all([worked, watching]);
  await connections.close();
  rmSync(`${folder}-backup`, { recursive: true });
});
