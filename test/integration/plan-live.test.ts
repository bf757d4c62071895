import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../api/kubernetes.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { createKubeClient } from '../../kube/client.js';
import type { PlanDocument } from '../../cli/output/plan-json.js';
import { apply, kubectl } from '../live/kubectl.js';
import { useStack } from './shared-stack.js';

// `stowage plan` as a process against a real API server and scheduler: nothing is launched here.
const { stack } = useStack(['controllers']);
const run = promisify(execFile);
const name = `plan-live-${randomUUID().slice(0, 8)}`;
let kube: ReturnType<typeof createKubeClient>;

beforeEach(() => {
  kube = createKubeClient({ kubeconfig: stack().adminKubeconfig ?? '', userAgent: 'plan-live-test' });
});

afterEach(async () => {
  await kubectl(stack(), ['delete', 'nodepool,kwoknodeclass', name, '--wait=false']);
  await kubectl(stack(), ['delete', 'namespace', name, '--wait=false']);
  kube.close();
});

/** Only pods of this test tolerate the pool, and they want no other. */
const taint = { key: 'plan-live', value: name, effect: 'NoSchedule' };

const objects: readonly object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
  { apiVersion: 'karpenter.kwok.sh/v1alpha1', kind: 'KWOKNodeClass', metadata: { name } },
  {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      template: {
        metadata: { labels: { 'example.com/plan': name } },
        spec: {
          requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }],
          nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name },
          taints: [taint],
        },
      },
    },
  },
  ...[0, 1, 2].map((i): KubernetesObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `web-${i}`, namespace: name },
    ...{
      spec: {
        nodeSelector: { 'example.com/plan': name },
        tolerations: [{ key: taint.key, operator: 'Exists' }],
        containers: [{ name: 'main', image: 'example.com/web', resources: { requests: { cpu: '1500m' } } }],
      },
    },
  })),
];

const stowagePlan = (...more: readonly string[]): Promise<{ stdout: string; stderr: string }> => {
  const live = ['--cluster-name', name, '--cloud-provider', 'kwok', '--temporal-address', '127.0.0.1:1'];
  const types = ['--instance-types-file-path', join(repositoryRoot(), 'examples/instance-types.json')];
  const where = ['--kubeconfig', stack().adminKubeconfig ?? ''];
  return run(process.execPath, [join(repositoryRoot(), 'bin/stowage'), 'plan', ...live, ...types, ...where, ...more]);
};

test("stowage plan shows the nodes for a live cluster's pending pods, and changes nothing", async () => {
  await apply(stack(), objects);
  await observe(
    'kube-scheduler has given up on the pods',
    async () => {
      const pods = await kube.list('Pod', { namespace: name });
      const waiting = pods.filter(({ status }) => status?.conditions?.some(({ reason }) => reason === 'Unschedulable'));
      return waiting.length === 3;
    },
    { withinMs: 180_000 },
  );

  const { stdout, stderr } = await stowagePlan('-o', 'json');
  const plan = JSON.parse(stdout) as PlanDocument;
  const claims = plan.newNodeClaims as { nodePool: string; pods: string[]; cheapest: { capacityType: string } }[];
  const own = claims.filter(({ nodePool }) => nodePool === name);
  expect(own.flatMap(({ pods }) => pods).sort()).toEqual([0, 1, 2].map((i) => `${name}/web-${i}`));
  expect(own.every(({ cheapest }) => cheapest.capacityType === 'on-demand')).toBe(true);
  expect(plan.pricePerHour).toBeGreaterThan(0);
  expect(stderr).toMatch(/^stowage: every offering counts as available/);
  expect((await stowagePlan()).stdout).toMatch(new RegExp(`Nodes to launch\\n[^]*${name}[^]*per hour`));

  expect(await kube.list('NodeClaim', { labelSelector: `karpenter.sh/nodepool=${name}` })).toEqual([]);
  expect((await kube.list('Pod', { namespace: name })).every(({ spec }) => spec.nodeName === undefined)).toBe(true);
});
