import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Plan } from '../../packing/types.js';
import { createActivityWorld, nodeClaim } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { deletingNodePlans } from './deleting-node-plans.js';

const daemon = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent', controller: true };
const initialized = { conditions: [{ type: 'Initialized', status: 'True' as const }] };

describe('what the pods of deleting nodes wait for', () => {
  let world: ActivityWorld;

  beforeEach(async () => {
    world = await createActivityWorld();
    for (const node of ['n1', 'n2', 'n3']) {
      world.kube.put('Node', { metadata: { name: node } });
      for (const i of [1, 2]) putPod(`${node}-${i}`, node);
    }
    world.kube.put('Pod', {
      metadata: { name: 'agent-1', namespace: 'default', ownerReferences: [daemon] },
      spec: { nodeName: 'n1', containers: [] },
      status: { phase: 'Running' },
    });
    await world.synced();
  });
  afterEach(() => world.stop());

  const putPod = (name: string, nodeName: string): void =>
    void world.kube.put('Pod', {
      metadata: { name, namespace: 'default' },
      spec: { nodeName, containers: [] },
      status: { phase: 'Running' },
    });
  const plan = (claims: string[][], existing: Record<string, string[]>, unschedulable: string[] = []): Plan =>
    ({
      newNodeClaims: claims.map((pods) => ({ pods: pods.map((pod) => `default/${pod}`) })),
      existingNodes: Object.entries(existing).map(([node, pods]) => ({
        node,
        pods: pods.map((pod) => `default/${pod}`),
      })),
      unschedulable: unschedulable.map((pod) => ({ pod: `default/${pod}`, reason: 'no zone' })),
    }) as unknown as Plan;

  test('are claims to create, each for the nodes whose pods it has', () => {
    const made = plan([['n1-1', 'n2-1'], ['pending'], ['n2-2']], { there: ['n1-2'] });

    expect(deletingNodePlans(world.deps, made, ['n1', 'n2', 'n3'], 3)).toEqual([
      { node: 'n1', claims: [0], coming: [], unplaced: 0 },
      { node: 'n2', claims: [0, 2], coming: [], unplaced: 0 },
    ]);
  });

  test('are planned again for claims beyond what one pass creates', () => {
    expect(deletingNodePlans(world.deps, plan([['n1-1'], ['n1-2']], {}), ['n1'], 1)).toMatchObject([{ claims: [0] }]);
  });

  test('are nodes that are still starting, by their names or claims, and none that is initialized', async () => {
    world.kube.put('NodeClaim', nodeClaim('launched', { status: { providerID: 'fake:///a/i-1' } }));
    world.kube.put('NodeClaim', nodeClaim('joined', { status: { providerID: 'fake:///a/i-2' } }));
    world.kube.put('NodeClaim', nodeClaim('up', { status: { providerID: 'fake:///a/i-3', ...initialized } }));
    world.kube.put('Node', { metadata: { name: 'ip-2' }, spec: { providerID: 'fake:///a/i-2' } });
    world.kube.put('Node', { metadata: { name: 'ip-3' }, spec: { providerID: 'fake:///a/i-3' } });
    await world.synced();

    const made = plan([], { launched: ['n1-1', 'n1-2'], 'ip-2': ['n2-1'], 'ip-3': ['n2-2', 'n3-1'] });

    expect(deletingNodePlans(world.deps, made, ['n1', 'n2', 'n3'], 0)).toEqual([
      { node: 'n1', claims: [], coming: [{ name: 'launched', uid: 'uid-launched' }], unplaced: 0 },
      { node: 'n2', claims: [], coming: [{ name: 'joined', uid: 'uid-joined' }], unplaced: 0 },
    ]);
  });

  test('is nothing for pods that fit nowhere, which have the first reason; DaemonSet pods do not count', () => {
    const made = plan([['agent-1']], {}, ['pending', 'n1-2', 'n1-1']);

    expect(deletingNodePlans(world.deps, made, ['n1'], 1)).toEqual([
      { node: 'n1', claims: [], coming: [], unplaced: 2, firstReason: 'default/n1-2: no zone' },
    ]);
    expect(deletingNodePlans(world.deps, made, [], 1)).toEqual([]);
  });
});
