import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import type { Server } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { ensureToolchain } from '../../tools/stack/toolchain.js';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { readSettings } from '../../process/settings.js';
import { connectTemporal, renewConnections } from '../../process/temporal.js';
import type { Certificates } from './certificates.js';
import { makeCertificates } from './certificates.js';

let env: TestWorkflowEnvironment;
let folder: string;
let frontend: Server;
const sockets = new Set<Socket>();

/** Mutual TLS before Temporal: who has no certificate of the authority of the moment is refused. */
function tlsBefore(address: string, { ca, cert, key }: Certificates): Server {
  const [host, port] = address.split(':');
  return createServer({ ca, cert, key, requestCert: true, ALPNProtocols: ['h2'] }, (socket) => {
    const behind = connect(Number(port), host);
    for (const each of [socket, behind]) {
      sockets.add(each);
      each.on('error', () => undefined).on('close', () => sockets.delete(each));
    }
    socket.pipe(behind).pipe(socket);
    socket.on('close', () => behind.destroy());
    behind.on('close', () => socket.destroy());
  }).on('tlsClientError', () => undefined);
}

function writeFiles({ ca, cert, key }: Certificates): void {
  for (const [name, content] of Object.entries({ ca, cert, key })) writeFileSync(join(folder, name), content);
}

beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: 'OFF', forward: {} } },
  });
  const path = (await ensureToolchain(['temporal'])).temporal!;
  env = await TestWorkflowEnvironment.createLocal({ server: { executable: { type: 'existing-path', path } } });
  folder = mkdtempSync(join(tmpdir(), 'stowage-renewed-'));
});

afterAll(async () => {
  frontend.close();
  await env.teardown();
  rmSync(folder, { recursive: true });
});

test('changed TLS certificates are used without a restart, by the client and by running workers', async () => {
  const [first, second] = [await makeCertificates(folder, 'first'), await makeCertificates(folder, 'second')];
  writeFiles(first);
  frontend = tlsBefore(env.address, first).listen(0, '127.0.0.1');
  await new Promise((resolve) => frontend.once('listening', resolve));
  const settings = readSettings({
    CLUSTER_NAME: 'c',
    TEMPORAL_ADDRESS: `127.0.0.1:${(frontend.address() as AddressInfo).port}`,
    TEMPORAL_TLS_CA: join(folder, 'ca'),
    TEMPORAL_TLS_CERT: join(folder, 'cert'),
    TEMPORAL_TLS_KEY: join(folder, 'key'),
  });
  const ending = new AbortController();
  const logged: string[] = [];
  const collect = (_: unknown, text: string): void => void logged.push(text);
  const log = { debug: collect, info: collect, warn: collect, error: collect };
  const connections = await connectTemporal(settings, log, ending.signal);
  const workers = await connections.forWorkers();
  const worker = await Worker.create({
    connection: workers.connection,
    taskQueue: 'echo',
    activities: { say: (text: string) => Promise.resolve(text) },
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: join(repositoryRoot(), 'test/workflow/echo.ts'),
      logger: new DefaultLogger('ERROR'),
    }),
  });
  const running = worker.run();
  workers.join(worker);
  const echo = async (text: string): Promise<string> =>
    connections.client.workflow.execute('echo', { taskQueue: 'echo', workflowId: `echo-${text}`, args: [text] });
  expect(await echo('before')).toBe('before');

  const renewing = renewConnections(settings, connections, log, ending.signal, 20);
  // Half of it is there: it fits neither side, and the connection stays as it is.
  writeFileSync(join(folder, 'ca'), second.ca);
  await until(() => logged.some((text) => text.startsWith('cannot connect to Temporal by its changed files')));
  expect(await echo('between')).toBe('between');

  frontend.setSecureContext(second);
  writeFiles(second);
  await until(() => logged.some((text) => text.endsWith('connected anew')));
  // The first connections are closed, and their certificate is no longer accepted.
  for (const socket of sockets) socket.destroy();
  expect(await echo('after')).toBe('after');

  ending.abort();
  await renewing;
  worker.shutdown();
  await running;
  workers.leave(worker);
  await connections.close();
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}
