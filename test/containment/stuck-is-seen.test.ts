import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from '@jest/globals';
import { conditionOf } from '../../core/conditions.js';
import { workflowIds } from '../../core/ids.js';
import { observe } from '../../devstack/demo/observe.js';
import { readState } from '../../devstack/stack-state.js';
import { searchAttributes, taskQueues } from '../../workflows/messages.js';
import { createDefaultPool, deploy, nodeOf, within } from '../live/world.js';
import { metrics, status } from './answers.js';
import { containment, large } from './containment.js';

// What does not go on is told by `stowage status`, metrics, conditions and events, and no longer once it goes on.

const on = containment('stuck', createDefaultPool);

const environment = () => ({ ...process.env, ...on.world.stack.environment });

/** The section of what is wrong. */
async function stuck(): Promise<string> {
  return (await status(on.world)).split('\n\n').find((section) => section.startsWith('Wrong')) ?? '';
}

async function measured(kind: string): Promise<number | undefined> {
  const value = new RegExp(`^stowage_stuck\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(await metrics(on.world))?.[1];
  return value === undefined ? undefined : Number(value);
}

const until = (what: string, holds: () => Promise<boolean>, seconds: number): Promise<true> =>
  observe(what, async () => ((await holds().catch(() => false)) ? true : undefined), within(seconds), stuck);

const runs = async (app: string): Promise<boolean> => (await nodeOf(on.world, app)) !== undefined;

const planned = async () =>
  conditionOf((await on.world.kube.get('NodePool', { name: 'default' }))?.status?.conditions, 'PodsPlanned');

async function told(app: string): Promise<boolean> {
  const events = await on.world.kube.list('Event', { namespace: 'default' });
  return events.some(
    ({ involvedObject, message }) =>
      involvedObject.name?.startsWith(`${app}-`) === true && message?.startsWith('Stowage cannot plan') === true,
  );
}

/** Stowage's operator alone, in the place of the whole of it. */
function operatorAlone(): { end(): Promise<void> } {
  const { stowageHealth, stowageMetrics } = readState(on.world.stack.folder)!.ports;
  const ports = { HEALTH_PROBE_PORT: String(stowageHealth), METRICS_PORT: String(stowageMetrics) };
  const env = { ...environment(), ...ports, LISTEN_ADDRESS: '127.0.0.1' };
  const child = spawn(process.execPath, ['bin/stowage', 'run', '--role', 'operator'], { env, stdio: 'ignore' });
  const ended = once(child, 'exit');
  return {
    end: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

describe('what is stuck', () => {
  test('a workflow task that fails is told, with its cause and what waits for it, and no longer once it is mended', async () => {
    const { cluster } = on.world.stack;
    const provision = on.client.workflow.getHandle(workflowIds.provision(cluster));
    // What nobody of ours starts: workers know no workflow of this type, so that no workflow task of it succeeds.
    await on.client.workflow.start('unknownWorkflow', {
      workflowId: provision.workflowId,
      taskQueue: taskQueues(cluster).control,
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      typedSearchAttributes: [{ key: searchAttributes.cluster, value: cluster }],
    });
    await deploy(on.world, 'failing', large);

    await until('the failing task', async () => /provision: its workflow task fails: \S/.test(await stuck()), 120);
    await until('the metric', async () => (await measured('task')) === 1, 60);
    await until('the condition', async () => (await planned())?.status === 'False', 90);
    await until('the event', () => told('failing'), 60);

    await provision.terminate('containment test');
    await until('the pod running', () => runs('failing'), 240);
    await until('nothing stuck', async () => (await stuck()) === '', 60);
    await until('the metric at 0', async () => (await measured('task')) === 0, 60);
    await until('the condition gone', async () => (await planned()) === undefined, 60);
  }, 700_000);

  test('queues without workers are told, and what waits for them', async () => {
    await on.world.stack.stopComponent('stowage');
    const operator = operatorAlone();
    try {
      await deploy(on.world, 'waiting', large);
      await until(
        'the workflow task that nobody takes',
        async () => /provision: no worker takes/.test(await stuck()),
        120,
      );
      await until('the metric', async () => ((await measured('queue')) ?? 0) > 0, 60);
      await until('the queues', async () => /\/packing \(activity tasks\): no worker/.test(await stuck()), 120);
    } finally {
      await operator.end();
    }
    await on.world.stack.startComponent('stowage');
    await until('the pod running', () => runs('waiting'), 180);
    await until('nothing stuck', async () => (await stuck()) === '', 60);
    await until('the metric at 0', async () => (await measured('queue')) === 0, 60);
  }, 700_000);
});
