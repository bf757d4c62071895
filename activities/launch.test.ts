import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { annotations, finalizers, labels, taints } from '../api/labels.js';
import { conditionOf, isTrue } from '../core/conditions.js';
import { registrationHealth } from '../core/registration-health.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { createCloudActivities } from './cloud.js';
import type { CloudActivities, LaunchActivities, LaunchInstanceResult } from './contract.js';
import { createLaunchActivities } from './launch.js';
import { registrationSubject } from './registration-health.js';

const claim = { name: 'c1', uid: 'uid-c1' };

describe('launching a claim', () => {
  let world: ActivityWorld;
  let launch: LaunchActivities;
  let cloud: CloudActivities;

  beforeEach(async () => {
    world = await createActivityWorld();
    launch = createLaunchActivities(world.deps);
    cloud = createCloudActivities(world.deps);
    world.kube.put('NodePool', nodePool('default'));
    world.kube.put('EC2NodeClass', nodeClass('default'));
    world.kube.put('NodeClaim', nodeClaim('c1', { spec: { resources: { requests: { cpu: '1' } } } }));
    await world.synced();
  });
  afterEach(() => world.stop());

  const live = () => world.kube.get('NodeClaim', { name: 'c1' });
  const launchNow = async (): Promise<LaunchInstanceResult> =>
    new MockActivityEnvironment().run<[], LaunchInstanceResult, () => Promise<LaunchInstanceResult>>(() =>
      cloud.launchInstance({ claim }),
    );
  const putNode = async (node: { taints?: { key: string; effect: 'NoSchedule' | 'NoExecute' }[]; ready?: boolean }) => {
    const providerID = (await live())!.status!.providerID!;
    world.kube.put('Node', {
      metadata: { name: 'n1', labels: {} },
      spec: { providerID, taints: node.taints ?? [taints.unregistered] },
      status: {
        allocatable: { cpu: '4' },
        conditions: [{ type: 'Ready', status: node.ready === false ? 'False' : 'True' }],
      },
    });
    await world.synced();
  };
  const launched = async (): Promise<void> => {
    await launch.prepareClaim({ claim });
    const result = await launchNow();
    if (result.state !== 'launched') throw new Error(result.state);
    await launch.recordLaunch({ claim, instance: result.instance });
  };

  test('the finalizer is there before anything is launched, with unknown conditions', async () => {
    await expect(launch.prepareClaim({ claim })).resolves.toMatchObject({ state: 'live', registered: false });

    const after = await live();
    expect(after?.metadata.finalizers).toEqual([finalizers.termination]);
    expect(conditionOf(after?.status?.conditions, 'Ready')).toMatchObject({
      status: 'Unknown',
      reason: 'ReconcilingDependents',
    });
  });

  test('scenario 71: an answer that was lost gives the same instance: never two for a claim (invariant 1)', async () => {
    world.cloud.loseAnswer('launch', 2);

    await expect(launchNow()).rejects.toMatchObject({ type: 'LaunchFailed' });
    await expect(launchNow()).rejects.toMatchObject({ type: 'LaunchFailed' });
    await expect(launchNow()).resolves.toMatchObject({ state: 'launched' });

    expect(world.cloud.launchesByClaimUid.get(claim.uid)).toBe(1);
    expect(conditionOf((await live())?.status?.conditions, 'Launched')).toMatchObject({
      status: 'Unknown',
      reason: 'LaunchFailed',
    });
  });

  test('another claim of the same name is not this one', async () => {
    const other = { name: 'c1', uid: 'uid-other' };

    await expect(launch.prepareClaim({ claim: other })).resolves.toEqual({ state: 'gone' });
    await expect(cloud.launchInstance({ claim: other })).resolves.toEqual({ state: 'gone' });
    expect(world.cloud.launchesByClaimUid.size).toBe(0);
  });

  test('no capacity is a refusal, and the claim is deleted with its event', async () => {
    world.cloud.exhaust();

    const result = await launchNow();
    expect(result).toMatchObject({ state: 'refused', reason: 'insufficient_capacity' });
    await launch.failClaim({ claim, reason: 'insufficient_capacity', message: 'none left' });

    expect(await live()).toBeUndefined();
    expect(world.events.map(({ reason }) => reason)).toEqual(['InsufficientCapacityError']);
  });

  test('a user label wins over the provider label of the same key', async () => {
    await world.kube.patch('NodeClaim', { name: 'c1' }, { metadata: { labels: { [labels.zone]: 'mine' } } });
    await launched();

    const after = await live();
    expect(after?.metadata.labels?.[labels.zone]).toBe('mine');
    expect(after?.metadata.labels?.[labels.instanceType]).toBe('m5.xlarge');
    expect(isTrue(after?.status?.conditions, 'Launched')).toBe(true);
  });

  test('registers, then initializes once the node is ready', async () => {
    await launched();
    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'waiting', reason: 'NodeNotFound' });
    await putNode({ ready: false });

    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'registered', reason: 'NodeNotReady' });
    const node = await world.kube.get('Node', { name: 'n1' });
    expect(node?.spec?.taints).toEqual([]);
    expect(node?.metadata).toMatchObject({
      finalizers: [finalizers.termination],
      labels: { [labels.registered]: 'true', [labels.nodePool]: 'default' },
      ownerReferences: [{ kind: 'NodeClaim', uid: claim.uid }],
    });

    await world.kube.patch(
      'Node',
      { name: 'n1' },
      { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      {
        subresource: 'status',
      },
    );
    await world.synced();
    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'initialized', nodeName: 'n1' });
    const after = await live();
    expect(isTrue(after?.status?.conditions, 'Ready')).toBe(true);
    expect(after?.status?.nodeName).toBe('n1');
  });

  test('startup taints are added once and hold initialization up; nodes that sync their own get none', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1', { spec: { startupTaints: [{ key: 'x', effect: 'NoSchedule' }] } }));
    await world.synced();
    await launched();
    await putNode({});

    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ reason: 'StartupTaintsExist' });
    await world.kube.patch('Node', { name: 'n1' }, { spec: { taints: [] } });
    await world.synced();
    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'initialized' });
    expect((await world.kube.get('Node', { name: 'n1' }))?.spec?.taints).toEqual([]);
  });

  test('scenario 73: a missing unregistered taint is warned about, and registers', async () => {
    await launched();
    await putNode({ taints: [] });

    await launch.syncNode({ claim });

    expect(world.events.map(({ reason }) => reason)).toContain('UnregisteredTaintMissing');
    expect(isTrue((await live())?.status?.conditions, 'Registered')).toBe(true);
  });

  test('scenario 74: asked for a GPU, a node initializes once its plugin has registered one', async () => {
    const requests = { cpu: '1', 'nvidia.com/gpu': '1' };
    await launched();
    const placed = (await live())!;
    world.kube.put('NodeClaim', { ...placed, spec: { ...placed.spec, resources: { requests } } });
    await putNode({});
    await expect(launch.syncNode({ claim })).resolves.toMatchObject({
      state: 'registered',
      reason: 'ResourceNotRegistered',
    });
    const allocatable = { cpu: '4', 'nvidia.com/gpu': '1' };
    await world.kube.patch('Node', { name: 'n1' }, { status: { allocatable } }, { subresource: 'status' });
    await world.synced();
    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'initialized' });
  });

  test('scenario 101: a spot warning hides the offering for every worker, a rebalance recommendation is an event alone', async () => {
    await launched();
    const labelled = (await live())!.metadata.labels ?? {};
    await world.kube.patch('NodeClaim', { name: 'c1' }, { metadata: { labels: { [labels.capacityType]: 'spot' } } });
    await world.synced();
    const reported: unknown[] = [];
    const offerings = {
      ...world.deps.offerings,
      refused: (refused: readonly unknown[]) => Promise.resolve(void reported.push(...refused)),
    };
    const reporting = createCloudActivities({ ...world.deps, offerings });
    const instanceId = (await live())!.status!.providerID!.split('/').at(-1)!;

    await reporting.inspectInstance({ instanceId, kind: 'rebalance_recommendation', at: world.clock.now });
    expect(world.events.map(({ reason }) => reason)).toContain('SpotRebalanceRecommendation');
    expect(reported).toEqual([]);
    await reporting.inspectInstance({ instanceId, kind: 'spot_interrupted', at: world.clock.now });
    expect(reported).toMatchObject([
      { instanceType: labelled[labels.instanceType], zone: labelled[labels.zone], capacityType: 'spot' },
    ]);
    const types = await world.cloud.instanceTypes();
    const hidden = types[0]!.offerings.filter(({ available }) => !available);
    expect(hidden.map(({ requirements }) => requirements.flatMap(({ values }) => values ?? []))).toEqual([
      expect.arrayContaining(['spot', labelled[labels.zone]]),
    ]);
  });

  test('two nodes of one instance never register', async () => {
    await launched();
    await putNode({});
    const node = (await world.kube.get('Node', { name: 'n1' }))!;
    world.kube.put('Node', { ...node, metadata: { name: 'n2' } });
    await world.synced();

    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'waiting', reason: 'MultipleNodesFound' });
    expect(conditionOf((await live())?.status?.conditions, 'Registered')?.status).toBe('False');
  });

  test('an unreachable API server is a retryable failure, and nothing is launched', async () => {
    const { DomainError } = await import('../core/failures.js');
    world.kube.fail(new DomainError('Unavailable', 'no answer'));

    await expect(launchNow()).rejects.toMatchObject({ type: 'Unavailable', nonRetryable: false });
    expect(world.cloud.launchesByClaimUid.size).toBe(0);
  });

  test('what became of claims is noted on their own NodePool, once each (section 1.1, scenario 72)', async () => {
    const owned = (name: string, poolUid = 'pool-default') => {
      const base = nodeClaim(name);
      const owner = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'default', uid: poolUid };
      return { ...base, metadata: { ...base.metadata, ownerReferences: [owner] } };
    };
    const fail = (name: string, reason: string): Promise<void> =>
      launch.failClaim({ claim: { name, uid: `uid-${name}` }, reason, message: 'no node' });
    const health = async (): Promise<string | undefined> => {
      const pool = (await world.kube.get('NodePool', { name: 'default' }))!;
      const subject = registrationSubject(world.deps, pool);
      return registrationHealth(pool.metadata.annotations?.[annotations.registrations], subject).status;
    };
    for (const name of ['a', 'b', 'd']) world.kube.put('NodeClaim', owned(name));
    world.kube.put('NodeClaim', owned('namesake', 'pool-of-last-year'));
    world.kube.put('NodeClaim', owned('c1'));
    await world.synced();

    await fail('namesake', 'registration_timeout');
    await fail('d', 'insufficient_capacity');
    await fail('a', 'registration_timeout');
    await expect(health()).resolves.toBe('Unknown');
    await launched();
    await putNode({});
    await launch.syncNode({ claim });
    await launch.syncNode({ claim });
    await expect(health()).resolves.toBe('True');
    await fail('b', 'launch_timeout');
    await expect(health()).resolves.toBe('False');
  });
});
