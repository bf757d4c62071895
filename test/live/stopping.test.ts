import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { workflowIds } from '../../core/ids.js';
import { surroundings } from '../../devstack/components.js';
import { observe } from '../../devstack/demo/observe.js';
import { answers } from '../../devstack/http.js';
import { repositoryRoot } from '../../devstack/paths.js';
import { freePorts } from '../../devstack/ports.js';
import { startStack, type Stack } from '../../devstack/stack.js';
import { createKubeClient } from '../../kube/client.js';
import { createDefaultPool, deploy, nodeOf, within } from './world.js';

// SIGTERM, as kubelet sends it: processes of both roles end in order while a node is drained, and the drain goes on in their successors.
const roles = ['operator', 'worker'] as const;
/** `terminationGracePeriodSeconds` of the chart; then kubelet kills. */
const graceMs = 30_000;

const folder = mkdtempSync(join(tmpdir(), 'stowage-stopping-'));
let stack: Stack;
let kube: ReturnType<typeof createKubeClient>;
let temporal: Connection;
let running: ChildProcess[] = [];

beforeAll(async () => {
  stack = await startStack({ folder, name: 'stopping', parts: surroundings });
  kube = createKubeClient({ kubeconfig: stack.adminKubeconfig ?? '', userAgent: 'stopping-test' });
  temporal = await Connection.connect({ address: stack.temporalAddress ?? '' });
  await start();
  await createDefaultPool({ stack, kube });
}, 600_000);

afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await temporal.close();
  kube.close();
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

/** One process of each role, ready. */
async function start(): Promise<void> {
  const ports = await freePorts(2 * roles.length);
  running = roles.map((role, at) => {
    const env = {
      ...process.env,
      ...stack.environment,
      LISTEN_ADDRESS: '127.0.0.1',
      HEALTH_PROBE_PORT: String(ports[2 * at]),
      METRICS_PORT: String(ports[2 * at + 1]),
    };
    const args = [join(repositoryRoot(), 'bin/stowage'), 'run', '--role', role];
    return spawn(process.execPath, args, { env, stdio: 'ignore' });
  });
  for (const [at, role] of roles.entries()) {
    const isReady = (): Promise<boolean> => answers(`http://127.0.0.1:${ports[2 * at]}/readyz`);
    await observe(`the ${role} being ready`, async () => ((await isReady()) ? true : undefined), within(60));
  }
}

/** What becomes of each: its exit status, or the signal that killed it. */
async function stop(): Promise<unknown[]> {
  const ends = running.map(async (child) => {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const kill = setTimeout(() => child.kill('SIGKILL'), graceMs);
    const [status, signal] = (await ended) as [number | null, string | null];
    clearTimeout(kill);
    return status ?? signal;
  });
  return Promise.all(ends);
}

const holder = async (): Promise<string> =>
  (await kube.get('Lease', { namespace: 'stowage', name: 'stowage-leader-election' }))?.spec?.holderIdentity ?? '';

test('both roles exit with 0 in the middle of a drain, hand the lease on, and the drain ends in their successors', async () => {
  await deploy({ kube }, 'held', { cpu: '3', memory: '4Gi' });
  const node = await observe('a node for held', () => nodeOf({ kube }, 'held'), within(120));
  await kube.create('PodDisruptionBudget', {
    metadata: { name: 'held', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'held' } } },
  });
  const claim = (await kube.list('NodeClaim')).find(({ status }) => status?.nodeName === node)!;
  const name = claim.metadata.name ?? '';
  const drain = new Client({ connection: temporal }).workflow.getHandle(
    workflowIds.terminate(stack.cluster, claim.metadata.uid ?? ''),
  );
  await kube.delete('NodeClaim', { name });
  const isTainted = async (): Promise<boolean> =>
    ((await kube.get('Node', { name: node }))?.spec?.taints ?? []).some(({ key }) => key === 'karpenter.sh/disrupted');
  await observe('the drain of its node', async () => ((await isTainted()) ? true : undefined), within(60));
  const { runId } = await drain.describe();
  expect(await holder()).not.toBe('');

  expect(await stop()).toEqual([0, 0]);
  expect(await holder()).toBe('');
  expect((await drain.describe()).status.name).toBe('RUNNING');

  await start();
  await kube.delete('PodDisruptionBudget', { name: 'held', namespace: 'default' });
  await observe(
    'the end of the drained node',
    async () => ((await kube.get('NodeClaim', { name })) === undefined ? true : undefined),
    within(120),
  );
  await drain.result();
  expect(await drain.describe()).toMatchObject({ runId, status: { name: 'COMPLETED' } });
  expect(await stop()).toEqual([0, 0]);
}, 400_000);
