import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, WorkflowUpdateFailedError, type WorkflowClientInterceptor } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { ensureToolchain } from '../../tools/stack/toolchain.js';
import { sendOrderPolicy, vouchForOrders } from '../../process/order-headers.js';
import { workflowSources } from '../../worker/bundle.js';
import { approveSignal, approveUpdate, clusterChangedSignal, nodeChangedSignal } from '../../workflows/messages.js';

// On a server: the policy that the operator sets, orders signed by the command, and unsigned ones of other Temporal clients.
let env: TestWorkflowEnvironment;
let workflowBundle: WorkflowBundleWithSourceMap;
const client = (...workflow: WorkflowClientInterceptor[]): Client =>
  new Client({ connection: env.connection, interceptors: { workflow } });

beforeAll(async () => {
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger, telemetryOptions: { logging: { filter: 'OFF', forward: {} } } });
  const path = (await ensureToolchain(['temporal'])).temporal!;
  env = await TestWorkflowEnvironment.createLocal({ server: { executable: { type: 'existing-path', path } } });
  const { workflowInterceptorModules } = workflowSources();
  const workflowsPath = `${repositoryRoot()}/test/workflow/obey.ts`;
  workflowBundle = await bundleWorkflowCode({ workflowsPath, workflowInterceptorModules, logger });
});
afterAll(() => env.teardown());

test('orders sent to Temporal directly are marked, and refused where the policy forbids them', async () => {
  const worker = await Worker.create({ connection: env.nativeConnection, taskQueue: 'obey', workflowBundle });
  const anyone = client().workflow.getHandle('obey');
  const command = client(vouchForOrders).workflow.getHandle('obey');
  const obeyed = await worker.runUntil(async () => {
    await client(sendOrderPolicy('Authorised')).workflow.start('obey', { taskQueue: 'obey', workflowId: 'obey' });
    const refused: unknown = await anyone
      .executeUpdate(approveUpdate, { args: [{ actor: 'mallory' }] })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(WorkflowUpdateFailedError);
    expect((refused as WorkflowUpdateFailedError).cause).toMatchObject({ type: 'NotAuthorised' });
    await anyone.signal(approveSignal, { actor: 'mallory' });
    await command.executeUpdate(approveUpdate, { args: [{ actor: 'ann' }] });
    await command.signal(approveSignal, { actor: 'ben' });

    const operator = client(sendOrderPolicy('Any')).workflow.getHandle('obey');
    await operator.signal(clusterChangedSignal);
    await anyone.executeUpdate(approveUpdate, { args: [{ actor: 'carla' }] });
    await operator.signal(nodeChangedSignal);
    return anyone.result() as Promise<readonly string[]>;
  });

  expect(obeyed).toEqual(['ann', 'ben', 'carla (not authenticated)']);
  await Worker.runReplayHistory({ workflowBundle }, await anyone.fetchHistory(), 'obey');
});
