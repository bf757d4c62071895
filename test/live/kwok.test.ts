import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { observe } from '../../tools/stack/demo/observe.js';
import { deploymentOf } from '../../tools/stack/deployment.js';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { startStack, type Stack } from '../../tools/stack/stack.js';
import { createKubeClient } from '../../kube/client.js';
import type { KubeClient } from '../../kube/port.js';
import { apply } from './kubectl.js';

// Stowage with CLOUD_PROVIDER=kwok: no EC2, no joiner; the Node objects are the machines.
const folder = mkdtempSync(join(tmpdir(), 'stowage-kwok-'));
const log = join(folder, 'stowage.log');
let stack: Stack;
let kube: KubeClient;
let stowage: ChildProcess;

beforeAll(async () => {
  stack = await startStack({ name: 'kwok', folder, parts: ['controllers', 'temporal'] });
  kube = createKubeClient({ kubeconfig: stack.adminKubeconfig ?? '', userAgent: 'kwok-test' });
  const output = openSync(log, 'a');
  stowage = spawn(process.execPath, [join(repositoryRoot(), 'bin/stowage'), 'run'], {
    stdio: ['ignore', output, output],
    env: {
      ...process.env,
      ...stack.environment,
      CLOUD_PROVIDER: 'kwok',
      INSTANCE_TYPES_FILE_PATH: join(repositoryRoot(), 'examples/instance-types.json'),
      LISTEN_ADDRESS: '127.0.0.1',
      METRICS_PORT: '0',
      HEALTH_PROBE_PORT: '0',
    },
  });
  closeSync(output);
});

afterAll(async () => {
  const ended = new Promise((resolve) => stowage.once('exit', resolve));
  if (stowage.exitCode === null && stowage.kill('SIGTERM')) await ended;
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

const within = {
  withinMs: 240_000,
  failure: () =>
    stowage.exitCode === null ? undefined : new Error(`Stowage ended:\n${readFileSync(log, 'utf8').slice(-3000)}`),
};

/** What is left, and what Stowage said last. */
async function lastSeen(): Promise<string> {
  const left = [...(await kube.list('NodeClaim')), ...(await kube.list('Pod', { namespace: 'default' }))];
  const names = left.map(({ kind, metadata }) => `${kind} ${metadata.name ?? ''} ${metadata.deletionTimestamp ?? ''}`);
  return `${names.join(', ')}\n${readFileSync(log, 'utf8').slice(-6000)}`;
}

test('with the kwok provider pods run on simulated nodes, and a node and its instance go together', async () => {
  await apply(stack, [
    { apiVersion: 'karpenter.kwok.sh/v1alpha1', kind: 'KWOKNodeClass', metadata: { name: 'default' } },
    {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'default' },
      spec: {
        disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] },
        template: {
          spec: {
            requirements: [],
            nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
          },
        },
      },
    },
  ]);
  await kube.create('Deployment', deploymentOf('web', 20, { cpu: '900m' }));

  await observe(
    '20 pods running',
    async () => {
      const pods = await kube.list('Pod', { namespace: 'default' });
      return pods.filter(({ status }) => status?.phase === 'Running').length === 20;
    },
    within,
  );
  const claims = await observe(
    'Every NodeClaim Ready',
    async () => {
      const found = await kube.list('NodeClaim');
      const ready = found.every(({ status }) =>
        status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'),
      );
      return ready ? found : undefined;
    },
    within,
  );
  const nodes = await kube.list('Node');
  expect(nodes.map(({ spec }) => spec?.providerID).sort()).toEqual(
    claims.map(({ status }) => status?.providerID).sort(),
  );

  await kube.delete('Deployment', { name: 'web', namespace: 'default' });
  await observe(
    'The end of every node',
    async () => (await kube.list('NodeClaim')).length + (await kube.list('Node')).length === 0,
    within,
    lastSeen,
  );
});
