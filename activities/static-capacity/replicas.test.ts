import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Condition } from '../../api/kubernetes.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import { annotations, labels } from '../../api/labels.js';
import { defaultFeatureGates } from '../../core/feature-gates.js';
import { workflowIds } from '../../core/ids.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, ready } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { createClaimActivities } from '../provisioning/claims.js';
import type { DisruptionsFound } from '../disruption/contract.js';
import type { DisruptionView } from '../disruption-context/contract.js';
import type { ActivityDeps } from '../deps.js';
import { createDisruptionActivities } from '../disruption/disruption.js';
import { explainNode } from '../people/explanations.js';
import { createReplicasActivities } from './replicas.js';
import type { ReplicasView } from './contract.js';
import { createExpirationActivities } from '../expiration/expiration.js';

type Live = Extract<ReplicasView, { state: 'live' }>;

describe('static NodePools on a cluster', () => {
  let world: ActivityWorld;
  let deps: ActivityDeps;

  beforeEach(async () => {
    world = await createActivityWorld();
    deps = { ...world.deps, gates: { ...defaultFeatureGates, StaticCapacity: true } };
    world.kube.put('EC2NodeClass', nodeClass('default'));
    await world.synced();
  });
  afterEach(() => world.stop());

  function putPool(
    replicas: number,
    more: { limit?: number; budgets?: object[]; disruption?: object; type?: string } = {},
  ): void {
    const { limit, budgets = [{ nodes: '100%' }] } = more;
    const spec = {
      replicas,
      disruption: { budgets, ...more.disruption },
      ...(limit === undefined ? {} : { limits: { nodes: String(limit) } }),
    };
    const pool = ready(nodePool('static', spec));
    if (more.type !== undefined)
      pool.spec.template.spec.requirements = [{ key: labels.instanceType, operator: 'In', values: [more.type] }];
    world.kube.put('NodePool', pool);
  }

  function putPolicy(spec: object): void {
    const policy = { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name: 'own' }, spec };
    world.kube.put('DisruptionPolicy', disruptionPolicies.mustParse(policy));
  }

  const at = (secondsAgo: number): string => new Date(world.clock.now - secondsAgo * 1000).toISOString();

  function putNode(name: string, conditions: readonly Condition[] = [], metadata: object = {}): void {
    const initialized: Condition = { type: 'Initialized', status: 'True', lastTransitionTime: at(600) };
    const own = {
      [labels.nodePool]: 'static',
      [labels.instanceType]: 'm5.xlarge',
      [labels.zone]: 'a',
      [labels.capacityType]: 'on-demand',
    };
    const base = nodeClaim(name, {
      status: { providerID: `fake:///a/i-${name}`, conditions: [initialized, ...conditions] },
    });
    world.kube.put('NodeClaim', {
      ...base,
      metadata: { ...base.metadata, creationTimestamp: at(700), labels: own, ...metadata },
    });
    world.kube.put('Node', {
      metadata: { name: `node-${name}`, labels: own },
      spec: { providerID: `fake:///a/i-${name}` },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }

  const drifted = (secondsAgo: number): Condition => ({
    type: 'Drifted',
    status: 'True',
    reason: 'NodePoolDrifted',
    lastTransitionTime: at(secondsAgo),
  });
  const look = async (deleting: readonly string[] = []): Promise<ReplicasView> => {
    await world.synced();
    return createReplicasActivities(deps).viewReplicas({ nodePool: 'static', poolUid: 'pool-static', deleting });
  };
  const create = async (planId: string) => {
    const { create: claims, typeLists } = (await look()) as Live;
    return createClaimActivities(deps).createClaims({ planId, claims, typeLists, reason: 'provisioned' });
  };
  const nothing: DisruptionView = { commands: [] };
  const find = async (
    view: Partial<DisruptionView> = {},
    activities = createDisruptionActivities(deps),
  ): Promise<DisruptionsFound> => {
    await world.synced();
    return activities.findDisruptions({ ...nothing, ...view });
  };
  const messagesOf = (name: string): string[] =>
    world.events
      .filter(({ regarding }) => regarding.kind === 'Node' && regarding.name === name)
      .map(({ reason, message }) => `${reason}: ${message}`);
  const nodesOf = ({ commands }: DisruptionsFound): string[][] =>
    commands.map(({ candidates }) => candidates.map(({ node }) => node));

  // Rule `static-capacity/blank-node`.
  test('missing nodes are launched as the template says, cheapest first; a second attempt creates no more', async () => {
    putPool(3);

    const view = await look();
    expect(view).toMatchObject({ state: 'live', replicas: 3, running: 0, remove: [] });
    expect((view as Live).create).toHaveLength(3);
    expect((view as Live).create[0]).toMatchObject({ nodePool: 'static', podCount: 0 });
    expect((view as Live).create[0]?.cheapest).toMatchObject({ instanceType: 'm5.xlarge', capacityType: 'spot' });

    const input = { planId: 'chain/1', claims: (view as Live).create, typeLists: (view as Live).typeLists };
    const activities = createClaimActivities(deps);
    const first = await activities.createClaims({ ...input, reason: 'provisioned' });
    const again = await activities.createClaims({ ...input, reason: 'provisioned' });
    expect(again.created.map(({ uid }) => uid)).toEqual(first.created.map(({ uid }) => uid));
    expect(world.kube.objects('NodeClaim')).toHaveLength(3);
    expect(await look()).toMatchObject({ running: 3, create: [], remove: [] });
  });

  test('limits.nodes is not exceeded by two parallel activities, and a second attempt is not refused', async () => {
    putPool(2, { limit: 2 });
    const { create: claims, typeLists } = (await look()) as Live;
    const activities = createClaimActivities(deps);

    const first = await activities.createClaims({ planId: 'x/1', claims, typeLists, reason: 'provisioned' });
    const second = await activities.createClaims({ planId: 'y/1', claims, typeLists, reason: 'provisioned' });
    const third = await activities.createClaims({ planId: 'x/1', claims, typeLists, reason: 'provisioned' });

    expect(first.created).toHaveLength(2);
    expect(second).toMatchObject({ created: [], refused: [{ reason: expect.stringContaining('limits.nodes') }, {}] });
    expect(third.refused).toEqual([]);
    expect(world.kube.objects('NodeClaim')).toHaveLength(2);
  });

  test('nothing is created for a NodePool that is not Ready, and the result says so', async () => {
    world.kube.put('NodePool', nodePool('static', { replicas: 2 }));
    expect(await look()).toMatchObject({ create: [], held: 'the NodePool to be Ready' });
  });

  test.each([
    ['it is gone', () => undefined, 'the NodePool is gone'],
    ['it is dynamic', () => world.kube.put('NodePool', nodePool('static')), 'the NodePool is not static'],
    [
      'it is being deleted',
      () => {
        const pool = nodePool('static', { replicas: 1 });
        const metadata = { ...pool.metadata, deletionTimestamp: at(1), finalizers: ['foregroundDeletion'] };
        world.kube.put('NodePool', { ...pool, metadata });
      },
      'the NodePool is being deleted',
    ],
  ])('a NodePool keeps no replicas when %s', async (_what, put, why) => {
    put();
    expect(await look()).toEqual({ state: 'gone', why });
  });

  test('without the feature gate it keeps no replicas and does not drift', async () => {
    putPool(2);
    putNode('a', [drifted(60)]);
    deps = { ...deps, gates: defaultFeatureGates };
    expect(await look()).toMatchObject({ state: 'gone', why: 'feature gate StaticCapacity is off' });
    expect(nodesOf(await find())).toEqual([]);
  });

  test('surplus claims are deleted by name, and those already being deleted are not deleted again', async () => {
    putPool(1);
    for (const name of ['a', 'b', 'c']) putNode(name);
    const view = (await look()) as Live;
    expect(view.remove.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(await look(['uid-a', 'uid-b', 'uid-long-gone'])).toMatchObject({ remove: [], deleting: ['uid-a', 'uid-b'] });
  });

  test('static nodes are neither removed as empty nor consolidated', async () => {
    putPool(2, { disruption: { consolidateAfter: '0s' } });
    putNode('a');
    putNode('b');
    expect((await find()).commands).toEqual([]);
  });

  test('drift waits while limits.nodes equals replicas, and replaces one node at a time when it is one higher (static-capacity/drift-room)', async () => {
    putPool(2, { limit: 2 });
    putNode('a', [drifted(60)]);
    putNode('b', [drifted(120)]);
    const waiting = await find();
    expect(waiting.commands).toEqual([]);
    expect(waiting.held[0]?.why).toBe(
      '2 nodes have drifted: replicas of 2 and limits.nodes of 2 leave no room for a replacement',
    );

    putPool(2, { limit: 3 });
    const { commands } = await find();

    expect(commands.map(({ candidates }) => candidates[0]?.node)).toEqual(['node-b']);
    expect(commands[0]).toMatchObject({ reason: 'Drifted', decision: { method: 'drift', decision: 'replace' } });
    expect(commands[0]?.decision?.replacements).toHaveLength(1);
    expect(commands[0]?.decision?.replacements[0]).toMatchObject({ nodePool: 'static', podCount: 0 });
  });

  // Rule `surfaces/one-reason`: `status` asks for `stays`, `why` for `explainNode`.
  test.each<[string, () => Partial<DisruptionView>, string]>([
    [
      'limits.nodes is replicas',
      () => {
        putPool(2, { limit: 2 });
        return {};
      },
      'replicas of 2 and limits.nodes of 2 leave no room for a replacement',
    ],
    [
      'a policy asks for rollouts, which static pools have none of',
      () => {
        putPool(2, { limit: 2 });
        putPolicy({ driftRollout: {} });
        return {};
      },
      'replicas of 2 and limits.nodes of 2 leave no room for a replacement',
    ],
    [
      'empty nodes ask for approval',
      () => {
        putPool(2, { limit: 2 });
        putPolicy({ approval: [{ timeout: '2h' }] });
        return {};
      },
      'replicas of 2 and limits.nodes of 2 leave no room for a replacement',
    ],
    [
      'another is being replaced',
      () => {
        putPool(2, { limit: 3 });
        const workflowId = workflowIds.consolidate('test', ['uid-b']);
        const going = { claim: { name: 'b', uid: 'uid-b' }, node: 'node-b', nodePool: 'static' };
        return { commands: [{ workflowId, reason: 'Drifted', candidates: [going], since: 0 }] };
      },
      'limits.nodes of 3 leaves no room for a replacement now: 2 nodes are there, and 1 more is to come',
    ],
    [
      'the feature gate is off',
      () => {
        putPool(2);
        deps = { ...deps, gates: defaultFeatureGates };
        return {};
      },
      'feature gate StaticCapacity is off',
    ],
  ])('the reason why a drifted node stays is the same everywhere: %s', async (_, arrange, says) => {
    putNode('a', [drifted(60)]);
    putNode('b');
    const view = arrange();
    const { details } = await find(view);
    const why = `it has drifted: ${says}; its NodePool is static`;
    expect(details?.stays).toEqual([{ why, nodes: ['node-a'] }]);
    expect(await explainNode(deps, { node: 'node-a', view: { ...nothing, ...view } })).toMatchObject({
      verdict: 'stays',
      why,
    });
    expect(messagesOf('node-a')).toEqual([`DisruptionBlocked: Not disrupted: ${why}`]);
  });

  test('a drifted node whose replacement cannot be launched stays until it can', async () => {
    putPool(2, { type: 'none-such' });
    putNode('a', [drifted(60)]);
    const activities = createDisruptionActivities(deps);
    const { details } = await find({}, activities);
    const [stays] = details!.stays;
    expect(stays).toMatchObject({
      why: expect.stringMatching(/^it has drifted: no new node can be launched: /),
      nodes: ['node-a'],
    });
    expect(details?.waits).toEqual([{ verdict: 'stays', why: stays!.why, nodes: ['node-a'] }]);
    expect(messagesOf('node-a')).toEqual([`DisruptionBlocked: Not disrupted: ${stays!.why}`]);

    putPool(2);
    expect(await find({}, activities)).toMatchObject({ commands: [{ reason: 'Drifted' }], details: { stays: [] } });
  });

  test('as many as budgets allow drift at once, each by its own command', async () => {
    putPool(4, { budgets: [{ nodes: '2', reasons: ['Drifted'] }] });
    for (const [i, name] of ['a', 'b', 'c', 'd'].entries()) putNode(name, [drifted(100 - i)]);
    expect(nodesOf(await find())).toEqual([['node-a'], ['node-b']]);
  });

  test('a command that has begun keeps its room until its replacement exists', async () => {
    putPool(2, { limit: 3 });
    putNode('a', [drifted(60)]);
    putNode('b', [drifted(120)]);
    const workflowId = workflowIds.consolidate('test', ['uid-b']);
    const going = { claim: { name: 'b', uid: 'uid-b' }, node: 'node-b', nodePool: 'static' };
    const running = [{ workflowId, reason: 'Drifted' as const, candidates: [going], since: 0 }];
    expect(nodesOf(await find({ commands: running }))).toEqual([]);

    putNode('b2', [], { annotations: { [annotations.plan]: `${workflowId}/run/0` } });
    putPool(2, { limit: 4 });
    expect(nodesOf(await find({ commands: running }))).toEqual([['node-a']]);
  });

  test('a drifted node whose replacement was removed during a hold stays', async () => {
    putPool(1, { limit: 2 });
    putNode('a', [drifted(60)]);
    const [command] = (await find()).commands;
    await create('unused');
    const activities = createDisruptionActivities(deps);
    const { reason, candidates, decision } = command!;

    const verdict = await activities.validateCandidates({
      reason,
      candidates,
      decision: decision!,
      created: ['static-gone'],
    });

    expect(verdict).toMatchObject({ valid: [], dropped: [{ why: 'its replacement static-gone is gone' }] });
    expect(
      (await activities.validateCandidates({ reason, candidates, decision: decision!, created: ['a'] })).valid,
    ).toHaveLength(1);
  });

  test('an expired node of a static NodePool gets a successor of the pool, where there is room for both', async () => {
    putPool(1, { limit: 2 });
    putNode('a');
    await world.synced();
    const expiration = createExpirationActivities(deps);
    const asked = { claim: { name: 'a', uid: 'uid-a' }, expiresAt: world.clock.now };

    const view = await expiration.viewExpiration(asked);
    expect(view).toMatchObject({ successor: { replacements: [{ nodePool: 'static', podCount: 0 }] } });

    putPool(1, { limit: 1 });
    await world.synced();
    expect(await expiration.viewExpiration(asked)).toMatchObject({
      noRoom: 'limits.nodes of 1 leaves no room beside it',
    });
  });
});
