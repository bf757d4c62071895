import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { temporalEngine } from '../../cli/history/engine.js';
import { ensureToolchain } from '../../tools/stack/toolchain.js';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { clientConverter, workerConverter } from '../../process/encryption/converter.js';
import { addSearchAttributes } from '../../process/search-attributes.js';
import { readSettings } from '../../process/settings.js';
import { workflowSources } from '../../worker/bundle.js';
import { searchAttributes } from '../../workflows/messages.js';

let env: TestWorkflowEnvironment;
const folder = mkdtempSync(join(tmpdir(), 'stowage-encrypted-'));

beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: 'OFF', forward: {} } },
  });
  const path = (await ensureToolchain(['temporal'])).temporal!;
  env = await TestWorkflowEnvironment.createLocal({ server: { executable: { type: 'existing-path', path } } });
  await addSearchAttributes(env.connection, 'default', [searchAttributes.nodePool]);
});

afterAll(async () => {
  await env.teardown();
  rmSync(folder, { recursive: true });
});

test('Temporal stores inputs, results and notes encrypted, search attributes excepted, and clients with the keys read all', async () => {
  const file = join(folder, 'keys.yaml');
  writeFileSync(file, JSON.stringify({ current: 'a', keys: { a: randomBytes(32).toString('base64') } }));
  const settings = readSettings({ CLUSTER_NAME: 'c', TEMPORAL_PAYLOAD_KEYS_FILE: file });
  const fail = (problem: string): void => {
    throw new Error(problem);
  };
  const worker = await Worker.create({
    connection: env.nativeConnection,
    taskQueue: 'echo',
    dataConverter: workerConverter(settings, fail),
    activities: { say: (text: string) => Promise.resolve(`said: ${text}`) },
    workflowBundle: await bundled(),
  });
  const client = new Client({ connection: env.connection, dataConverter: clientConverter(settings, fail) });
  const execution = { workflowId: 'echo', runId: '' };
  const { nodePool } = searchAttributes;
  const result = await worker.runUntil(
    client.workflow.execute('echo', {
      ...{ taskQueue: 'echo', workflowId: 'echo', args: ['shop/web-0'] },
      ...{ staticSummary: 'for shop/web-0', memo: { pods: 'shop/web-0' } },
      typedSearchAttributes: [{ key: nodePool, value: 'default' }],
    }),
  );
  expect(result).toBe('said: shop/web-0');

  const { history } = await client.workflowService.getWorkflowExecutionHistory({ namespace: 'default', execution });
  const raw = textsIn(history).join('\n');
  expect(raw).toContain('binary/encrypted');
  expect(raw).not.toContain('web-0');
  const { runId, memo, typedSearchAttributes } = await client.workflow.getHandle('echo').describe();
  expect(memo).toEqual({ pods: 'shop/web-0' });
  expect(typedSearchAttributes.get(nodePool)).toBe('default');
  const steps = await temporalEngine(client).steps({ workflowId: 'echo', runId });
  expect(steps).toMatchObject([
    { is: 'started', input: 'shop/web-0', summary: 'for shop/web-0' },
    { is: 'attributes', values: { StowageNodePool: 'default' } },
    { is: 'activity', input: 'shop/web-0', result: 'said: shop/web-0' },
    { is: 'ended', result: 'said: shop/web-0' },
  ]);
});

test.each([
  ['an activity', 'echo', 'activity say'],
  ['a child', 'relay', 'workflow plain'],
])('a %s result that cannot be decrypted fails the step that waits for it', async (_, type, what) => {
  // An encoding that the SDK does not know.
  const encoding = new TextEncoder().encode('binary/odd');
  const odd: PayloadCodec = {
    decode: (payloads) => Promise.resolve(payloads),
    encode: (payloads) => Promise.resolve(payloads.map((payload) => ({ ...payload, metadata: { encoding } }))),
  };
  const { nativeConnection: connection } = env;
  const own = await Worker.create({ connection, taskQueue: type, workflowBundle: await bundled() });
  const another = await Worker.create({
    connection,
    taskQueue: 'odd',
    dataConverter: { payloadCodecs: [odd] },
    activities: { say: (text: string) => Promise.resolve(`said: ${text}`) },
    workflowBundle: await bundled(),
  });
  const client = new Client({ connection: env.connection });
  const options = { taskQueue: type, workflowId: `unreadable ${type}`, args: ['shop/web-0', 'odd'] };

  const failure: unknown = await another.runUntil(
    own.runUntil(client.workflow.execute(type, options).catch((error: unknown) => error)),
  );

  expect((failure as { cause?: unknown }).cause).toMatchObject({
    type: 'Unreadable',
    message: expect.stringContaining(`the result of ${what} cannot be read`),
  });
});

let bundle: ReturnType<typeof bundleWorkflowCode> | undefined;

/** The workflow `echo`, with what reads the payloads of all others. */
const bundled = (): ReturnType<typeof bundleWorkflowCode> =>
  (bundle ??= bundleWorkflowCode({
    ...workflowSources(),
    workflowsPath: join(repositoryRoot(), 'test/workflow/echo.ts'),
    logger: new DefaultLogger('ERROR'),
  }));

/** Every text and every run of bytes below `value`. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('latin1')];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
