import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { labels } from '../../api/labels.js';
import type { Lease } from '../../api/kubernetes.js';
import { workflowIds } from '../../core/ids.js';
import { Auditor } from '../../tools/stack/auditor/auditor.js';
import { CloudProxyControl } from '../../tools/stack/cloud-proxy/control.js';
import { surroundings } from '../../tools/stack/components.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { Replica } from '../../tools/stack/replica.js';
import { startStack, type Stack } from '../../tools/stack/stack.js';
import { createKubeClient } from '../../kube/client.js';
import type { handleInterruption } from '../../workflows/interruption/handle-interruption.js';
import type { HandleInterruptionResult } from '../../workflows/interruption/interruption-messages.js';
import { smallRegion } from '../builders/small-region.js';
import { createNodeClass, createNodePool, deploy, nodeOf, within } from './world.js';

// Two operators and two workers in separate processes: when one dies, freezes or is replaced, the others go on.
const folder = mkdtempSync(join(tmpdir(), 'stowage-takeover-'));
const operators: Replica[] = [];
const workers: Replica[] = [];
let stack: Stack;
let kube: ReturnType<typeof createKubeClient>;
let cloud: CloudProxyControl;
let auditor: Auditor;

beforeAll(async () => {
  stack = await startStack({
    ...{ name: 'takeover', folder, parts: surroundings, moto: process.env.STOWAGE_TEST_MOTO },
    instanceFamilies: smallRegion,
  });
  kube = createKubeClient({ kubeconfig: stack.adminKubeconfig ?? '', userAgent: 'takeover-test' });
  cloud = new CloudProxyControl(stack.awsEndpoint ?? '');
  auditor = new Auditor({ stack, kube, cloud });
  await auditor.start();
  const world = { kube, stack };
  await createNodeClass(world, 'default');
  const requirements = [
    { key: labels.capacityType, operator: 'In', values: ['spot'] },
    { key: labels.instanceType, operator: 'In', values: ['c5.large', 'm5.large'] },
  ];
  const spec = { disruption: { consolidateAfter: 'Never' } };
  await createNodePool(world, 'default', { template: { requirements, expireAfter: 'Never' }, spec });
  for (const number of [1, 2]) {
    workers.push(await Replica.start(stack, { name: `worker-${number}`, role: 'worker' }));
    operators.push(await Replica.start(stack, { name: `operator-${number}`, role: 'operator' }));
  }
});

afterAll(async () => {
  await auditor.stop();
  for (const replica of [...operators, ...workers]) await replica.kill();
  kube.close();
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

const leaseRef = { name: 'stowage-leader-election', namespace: 'stowage' };

async function lease(): Promise<Lease['spec']> {
  return (await kube.get('Lease', leaseRef))?.spec;
}

/** Who leads, by what the operators say of themselves. */
async function leader(): Promise<Replica> {
  return observe(
    'an operator that leads',
    async () => {
      const { holderIdentity = '' } = (await lease()) ?? {};
      return operators.find((replica) => replica.isRunning && holderIdentity.endsWith(`_${replica.pid}`));
    },
    within(60),
    async () => JSON.stringify(await lease()),
  );
}

/** A pod runs that did not before; who does that works. */
async function launches(app: string): Promise<string> {
  await deploy({ kube }, app, { cpu: '1200m', memory: '256Mi' });
  return observe(`the pod of ${app} on a node`, () => nodeOf({ kube }, app), within(120));
}

async function instanceOf(app: string): Promise<string> {
  const node = await nodeOf({ kube }, app);
  const claim = (await kube.list('NodeClaim')).find(({ status }) => status?.nodeName === node);
  return claim?.status?.providerID?.split('/').at(-1) ?? '';
}

/** What the workflow that handled an instance's interruption came to. */
async function interruptionOf(id: string): Promise<HandleInterruptionResult> {
  const connection = await Connection.connect({ address: stack.temporalAddress ?? '' });
  try {
    const { workflow } = new Client({ connection });
    return await workflow.getHandle<typeof handleInterruption>(workflowIds.interrupt(stack.cluster, id)).result();
  } finally {
    await connection.close();
  }
}

const microTime = (text: string | undefined): number => Date.parse(text ?? '');

describe('two operators and two workers share the work', () => {
  test('a killed leader is replaced by the other operator within 15 s', async () => {
    const first = await leader();
    await launches('before');
    const before = await lease();
    await first.kill();
    const after = await observe(
      'another leader',
      async () => {
        const now = await lease();
        return now?.holderIdentity !== before?.holderIdentity ? now : undefined;
      },
      within(60),
    );
    // By what the Lease says: when the first renewed it last, and when the second got it.
    const renewed = microTime(before?.renewTime);
    expect(microTime(after.acquireTime) - renewed).toBeLessThan(15_000 + 1500);
    await launches('after');
    await first.start();
  });

  test('a leader that was frozen does nothing twice when it resumes', async () => {
    const frozen = await leader();
    frozen.freeze(true);
    await observe('another leader', async () => ((await leader()) === frozen ? undefined : true), within(60));
    await launches('meanwhile');
    frozen.freeze(false);
    await launches('awake');
    expect(await leader()).not.toBe(frozen);
    expect(frozen.isRunning).toBe(true);
    // One claim a pod: no second node was launched for any pod.
    const apps = ['before', 'after', 'meanwhile', 'awake'];
    expect(await kube.list('NodeClaim')).toHaveLength(apps.length);
  });

  test('a launch goes on while one of two workers is frozen', async () => {
    const [frozen, other] = workers as [Replica, Replica];
    frozen.freeze(true);
    await launches('frozen-worker');
    frozen.freeze(false);
    expect(other.isRunning).toBe(true);
  });

  test('a rolling restart stops every process gracefully, and an interruption during it drains its node', async () => {
    const id = await instanceOf('before');
    const node = await nodeOf({ kube }, 'before');
    await cloud.interruptSpot(id, { delayMs: 120_000 });
    for (const replica of [...workers, ...operators]) {
      expect(await replica.terminate()).toBe(true);
      await replica.start();
    }
    await observe(
      'the pod on another node',
      async () => {
        const now = await nodeOf({ kube }, 'before');
        return now !== undefined && now !== node;
      },
      within(120),
    );
    // Nothing stood still meanwhile: the drain was over before EC2 took the instance, two minutes after the notice.
    const { outcome, secondsToSpare } = await interruptionOf(id);
    expect(outcome).toBe('drained');
    expect(secondsToSpare).toBeGreaterThan(0);
  });

  test('no invariant was broken during the takeovers', async () => {
    await auditor.untilRest(180_000);
    expect(await auditor.verdict()).toEqual([]);
  });
});
