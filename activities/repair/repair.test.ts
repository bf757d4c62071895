import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Condition } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { createActivityWorld, nodeClaim, nodePool } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { RepairView } from './contract.js';
import { createRepairActivities } from './repair.js';

const minute = 60_000;

describe('examining a node whose conditions are unhealthy', () => {
  let world: ActivityWorld;

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('NodePool', nodePool('default'));
  });
  afterEach(() => world.stop());

  const node = (name: string, minutesIll?: number, pool = 'default'): void => {
    const providerID = `fake:///a/${name}`;
    const claim = nodeClaim(name, { status: { providerID, nodeName: name } });
    world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, labels: { [labels.nodePool]: pool } } });
    const since = new Date(world.clock.now - (minutesIll ?? 0) * minute).toISOString();
    const ready: Condition = {
      type: 'Ready',
      status: minutesIll === undefined ? 'True' : 'False',
      lastTransitionTime: since,
    };
    world.kube.put('Node', { metadata: { name }, spec: { providerID }, status: { conditions: [ready] } });
  };
  const policy = (spec: object): void =>
    void world.kube.put('DisruptionPolicy', { metadata: { name: 'p' }, spec } as never);
  const look = async (name: string): Promise<RepairView> => {
    await world.synced();
    return createRepairActivities(world.deps).inspectRepair({ claim: { name, uid: `uid-${name}` } });
  };

  test('healthy, absent and deleting nodes need no repair', async () => {
    node('well');
    node('going', 40);
    const going = await world.kube.get('NodeClaim', { name: 'going' });
    const deletionTimestamp = new Date(world.clock.now).toISOString();
    world.kube.put('NodeClaim', { ...going!, metadata: { ...going!.metadata, deletionTimestamp, finalizers: ['x'] } });

    expect(await look('well')).toEqual({ state: 'healthy' });
    expect(await look('nobody')).toEqual({ state: 'gone' });
    expect(await look('going')).toEqual({ state: 'gone' });
  });

  test('the result has the condition, since when, the end of the toleration, and that force follows', async () => {
    node('ill', 10);

    expect(await look('ill')).toEqual({
      state: 'unhealthy',
      nodeName: 'ill',
      providerId: 'fake:///a/ill',
      condition: 'Ready=False',
      since: world.clock.now - 10 * minute,
      dueAt: world.clock.now + 20 * minute,
      steps: [{ action: 'Force', waitMs: 600_000 }],
      candidate: {
        claim: { name: 'ill', uid: 'uid-ill' },
        node: 'ill',
        nodePool: 'default',
        instanceType: '',
        zone: '',
        capacityType: '',
        pricePerHour: 0,
      },
    });
  });

  // Given Ready False for 30m and 1 of 3 nodes unhealthy, then repaired; 2 of 3, then blocked.
  test('one of three nodes may be repaired; for two of three the node says that repair is blocked', async () => {
    node('a', 31);
    node('b');
    node('c');
    node('elsewhere', 31, 'other');
    expect(await look('a')).not.toHaveProperty('blocked');

    node('b', 1);

    expect(await look('a')).toMatchObject({
      blocked: '2 of 3 nodes are unhealthy, and at most 1 (20%) may be',
    });
    expect(world.events).toMatchObject([{ reason: 'NodeRepairBlocked', regarding: { kind: 'Node', name: 'a' } }]);
  });

  test('where the policy only recommends the node is left alone, and says so', async () => {
    node('a', 31);
    for (const name of ['b', 'c', 'd', 'e']) node(name);
    policy({ mode: 'Recommend', repair: { steps: [{ action: 'Force', wait: '1m' }], maximumUnhealthyPercent: 20 } });

    expect(await look('a')).toMatchObject({ blocked: 'DisruptionPolicy p has mode Recommend' });
    expect(world.events).toMatchObject([{ reason: 'NodeRepairBlocked', regarding: { kind: 'Node', name: 'a' } }]);
  });

  test('the policy of the NodePool gives steps, share and approval', async () => {
    node('a', 31);
    node('b', 31);
    policy({
      repair: {
        steps: [
          { action: 'Reboot', wait: '5m' },
          { action: 'Force', wait: '1m' },
        ],
        maximumUnhealthyPercent: 100,
      },
      approval: [
        { reasons: ['Drifted'], timeout: '1h', onTimeout: 'Reject' },
        { timeout: '2h', onTimeout: 'Approve' },
      ],
    });

    const view = await look('a');

    expect(view).toMatchObject({
      steps: [
        { action: 'Reboot', waitMs: 300_000 },
        { action: 'Force', waitMs: 60_000 },
      ],
      approval: { timeoutMs: 7_200_000, onTimeout: 'Approve' },
    });
    expect(view).not.toHaveProperty('blocked');
  });
});
