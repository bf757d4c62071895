import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { capacityBuffers } from '../../api/autoscaling/capacity-buffer.js';
import { labels } from '../../api/labels.js';
import { conditionOf } from '../../core/conditions.js';
import { defaultFeatureGates } from '../../core/feature-gates.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, ready } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { withBufferPods } from './buffers.js';
import { nodeViews } from '../../cluster/cluster.js';
import type { PlanNodesResult } from './contract.js';
import { createPlanningActivities } from './planning.js';

describe('CapacityBuffers (capacity-buffers/status)', () => {
  let world: ActivityWorld;
  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('EC2NodeClass', nodeClass('default'));
    world.kube.put('NodePool', ready(nodePool('default')));
    world.kube.put('PodTemplate', {
      metadata: { name: 'chunk', namespace: 'default' },
      template: { spec: { containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }] } },
    });
  });
  afterEach(() => world.stop());

  const putBuffer = (name: string, spec: object): void =>
    void world.kube.put(
      'CapacityBuffer',
      capacityBuffers.mustParse({
        apiVersion: 'autoscaling.x-k8s.io/v1beta1',
        kind: 'CapacityBuffer',
        metadata: { name, namespace: 'default' },
        spec,
      }),
    );
  const planNow = async (CapacityBuffer = true): Promise<Extract<PlanNodesResult, { state: 'planned' }>> => {
    await world.synced();
    const deps = { ...world.deps, gates: { ...defaultFeatureGates, CapacityBuffer } };
    const activities = createPlanningActivities(deps);
    const result = await new MockActivityEnvironment().run<[], PlanNodesResult, () => Promise<PlanNodesResult>>(() =>
      activities.planNodes({ marks: [], without: [] }),
    );
    if (result.state !== 'planned') throw new Error(result.reason);
    return result;
  };
  const provisioning = async (name: string) => {
    const buffer = await world.kube.get('CapacityBuffer', { name, namespace: 'default' });
    return conditionOf(buffer?.status?.conditions, 'Provisioning');
  };

  test('are planned for only with their feature gate', async () => {
    putBuffer('spare', { podTemplateRef: { name: 'chunk' }, replicas: 3 });

    await expect(planNow(false)).resolves.toMatchObject({ claims: [] });
    const { claims } = await planNow();

    expect(claims.flatMap(({ pods }) => pods)).toHaveLength(3);
    await expect(provisioning('spare')).resolves.toMatchObject({ status: 'False', reason: 'RequiresNewCapacity' });
    expect(world.events).toEqual([]);
  });

  test('that fit on existing nodes say so, and launch nothing', async () => {
    putBuffer('spare', { podTemplateRef: { name: 'chunk' }, replicas: 3 });
    world.kube.put('Node', {
      metadata: { name: 'big', labels: { 'kubernetes.io/arch': 'amd64', 'kubernetes.io/os': 'linux' } },
      status: { allocatable: { cpu: '8', pods: '110' }, conditions: [{ type: 'Ready', status: 'True' }] },
    });

    await expect(planNow()).resolves.toMatchObject({ claims: [] });
    await expect(provisioning('spare')).resolves.toMatchObject({ status: 'True', reason: 'FitsExistingCapacity' });
  });

  test('that are empty or reference nothing say so', async () => {
    putBuffer('empty', { podTemplateRef: { name: 'chunk' }, replicas: 0 });
    putBuffer('lost', { podTemplateRef: { name: 'nowhere' }, replicas: 2 });

    await planNow();

    await expect(provisioning('empty')).resolves.toMatchObject({ status: 'False', reason: 'BufferEmpty' });
    await expect(provisioning('lost')).resolves.toMatchObject({ status: 'False', reason: 'NotReadyForProvisioning' });
  });

  test('keep their node from counting as empty', async () => {
    putBuffer('spare', { podTemplateRef: { name: 'chunk' }, replicas: 1 });
    const providerID = 'fake:///a/i-1';
    const conditions = ['Launched', 'Registered', 'Initialized'].map((type) => ({ type, status: 'True' as const }));
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID, conditions, nodeName: 'n1' } }));
    const marks = { [labels.nodePool]: 'default', [labels.initialized]: 'true', [labels.registered]: 'true' };
    world.kube.put('Node', {
      metadata: { name: 'n1', labels: { ...marks, [labels.arch]: 'amd64', [labels.os]: 'linux' } },
      spec: { providerID },
      status: { allocatable: { cpu: '4', pods: '58' }, conditions: [{ type: 'Ready', status: 'True' }] },
    });
    await world.synced();
    const emptyOnes = async (CapacityBuffer: boolean): Promise<readonly string[]> => {
      const deps = { ...world.deps, gates: { ...defaultFeatureGates, CapacityBuffer } };
      const views = await withBufferPods(deps, await nodeViews(deps));
      return views.filter(isEmpty).map(({ node }) => node?.metadata.name ?? '');
    };

    await expect(emptyOnes(false)).resolves.toEqual(['n1']);
    await expect(emptyOnes(true)).resolves.toEqual([]);

    // Pods with so many terms that a pass of planning leaves them for the next: those of others go first.
    world.kube.put('PodTemplate', {
      metadata: { name: 'chunk', namespace: 'default' },
      template: {
        spec: { containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }], affinity: racks('chunk') },
      },
    });
    for (const name of ['a', 'b']) {
      world.kube.put('Pod', {
        metadata: { name, namespace: 'default', uid: name },
        spec: { containers: [{ name: 'app', resources: { requests: { cpu: '99' } } }], affinity: racks(name) },
        status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
      });
    }
    await world.synced();
    await expect(emptyOnes(true)).resolves.toEqual([]);
  });

  const racks = (name: string) => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          ...Array.from({ length: 150 }, (_, n) => ({
            matchExpressions: [{ key: 'example.com/rack', operator: 'In' as const, values: [`${name}-${n}`] }],
          })),
          { matchExpressions: [{ key: labels.arch, operator: 'In' as const, values: ['amd64'] }] },
        ],
      },
    },
  });
});
