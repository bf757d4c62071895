import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Condition } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, ready } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { findStuck } from '../../operator/stuck/findings.js';
import { explainPod } from '../people/explanations.js';
import type { PlanNodesResult } from './contract.js';
import { createPlanningActivities } from './planning.js';

const minute = 60_000;
const providerID = 'fake:///a/i-1';
const said = '0/1 nodes are available: 1 Insufficient ephemeral-storage';

let world: ActivityWorld;
let initializedAt = 0;

beforeEach(async () => {
  world = await createActivityWorld();
  world.kube.put('EC2NodeClass', nodeClass('default'));
  world.kube.put('NodePool', ready(nodePool('default')));
  initializedAt = world.clock.now;
});
afterEach(() => world.stop());

const iso = (ms: number): string => new Date(ms).toISOString();

/** A node of four CPUs that was launched for default/a-0, and what it reports. */
function putNode(cpu: string, { name = 'c1', type = 'm5.xlarge' } = {}): void {
  const conditions = ['Launched', 'Registered', 'Initialized'].map((type): Condition => ({
    type,
    status: 'True',
    lastTransitionTime: iso(initializedAt),
  }));
  const base = nodeClaim(name, { status: { providerID: `${providerID}-${name}`, nodeName: `n-${name}`, conditions } });
  const own = { [labels.nodePool]: 'default', [labels.instanceType]: type, [labels.zone]: 'a' };
  const metadata = { ...base.metadata, labels: own, annotations: { [annotations.plannedPods]: 'default/a-0' } };
  world.kube.put('NodeClaim', { ...base, metadata });
  world.kube.put('Node', {
    metadata: { name: `n-${name}`, labels: { ...own, [labels.registered]: 'true', [labels.initialized]: 'true' } },
    spec: { providerID: `${providerID}-${name}` },
    status: { allocatable: { cpu, memory: '14Gi', pods: '58' }, conditions: [{ type: 'Ready', status: 'True' }] },
  });
}

function putPod(name: string, more: { on?: string; cpu?: string } = {}): void {
  const { on, cpu = '3' } = more;
  const isBound = on !== undefined;
  const condition: Condition = {
    ...{ type: 'PodScheduled', status: isBound ? 'True' : 'False' },
    lastTransitionTime: iso(isBound ? world.clock.now : initializedAt - minute),
    ...(isBound ? {} : { reason: 'Unschedulable', message: said }),
  };
  world.kube.put('Pod', {
    metadata: {
      name,
      namespace: 'default',
      uid: name,
      creationTimestamp: iso(initializedAt - minute),
      labels: { app: 'a' },
    },
    spec: { containers: [{ name: 'app', resources: { requests: { cpu } } }], ...(isBound && { nodeName: on }) },
    status: { phase: isBound ? 'Running' : 'Pending', conditions: [condition] },
  });
}

async function planned(): Promise<string[]> {
  await world.synced();
  const planning = createPlanningActivities(world.deps);
  const plan = await new MockActivityEnvironment().run<[], PlanNodesResult, () => Promise<PlanNodesResult>>(() =>
    planning.planNodes({ marks: [], without: [] }),
  );
  if (plan.state !== 'planned') throw new Error(plan.reason);
  await world.synced();
  return plan.claims.flatMap(({ pods }) => pods);
}
const after = (ms: number): void => void (world.clock.now = initializedAt + ms);

// Rule `provisioning/refused-pods`.
describe('a pod whose node was launched, is initialized, and does not take it', () => {
  test('gets no other node of that type at once, nor do equal pods, and then at growing intervals', async () => {
    putNode('2900m');
    putPod('a-0');
    after(30_000);
    expect(await planned()).toEqual([]);
    putPod('a-1');
    after(5 * minute);
    expect(await planned()).toEqual([]);
    after(6 * minute);
    world.kube.remove('NodeClaim', { name: 'c1' });
    expect((await planned()).sort()).toEqual(['default/a-0', 'default/a-1']);
  });

  test('does not affect other pods', async () => {
    putNode('2900m');
    putPod('a-0');
    putPod('b-0', { cpu: '3500m' });
    after(30_000);
    expect(await planned()).toEqual(['default/b-0']);
  });

  test('is launched for at once where another type fits', async () => {
    putNode('2900m', { type: 'gone.large' });
    putPod('a-0');
    after(30_000);
    expect(await planned()).toEqual(['default/a-0']);
  });

  test('backs off after three nodes, each of another type, whether the earlier ones still exist or not', async () => {
    putPod('a-0');
    const plannedBeside = async (name: string) => {
      putNode('2900m', { name, type: `${name}.large` });
      after(30_000);
      return planned();
    };
    expect(await plannedBeside('c1')).toEqual(['default/a-0']);
    expect(await plannedBeside('c2')).toEqual(['default/a-0']);
    world.kube.remove('Node', { name: 'n-c1' });
    world.kube.remove('NodeClaim', { name: 'c1' });
    expect(await planned()).toEqual(['default/a-0']);
    expect(await plannedBeside('c3')).toEqual([]);
    const outcome = await explainPod(world.deps, { namespace: 'default', name: 'a-0' });
    expect(outcome.why).toContain(`left it without nodes n-c1, n-c2, n-c3, which were there for it, and says: ${said}`);
    after(21 * minute);
    expect(await planned()).toEqual(['default/a-0']);
  });

  test('is launched for at once where other pods took its place', async () => {
    putNode('4');
    putPod('a-0');
    putPod('b-0', { on: 'n-c1' });
    after(30_000);
    expect(await planned()).toEqual(['default/a-0']);
  });

  test('is forgotten once an equal pod is bound', async () => {
    putNode('2900m');
    putPod('a-0');
    after(30_000);
    expect(await planned()).toEqual([]);
    after(40_000);
    putPod('a-1', { on: 'n2' });
    world.kube.remove('NodeClaim', { name: 'c1' });
    expect(await planned()).toEqual(['default/a-0']);
  });

  test("is reported on all surfaces, with the node and kube-scheduler's message", async () => {
    putNode('2900m');
    putPod('a-0');
    after(30_000);
    await planned();
    const why = `kube-scheduler left it without node n-c1, which was there for it, and says: ${said}`;
    const outcome = await explainPod(world.deps, { namespace: 'default', name: 'a-0' });
    expect(outcome).toMatchObject({ state: 'unschedulable', why: expect.stringContaining(why) });
    const pools = world.kube.objects('NodePool');
    const engine = { workflows: [], missing: [], foreign: [], queues: [], failed: [], paused: [] };
    const found = findStuck({ now: world.clock.now, loops: [], pods: [], pools, engine });
    expect(found).toMatchObject([{ kind: 'pods', subject: 'pod/default/a-0', why: expect.stringContaining(why) }]);
  });

  test('is waited for ten minutes if it fits there as far as packing knows', async () => {
    const known = (): string | undefined =>
      world.kube.objects('NodePool')[0]?.metadata.annotations?.[annotations.refusals];
    putNode('4');
    putPod('a-0');
    after(9 * minute);
    expect(await planned()).toEqual([]);
    expect(known()).toBeUndefined();
    after(10 * minute);
    expect(await planned()).toEqual([]);
    expect(known()).toContain('default/a-0');
    world.kube.remove('Node', { name: 'n-c1' });
    world.kube.remove('NodeClaim', { name: 'c1' });
    expect(await planned()).toEqual([]);
    after(16 * minute);
    expect(await planned()).toEqual(['default/a-0']);
  });

  test('and from the pass that records it on no node is launched for equal pods without room', async () => {
    putNode('4');
    putPod('a-0');
    putPod('a-1');
    after(9 * minute);
    expect(await planned()).toHaveLength(1);
    after(10 * minute);
    expect(await planned()).toEqual([]);
  });
});
