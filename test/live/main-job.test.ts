import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import type { Condition, KubernetesObject } from '../../api/kubernetes.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { CloudProxyControl } from '../../tools/stack/cloud-proxy/control.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { deploymentOf } from '../../tools/stack/deployment.js';
import { nodeClassSpec } from '../../tools/stack/node-class.js';
import { repositoryRoot } from '../../tools/stack/paths.js';
import type { Stack } from '../../tools/stack/stack.js';
import type { KubeClient } from '../../kube/port.js';
import { isRunning, startLiveWorld, within, type LiveWorld } from './world.js';

// The product's main job on real parts: API server, scheduler, Temporal and the EC2 API, with Stowage as a process.
let world: LiveWorld;
let stack: Stack;
let kube: KubeClient;
let cloud: CloudProxyControl;

beforeAll(async () => {
  world = await startLiveWorld('main-job');
  ({ stack, kube, cloud } = world);
  await promisify(execFile)(stack.kubectl ?? '', [
    '--kubeconfig',
    stack.adminKubeconfig ?? '',
    'apply',
    '-f',
    join(repositoryRoot(), 'examples/nodepool.yaml'),
  ]);
});

afterAll(async () => {
  await world.stop();
});

const condition = (object: KubernetesObject | undefined, type: string): Condition | undefined =>
  (object as { status?: { conditions?: Condition[] } } | undefined)?.status?.conditions?.find(
    (each) => each.type === type,
  );

async function deploy(name: string, replicas: number, requests: Record<string, string>): Promise<void> {
  await kube.create('Deployment', deploymentOf(name, replicas, requests));
}

async function runningPods(name: string, count: number): Promise<boolean> {
  const pods = await kube.list('Pod', { namespace: 'default', labelSelector: `app=${name}` });
  const running = pods.filter(isRunning);
  return running.length === count && pods.length === count;
}

async function readyClaims(): Promise<NodeClaim[] | undefined> {
  const claims = await kube.list('NodeClaim');
  return claims.every((claim) => condition(claim, 'Ready')?.status === 'True') ? claims : undefined;
}

async function leftovers(): Promise<string[]> {
  const left = [
    ...(await kube.list('NodeClaim')).map(
      ({ metadata }) => `NodeClaim ${metadata.name ?? ''} ${metadata.finalizers?.join() ?? ''}`,
    ),
    ...(await kube.list('Node')).map(
      ({ metadata, spec }) => `Node ${metadata.name ?? ''} ${JSON.stringify(spec?.taints ?? [])}`,
    ),
  ];
  for (const { id, state } of await cloud.instances()) if (state !== 'terminated') left.push(`instance ${id} ${state}`);
  return left;
}

async function nothingLeft(): Promise<void> {
  await observe(
    'The end of every node',
    async () => (await leftovers()).length === 0,
    within(180),
    async () => (await leftovers()).join(', '),
  );
}

// After each test nothing is left: no node, no instance, no taint, no finalizer.
afterEach(async () => {
  await cloud.clearFaults();
  for (const { metadata } of await kube.list('Deployment', { namespace: 'default' })) {
    await kube.delete('Deployment', { name: metadata.name ?? '', namespace: 'default' });
  }
  await nothingLeft();
});

describe('pending pods get nodes, and nodes are removed when they are not needed', () => {
  // Rule `node-pools/status`.
  test('a NodePool and a node class become Ready', async () => {
    await observe(
      'The NodePool becoming Ready',
      async () => condition(await kube.get('NodePool', { name: 'default' }), 'Ready')?.status === 'True',
      within(60),
      async () => JSON.stringify(await kube.get('NodePool', { name: 'default' })),
    );
    const nodeClass = await kube.get('EC2NodeClass', { name: 'default' });
    expect(condition(nodeClass, 'Ready')).toMatchObject({ status: 'True' });
    expect(nodeClass?.metadata.finalizers).toContain('karpenter.k8s.aws/termination');
  });

  test('stowage doctor finds nothing wrong', async () => {
    let checks: readonly DoctorCheck[] = [];
    // Who asks is the stack's administrator, not Stowage; and no node is there yet that says in which region it is.
    const wrong = (): readonly DoctorCheck[] =>
      checks.filter(({ name, state }) => state !== 'ok' && name !== 'permissions' && name !== 'cloud-region');
    // Where Temporal does not answer in time, a person asks again.
    await observe(
      'A doctor that finds nothing wrong',
      async () => {
        const found = await doctor();
        checks = found.checks;
        return found.succeeded && wrong().length === 0;
      },
      within(120),
      () => Promise.resolve(JSON.stringify(wrong())),
    );
    expect(checks).toContainEqual(expect.objectContaining({ name: 'cloud-region', state: 'skipped' }));
    expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining(['task-queues', 'cloud-launch']));
  });

  // Rule `invariants/reasons-are-recorded`.
  test('100 pods all run, and each node has one launchNode history', async () => {
    await deploy('hundred', 100, { cpu: '500m', memory: '512Mi' });
    await observe('100 pods running', () => runningPods('hundred', 100), within(180));
    const claims = await observe('Every NodeClaim Ready', readyClaims, within(60));

    // The node lifecycle controller takes its own not-ready taint off a moment after the node became Ready.
    const nodes = await observe(
      'Nodes without taints',
      async () => {
        const found = await kube.list('Node');
        return found.every(({ spec }) => (spec?.taints ?? []).length === 0) ? found : undefined;
      },
      within(60),
    );
    expect(nodes.map(({ metadata }) => metadata.name).sort()).toEqual(
      claims.map(({ status }) => status?.nodeName).sort(),
    );
    for (const { metadata } of nodes) {
      expect(metadata.labels).toMatchObject({
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
        'karpenter.sh/nodepool': 'default',
      });
      expect(metadata.finalizers).toContain('karpenter.sh/termination');
    }
    expect(await launchHistories()).toEqual(
      claims.map(({ metadata }) => `${stack.cluster}/launch/${metadata.uid ?? ''}`).sort(),
    );
  });

  test('kill -9 right after CreateFleet took effect: exactly one instance for the claim, and it joins', async () => {
    // The launch takes effect, its answer is lost, and every retry hangs: Stowage dies without having heard of it.
    await cloud.addFault({ kind: 'lost', action: 'CreateFleet', times: 1 });
    await cloud.addFault({ kind: 'hang', action: 'CreateFleet', times: 0 });
    await deploy('crash', 1, { cpu: '1', memory: '1Gi' });
    const instance = await observe(
      'The instance of the launch whose answer never came',
      async () => (await cloud.instances()).find(({ state }) => state !== 'terminated'),
      within(120),
    );

    await stack.stopComponent('stowage', true);
    await cloud.clearFaults();
    await stack.startComponent('stowage');
    await observe(
      'The pod running',
      () => runningPods('crash', 1),
      within(240),
      async () => (await leftovers()).join(', '),
    );

    const [claim, ...others] = await observe('The claim Ready', readyClaims, within(60));
    expect(others).toEqual([]);
    expect(claim?.status?.providerID).toContain(instance.id);
    expect((await cloud.instances()).filter(({ state }) => state !== 'terminated').map(({ id }) => id)).toEqual([
      instance.id,
    ]);
  });

  test('a node class that cannot work is not Ready with the reason, and other pools still launch', async () => {
    await createBrokenPool();
    const broken = await observe(
      'The broken node class saying why',
      async () => {
        const found = condition(await kube.get('EC2NodeClass', { name: 'broken' }), 'SubnetsReady');
        return found?.status === 'False' ? found : undefined;
      },
      within(60),
    );
    expect(broken.reason).toBe('SubnetsNotFound');
    expect(broken.message).toMatch(/subnetSelectorTerms/i);
    const pool = await observe(
      'The broken pool not Ready',
      async () => {
        const found = condition(await kube.get('NodePool', { name: 'broken' }), 'Ready');
        return found?.status === 'False' ? found : undefined;
      },
      within(60),
    );
    expect(pool.status).toBe('False');

    await deploy('unharmed', 1, { cpu: '1', memory: '1Gi' });
    await observe('The pod running', () => runningPods('unharmed', 1), within(120));
  });

  test('without any spot capacity the same launch takes on-demand, and `why` and status say so', async () => {
    await cloud.setPools([{ capacityType: 'spot' }]);
    await cloud.clearRequests();
    await deploy('fallback', 1, { cpu: '1', memory: '1Gi' });
    await observe('The pod running', () => runningPods('fallback', 1), within(120));
    const [claim] = await observe('The claim Ready', readyClaims, within(60));
    expect(claim?.metadata.labels?.['karpenter.sh/capacity-type']).toBe('on-demand');
    const fleets = await cloud.requests({ service: 'ec2', action: 'CreateFleet' });
    const launches = fleets.filter(({ params }) => (params as { DryRun?: string }).DryRun === undefined);
    expect(launches).toHaveLength(2);

    const [pod] = await kube.list('Pod', { namespace: 'default', labelSelector: 'app=fallback' });
    const node = claim?.status?.nodeName ?? '';
    const ofPod = await stowage('why', `pod/${pod?.metadata.name ?? ''}`);
    expect(ofPod).toContain(`it runs on node ${node}`);
    const ofNode = await stowage('why', `node/${node}`);
    expect(ofNode).toMatch(/out of capacity:? spot: [0-9]+ offerings \(InsufficientInstanceCapacity\)/);
    expect(ofNode).toMatch(new RegExp(`^node ${node}: (may go|stays|is being disrupted)`));
    expect(await stowage('status')).toMatch(/out of capacity: spot in .*InsufficientInstanceCapacity/);

    await cloud.setPools([{}]);
    await deploy('stuck', 1, { cpu: '1', memory: '1Gi' });
    const stuck = await observe(
      'A pod that why knows to be stuck',
      async () => {
        const [found] = await kube.list('Pod', { namespace: 'default', labelSelector: 'app=stuck' });
        // The Deployment's pod is a moment in coming.
        if (found?.metadata.name === undefined) return undefined;
        const answer = await stowage('why', `pod/${found.metadata.name}`);
        return answer.includes('tried again at') ? answer : undefined;
      },
      within(120),
    );
    expect(stuck).toMatch(/spot in zone \S+.*InsufficientInstanceCapacity/);
    await cloud.setPools([]);
  });
});

/** What a stowage command prints against the stack. */
async function stowage(...args: string[]): Promise<string> {
  const program = join(repositoryRoot(), 'bin/stowage');
  const env = { ...process.env, ...stack.environment };
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], { env });
  return stdout;
}

interface DoctorCheck {
  readonly name: string;
  readonly state: string;
}

/** What `stowage doctor` finds, and whether its exit status is 0; it prints its checks in either case. */
async function doctor(): Promise<{ readonly succeeded: boolean; readonly checks: readonly DoctorCheck[] }> {
  const { succeeded, text } = await stowage('doctor', '-o', 'json').then(
    (stdout) => ({ succeeded: true, text: stdout }),
    (error: unknown) => ({ succeeded: false, text: (error as { readonly stdout?: string }).stdout ?? '' }),
  );
  return { succeeded, ...(JSON.parse(text) as { checks: DoctorCheck[] }) };
}

async function launchHistories(): Promise<string[]> {
  const connection = await Connection.connect({ address: stack.temporalAddress ?? '' });
  try {
    const ids: string[] = [];
    const query = `WorkflowType = "launchNode" AND StowageCluster = "${stack.cluster}"`;
    for await (const { workflowId } of new Client({ connection }).workflow.list({ query })) ids.push(workflowId);
    return ids.sort();
  } finally {
    await connection.close();
  }
}

async function createBrokenPool(): Promise<void> {
  const manifests = [
    {
      apiVersion: 'karpenter.k8s.aws/v1',
      kind: 'EC2NodeClass',
      metadata: { name: 'broken' },
      spec: {
        ...nodeClassSpec(stack.cluster),
        subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'nowhere' } }],
      },
    },
    {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'broken' },
      spec: {
        weight: 100,
        template: {
          spec: {
            requirements: [],
            nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'broken' },
          },
        },
      },
    },
  ];
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
  await new Promise<void>((resolve, reject) => {
    const child = execFile(
      stack.kubectl ?? '',
      ['--kubeconfig', stack.adminKubeconfig ?? '', 'apply', '-f', '-'],
      (error) => (error === null ? resolve() : reject(new Error(error.message))),
    );
    child.stdin?.end(list);
  });
}
