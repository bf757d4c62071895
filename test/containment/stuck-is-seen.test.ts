import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { conditionOf } from '../../core/conditions.js';
import { workflowIds } from '../../core/ids.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { readState } from '../../tools/stack/stack-state.js';
import { searchAttributes, taskQueues } from '../../workflows/messages.js';
import { apply } from '../live/kubectl.js';
import { createDefaultPool, deploy, nodeOf, within } from '../live/world.js';
import { environmentOf, stowageHere } from '../situations/stowage.js';
import { valueOf, metricsAddress } from './answers.js';
import { large, sharedContainment } from './containment.js';

// What is stuck is reported by `stowage status`, metrics, conditions and events until it goes on.

const on = sharedContainment(async (world) => {
  Object.assign(process.env, environmentOf(world));
  await createDefaultPool(world);
});

const environment = () => ({ ...process.env, ...on.world.stack.environment });

/** The section of what is wrong. */
async function stuck(): Promise<string> {
  return (await stowageHere('status')).split('\n\n').find((section) => section.startsWith('Wrong')) ?? '';
}

const metric = (name: string, kind: string): Promise<number | undefined> =>
  valueOf(metricsAddress(on.world), `${name}{kind="${kind}"}`);

const measured = (kind: string): Promise<number | undefined> => metric('stowage_stuck', kind);

/** Whether what deploy/alerts.yaml asks for holds. */
const isAlerted = async (kind: string): Promise<boolean> =>
  ((await metric('stowage_stuck_oldest_seconds', kind)) ?? 0) >= 20;

const until = (what: string, holds: () => Promise<boolean>, seconds: number): Promise<true> =>
  observe(what, async () => await holds().catch(() => false), within(seconds), stuck);

const runs = async (app: string): Promise<boolean> => (await nodeOf(on.world, app)) !== undefined;

const planned = async () =>
  conditionOf((await on.world.kube.get('NodePool', { name: 'default' }))?.status?.conditions, 'PodsPlanned');

async function hasEvent(app: string): Promise<boolean> {
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

/** Stowage's ClusterRole; without the right to list NodePools no NodeClaim can be created. */
function clusterRole(mayList: boolean): object {
  const documents = parseAllDocuments(readFileSync('deploy/rbac.yaml', 'utf8')).map((each) => each.toJS() as Role);
  const role = documents.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'stowage')!;
  const rules = role.rules.map(({ verbs, ...rule }) => {
    const isOfPools = rule.resources.includes('nodepools');
    return { ...rule, verbs: verbs.filter((verb) => mayList || !isOfPools || verb !== 'list') };
  });
  return { ...role, rules };
}

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

describe('what is stuck is reported by status', () => {
  test('planning that fails and is retried is reported with its cause, until it succeeds', async () => {
    await apply(on.world.stack, [clusterRole(false)]);
    await deploy(on.world, 'unplanned', large);

    const failing = /provision: createClaims fails: .*nodepools.* is forbidden/;
    await until('the failing step', async () => failing.test(await stuck()), 90);
    await until('the metric', async () => (await measured('failing')) === 1, 60);
    await until('the alert', () => isAlerted('failing'), 60);
    await until('the condition', async () => (await planned())?.message?.includes('createClaims fails') === true, 90);
    await until('the event', () => hasEvent('unplanned'), 60);

    await apply(on.world.stack, [clusterRole(true)]);
    await until('the pod running', () => runs('unplanned'), 240);
    await until('nothing stuck', async () => (await stuck()) === '', 60);
    await until('the condition gone', async () => (await planned()) === undefined, 60);
  });

  test('a failing workflow task is reported with its cause and what waits for it, until it is mended', async () => {
    const { cluster } = on.world.stack;
    const provision = on.client.workflow.getHandle(workflowIds.provision(cluster));
    // Workers know no workflow of this type, so that no workflow task of it succeeds.
    await on.client.workflow.start('unknownWorkflow', {
      workflowId: provision.workflowId,
      taskQueue: taskQueues(cluster).control,
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      typedSearchAttributes: [{ key: searchAttributes.cluster, value: cluster }],
    });
    await deploy(on.world, 'failing', large);

    await until('the failing task', async () => /provision: its workflow task fails: \S/.test(await stuck()), 120);
    await until('the metric', async () => (await measured('task')) === 1, 60);
    await until('the alert', () => isAlerted('task'), 60);
    await until('the condition', async () => (await planned())?.status === 'False', 90);
    await until('the event', () => hasEvent('failing'), 60);

    await provision.terminate('containment test');
    await until('the pod running', () => runs('failing'), 240);
    await until('nothing stuck', async () => (await stuck()) === '', 60);
    await until('the metric at 0', async () => (await measured('task')) === 0, 60);
    await until('the condition gone', async () => (await planned()) === undefined, 60);
  });

  test('task queues without workers are reported with what waits for them, and so are signals that pile up', async () => {
    await on.world.stack.stopComponent('stowage');
    const operator = operatorAlone();
    try {
      await deploy(on.world, 'waiting', large);
      await until(
        'the workflow task that no worker takes',
        async () => /provision: no worker takes/.test(await stuck()),
        120,
      );
      await until('the metric', async () => ((await measured('queue')) ?? 0) > 0, 60);
      await until('the alert', () => isAlerted('queue'), 60);
      const provision = on.client.workflow.getHandle(workflowIds.provision(on.cluster));
      for (let sent = 0; sent < 45; sent++) await provision.signal('nothingThatItKnows', 'x'.repeat(250_000));
      await until(
        'the signals',
        async () => /provision: its history grows .*: signals pile up/.test(await stuck()),
        60,
      );
      await until('the metric', async () => (await measured('signals')) === 1, 60);
      await until('the alert', () => isAlerted('signals'), 60);
      await until('the condition', async () => (await planned())?.status === 'False', 90);
      await until('the queues', async () => /\/packing \(activity tasks\): no worker/.test(await stuck()), 120);
    } finally {
      await operator.end();
    }
    await on.world.stack.startComponent('stowage');
    await until('the pod running', () => runs('waiting'), 180);
    await until('nothing stuck', async () => (await stuck()) === '', 60);
    for (const kind of ['queue', 'signals'])
      await until('the metric at 0', async () => (await measured(kind)) === 0, 60);
  });
});
