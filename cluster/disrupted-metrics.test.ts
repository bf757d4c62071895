import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { createActivityWorld, nodeClaim, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { countDisrupted } from './disrupted-metrics.js';

describe('disrupted-pods metrics (metrics/disrupted)', () => {
  let world: ActivityWorld;
  beforeEach(async () => {
    world = await createActivityWorld();
  });
  afterEach(() => world.stop());

  const counted = (claim: NodeClaim, reason = 'drifted'): unknown[] => {
    const calls: unknown[] = [];
    const metrics = { ...world.deps.metrics, count: (...call: unknown[]) => void calls.push(call) };
    countDisrupted({ ...world.deps, metrics }, claim, reason);
    return calls;
  };
  const own = { reason: 'drifted', nodepool: 'default', capacity_type: '', termination_mode: 'graceful' };

  test('the pods that need another place are counted with their node, DaemonSet pods are not', async () => {
    world.kube.put('NodePool', nodePool('default', { disruption: { consolidationPolicy: 'WhenEmpty' } }));
    world.kube.put('Node', { metadata: { name: 'n1' }, spec: { providerID: 'fake:///a/i-1' } });
    for (const [name, kind] of [
      ['web-1', 'ReplicaSet'],
      ['web-2', 'ReplicaSet'],
      ['agent', 'DaemonSet'],
    ] as const) {
      const ownerReferences = [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o' }];
      world.kube.put('Pod', {
        metadata: { name, namespace: 'default', ownerReferences },
        spec: { nodeName: 'n1', containers: [] },
        status: { phase: 'Running' },
      });
    }
    await world.synced();

    const labels = { ...own, reason: 'empty', consolidation_policy: 'when_empty' };
    const claim = nodeClaim('c1', { status: { providerID: 'fake:///a/i-1' } });
    expect(counted(claim, 'empty')).toEqual([
      ['nodeclaims_disrupted_total', labels],
      ['pods_disruption_initiated_total', labels, 2],
    ]);
    // The policy decides about consolidation alone.
    expect(counted(claim)[0]).toEqual(['nodeclaims_disrupted_total', { ...own, consolidation_policy: '' }]);
  });

  test.each([
    [undefined, 'graceful'],
    ['10m', 'eventual'],
    ['0s', 'forceful'],
  ])('terminationGracePeriod %s is termination mode %s', (terminationGracePeriod, termination_mode) => {
    const claim = nodeClaim('c1', { spec: terminationGracePeriod === undefined ? {} : { terminationGracePeriod } });

    expect(counted(claim)).toEqual([
      ['nodeclaims_disrupted_total', { ...own, consolidation_policy: '', termination_mode }],
    ]);
  });
});
