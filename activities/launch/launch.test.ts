import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { annotations, finalizers, labels, taints } from '../../api/labels.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { DomainError } from '../../core/failures.js';
import { registrationHealth, whyFailingPoolRests } from '../../core/registration-health.js';
import type { CloudInstance, LaunchRequest } from '../../cloud/port.js';
import type { Kind } from '../../kube/port.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, quiet } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { InterruptionActivities } from '../interruption/contract.js';
import { createInterruptionActivities } from '../interruption/inspect-instance.js';
import { createCloudActivities } from './cloud.js';
import type { CloudActivities, LaunchActivities, LaunchInstanceResult } from './contract.js';
import { createLaunchActivities } from './launch.js';
import { registrationSubject } from '../../cluster/registration-subject.js';

const claim = { name: 'c1', uid: 'uid-c1' };

interface Outcome {
  readonly ageMs?: number;
  readonly refuted?: boolean;
  readonly state?: CloudInstance['state'] | 'gone';
}

describe('launching a claim', () => {
  let world: ActivityWorld;
  let launch: LaunchActivities;
  let cloud: CloudActivities;
  let interruptions: InterruptionActivities;

  beforeEach(async () => {
    world = await createActivityWorld();
    // The tags of a node are added after what a test looks at, unless it is about them.
    jest.spyOn(world.deps.cloud, 'tag').mockReturnValue(new Promise(() => undefined));
    launch = createLaunchActivities(world.deps);
    cloud = createCloudActivities(world.deps);
    interruptions = createInterruptionActivities(world.deps);
    world.kube.put('NodePool', nodePool('default'));
    world.kube.put('EC2NodeClass', nodeClass('default'));
    world.kube.put('NodeClaim', nodeClaim('c1', { spec: { resources: { requests: { cpu: '1' } } } }));
    await world.synced();
  });
  afterEach(() => world.stop());

  const live = () => world.kube.get('NodeClaim', { name: 'c1' });
  const launchNow = async (): Promise<LaunchInstanceResult> =>
    new MockActivityEnvironment({}, quiet).run<[], LaunchInstanceResult, () => Promise<LaunchInstanceResult>>(() =>
      cloud.launchInstance({ claim }),
    );
  const putNode = async (node: { taints?: { key: string; effect: 'NoSchedule' | 'NoExecute' }[]; ready?: boolean }) => {
    const providerID = (await live())!.status!.providerID!;
    world.kube.put('Node', {
      metadata: { name: 'n1', labels: {} },
      spec: { providerID, taints: node.taints ?? [taints.unregistered] },
      status: {
        allocatable: { cpu: '4' },
        capacity: { cpu: '4' },
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

  test.each([
    ['names no NodePool', undefined],
    ['names one that does not exist', 'gone'],
  ])('a claim made by hand that %s is launched (launch/without-node-pool)', async (_, nodePool) => {
    const made = nodeClaim('c1');
    const own: Record<string, string> = nodePool === undefined ? {} : { [labels.nodePool]: nodePool };
    world.kube.put('NodeClaim', { ...made, metadata: { ...made.metadata, labels: own, ownerReferences: [] } });
    await world.synced();
    await launched();
    const { labels: shown = {} } = (await live())!.metadata;
    expect(shown[labels.nodePool]).toBe(nodePool);
    expect(shown[labels.zone]).not.toBeUndefined();
  });

  // Rule `launch/refused-writes`.
  describe('writes that the API server refuses', () => {
    const denied = new DomainError('Denied', 'policy says no', { status: 403 });
    const refuse = (kind: Kind, error = denied): (() => void) => {
      const patch = world.kube.patch.bind(world.kube);
      world.kube.patch = ((...args: Parameters<typeof patch>) =>
        args[0] === kind ? Promise.reject(error) : patch(...args)) as typeof patch;
      return () => void (world.kube.patch = patch);
    };
    const refused = { state: 'refused', message: 'policy says no' };

    test('to the claim are reported, while an outage is retried', async () => {
      let allow = refuse('NodeClaim');
      await expect(launch.prepareClaim({ claim })).resolves.toEqual(refused);
      allow();
      await launch.prepareClaim({ claim });
      const result = await launchNow();
      if (result.state !== 'launched') throw new Error(result.state);
      allow = refuse('NodeClaim');
      await expect(launch.recordLaunch({ claim, instance: result.instance })).resolves.toEqual(refused);
      allow();
      refuse('NodeClaim', new DomainError('Unavailable', 'no answer'));
      await expect(launch.recordLaunch({ claim, instance: result.instance })).rejects.toThrow('no answer');
    });

    test("to the Node delay registration, within the claim's timeout", async () => {
      await launched();
      await putNode({});
      const allow = refuse('Node');
      const waiting = { state: 'waiting', reason: 'NodeWriteRefused', registered: false };
      await expect(launch.syncNode({ claim })).resolves.toMatchObject(waiting);
      const outcome = conditionOf((await live())!.status?.conditions, 'Registered');
      expect(outcome).toMatchObject({ status: 'Unknown', reason: 'NodeWriteRefused' });
      expect(outcome?.message).toContain('policy says no');
      allow();
      await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'initialized' });
    });

    test('to a registered Node delay initialization, for as long as they last', async () => {
      await launched();
      await putNode({ ready: false });
      await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'registered' });
      const node = (await world.kube.get('Node', { name: 'n1' }))!;
      world.kube.put('Node', { ...node, status: { ...node.status, conditions: [{ type: 'Ready', status: 'True' }] } });
      await world.synced();
      refuse('Node');
      const waiting = { state: 'waiting', reason: 'NodeWriteRefused', registered: true };
      await expect(launch.syncNode({ claim })).resolves.toMatchObject(waiting);
      expect(isTrue((await live())!.status?.conditions, 'Registered')).toBe(true);
    });

    test('end the launch: its NodePool backs off, so that another one gets the pods', async () => {
      await launch.failClaim({ claim, reason: 'launch_timeout', message: 'policy says no', refused: true });
      const pool = await world.kube.get('NodePool', { name: 'default' });
      expect(pool?.metadata.annotations?.[annotations.refusals]).toContain('policy says no');
      const [refusal] = JSON.parse(pool!.metadata.annotations![annotations.refusals]!) as [{ until: number }];
      // Long enough for its pods to be planned: pending pods are signalled every ten seconds.
      expect(refusal.until).toBe(world.clock.now + 120_000);
      expect(await live()).toBeUndefined();
    });
  });

  test('a claim whose NodePool is gone is not launched, since it is about to be deleted', async () => {
    const made = nodeClaim('c1');
    const owner = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'gone', uid: 'uid-gone' };
    const metadata = { ...made.metadata, labels: { [labels.nodePool]: 'gone' }, ownerReferences: [owner] };
    world.kube.put('NodeClaim', { ...made, metadata });
    await world.synced();
    await expect(launchNow()).resolves.toMatchObject({ state: 'refused', message: 'NodePool gone does not exist' });
  });

  test('the claim of an instance is read from the API server where the cache lacks it', async () => {
    await launched();
    await world.synced();
    const instanceId = (await live())!.status!.providerID!.split('/').at(-1)!;
    const asked = { instanceId, kind: 'spot_interrupted', at: world.clock.now };
    let isFresh = true;
    Object.assign(world.deps.cache, { all: () => [], isFresh: () => Promise.resolve(isFresh) });
    await expect(interruptions.inspectInstance(asked)).resolves.toEqual({ state: 'unknown' });

    isFresh = false;

    await expect(interruptions.inspectInstance(asked)).resolves.toMatchObject({ state: 'known', claim });
    world.kube.put('NodeClaim', nodeClaim('c2'));
    await expect(interruptions.inspectInstance({ ...asked, instanceId: 'i-other' })).resolves.toEqual({
      state: 'unknown',
      mayBeLaunching: true,
    });
  });

  test('a notice taints a node with pods in the same look that finds its claim', async () => {
    await launched();
    await putNode({});
    await launch.syncNode({ claim });
    const instanceId = (await live())!.status!.providerID!.split('/').at(-1)!;
    const asked = { instanceId, kind: 'spot_interrupted', at: world.clock.now };
    const isTainted = async (): Promise<boolean> =>
      (await world.kube.get('Node', { name: 'n1' }))?.spec?.taints?.some(({ key }) => key === taints.disrupted.key) ===
      true;
    await world.synced();
    await expect(interruptions.inspectInstance({ ...asked, cordonFor: 'w' })).resolves.not.toHaveProperty('cordoned');
    world.kube.put('Pod', {
      metadata: {
        name: 'web',
        namespace: 'default',
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true }],
      },
      spec: { nodeName: 'n1', containers: [] },
      status: { phase: 'Running' },
    });
    await world.synced();
    await expect(interruptions.inspectInstance(asked)).resolves.not.toHaveProperty('cordoned');
    expect(await isTainted()).toBe(false);

    await expect(interruptions.inspectInstance({ ...asked, cordonFor: 'w' })).resolves.toMatchObject({
      cordoned: true,
    });
    expect(await isTainted()).toBe(true);
  });

  // Rule `interruption/restarted`.
  test.each([
    ['of a spot instance that runs is confirmed', 'spot', 'spot_interrupted', {}],
    ['that an on-demand instance is taken is refuted', 'on-demand', 'spot_interrupted', { refuted: true }],
    [
      'that a reservation takes a spot instance is refuted',
      'spot',
      'capacity_reservation_interrupted',
      { refuted: true },
    ],
    ['that a running instance has stopped is refuted', 'spot', 'instance_stopped', { refuted: true }],
    ['that a running instance is terminated is refuted', 'spot', 'instance_terminated', { refuted: true }],
    ['of an instance that runs long after is refuted', 'spot', 'spot_interrupted', { ageMs: 601_000, refuted: true }],
    ['of an instance that is stopping is confirmed', 'on-demand', 'instance_stopped', { state: 'stopping' }],
    ['of an instance that is gone is confirmed', 'on-demand', 'instance_terminated', { state: 'gone' }],
  ] as const)(
    'a notice on a NodeClaim %s',
    async (_what, capacityType, kind, { ageMs = 0, refuted = false, state = 'running' }: Outcome) => {
      await launched();
      await putNode({});
      const at = world.clock.now - ageMs;
      const note = { [annotations.interruption]: JSON.stringify({ kind, at }) };
      await world.kube.patch('NodeClaim', { name: 'c1' }, { metadata: { annotations: note } });
      await world.synced();
      const instance = (await world.deps.cloud.get((await live())!.status!.providerID!))!;
      const found = state === 'gone' ? undefined : { ...instance, capacityType, state };
      jest.spyOn(world.deps.cloud, 'get').mockResolvedValue(found);

      const view = await interruptions.inspectInstance({ ...instance, kind, at, toConfirm: true });

      expect(view.state).toBe(refuted ? 'refuted' : 'known');
      expect(annotations.interruption in ((await live())?.metadata.annotations ?? {})).toBe(!refuted);
      expect(world.events.some(({ reason }) => reason === 'TerminatingOnInterruption')).toBe(!refuted);
      // What the process read from the cloud itself needs no confirmation.
      await expect(interruptions.inspectInstance({ ...instance, kind, at })).resolves.toMatchObject({ state: 'known' });
    },
  );

  test('a claim without an instance in a restored API server is reported as not launched', async () => {
    await launched();
    const before = { status: { providerID: null, conditions: [] } };
    await world.kube.patch('NodeClaim', { name: 'c1' }, before, { subresource: 'status' });
    await world.synced();

    await expect(launch.syncNode({ claim })).resolves.toEqual({ state: 'unlaunched' });
  });

  test('a claim without its Node reports whether it was registered', async () => {
    await launched();
    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'waiting', registered: false });
    await putNode({ ready: false });
    await launch.syncNode({ claim });
    await world.kube.delete('Node', { name: 'n1' });
    await world.kube.patch('Node', { name: 'n1' }, { metadata: { finalizers: [] } });
    await world.synced();
    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'waiting', registered: true });
  });

  test('a Node that the cache lacks is found when the API server is asked', async () => {
    await launched();
    await putNode({});
    const all = world.deps.cache.all.bind(world.deps.cache);
    Object.assign(world.deps.cache, { all: (kind: Kind) => (kind === 'Node' ? [] : all(kind)) });

    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'waiting' });
    await expect(launch.syncNode({ claim, live: true })).resolves.toMatchObject({ nodeName: 'n1' });

    expect(isTrue((await live())?.status?.conditions, 'Registered')).toBe(true);
  });

  // Rule `launch/finalizer-first`.
  test('the finalizer and unknown conditions are written before the launch', async () => {
    await expect(launch.prepareClaim({ claim })).resolves.toMatchObject({ state: 'live', registered: false });

    const after = await live();
    expect(after?.metadata.finalizers).toEqual([finalizers.termination]);
    expect(conditionOf(after?.status?.conditions, 'Ready')).toMatchObject({
      status: 'Unknown',
      reason: 'ReconcilingDependents',
    });
  });

  // Rule `launch/finalizer-first`.
  test('a launch without preparation writes the finalizer before it calls the cloud, and records its instance', async () => {
    const finalizersThen: unknown[] = [];
    const given = world.cloud.launch.bind(world.cloud);
    Object.assign(world.cloud, {
      launch: async (request: LaunchRequest) => {
        finalizersThen.push((await live())?.metadata.finalizers);
        return given(request);
      },
    });

    await expect(launchNow()).resolves.toMatchObject({ state: 'launched', recorded: true });

    expect(finalizersThen).toEqual([[finalizers.termination]]);
    const { providerID, conditions } = (await live())!.status!;
    expect(providerID).not.toBeUndefined();
    expect(conditionOf(conditions, 'Registered')).toMatchObject({ status: 'Unknown', reason: 'NodeNotFound' });
  });

  test('an instance that cannot be recorded is launched all the same, and reported as not recorded', async () => {
    await launch.prepareClaim({ claim });
    Object.assign(world.kube, { patch: () => Promise.reject(new DomainError('Unavailable', 'no answer')) });

    await expect(launchNow()).resolves.toMatchObject({ state: 'launched', recorded: false });
  });

  test('a node that is Ready when it registers takes one write to its Node and one to its claim', async () => {
    await launched();
    await putNode({});
    const written: string[] = [];
    const patch = world.kube.patch.bind(world.kube);
    Object.assign(world.kube, {
      patch: (...args: Parameters<typeof patch>) => {
        written.push(args[0]);
        return patch(...args);
      },
    });

    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'initialized' });

    expect(written.filter((kind) => kind !== 'NodePool')).toEqual(['Node', 'NodeClaim']);
  });

  test('a claim whose instance the cache has is not read from the API server, and one that the cache lacks is', async () => {
    await launched();
    const read = jest.spyOn(world.kube, 'get');
    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ reason: 'NodeNotFound' });
    expect(read.mock.calls).toEqual([['NodeClaim', { name: 'c1' }]]);
    const tagged = { [annotations.tagged]: 'true', [annotations.clusterNameTagged]: 'true' };
    await world.kube.patch('NodeClaim', { name: 'c1' }, { metadata: { annotations: tagged } });
    await putNode({});
    read.mockClear();

    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'initialized' });

    expect(read.mock.calls).toEqual([]);
  });

  test('a node that is ready when it registers is one write of the Node and one of the claim, with ConsistentStateFound (registration/in-one-step)', async () => {
    await launched();
    await putNode({});
    const patch = jest.spyOn(world.kube, 'patch');

    await launch.syncNode({ claim });

    const writes = patch.mock.calls.map(([kind]) => kind).filter((kind) => kind !== 'NodePool');
    expect(writes).toEqual(['Node', 'NodeClaim']);
    const { conditions } = (await live())!.status!;
    expect(['Registered', 'Initialized', 'ConsistentStateFound'].map((type) => isTrue(conditions, type))).toEqual([
      true,
      true,
      true,
    ]);
  });

  // Rule `launch/tags-after-registration`.
  test.each([
    ['does not answer', () => new Promise<void>(() => undefined)],
    ['refuses them', () => Promise.reject(new DomainError('Denied', 'ec2:CreateTags: UnauthorizedOperation'))],
    ['does not show the instance yet', () => Promise.reject(new DomainError('Unavailable', 'not visible yet'))],
  ])('registration adds the tags that name the node once, also where the cloud %s', async (_, answer) => {
    await launched();
    await putNode({});
    const asked = new Promise<unknown[]>((resolve) => {
      jest.spyOn(world.deps.cloud, 'tag').mockImplementation((...args) => {
        resolve(args);
        return answer();
      });
    });

    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'initialized' });

    const { providerID } = (await live())!.status!;
    expect(await asked).toEqual([providerID, { Name: 'n1', 'karpenter.sh/nodeclaim': 'c1' }]);
  });

  test('a node is counted as created once, also where the cache has not seen its registration yet', async () => {
    await launched();
    await putNode({ ready: false });
    const count = jest.spyOn(world.deps.metrics, 'count');
    const [seen, node] = [world.deps.cache.get('NodeClaim', claim), world.deps.cache.get('Node', { name: 'n1' })!];
    const get = jest
      .spyOn(world.deps.cache, 'get')
      .mockImplementation((kind: Kind) => (kind === 'NodeClaim' ? seen : undefined));
    const all = jest.spyOn(world.deps.cache, 'all').mockImplementation((kind: Kind) => (kind === 'Node' ? [node] : []));
    for (let attempt = 0; attempt < 2; attempt++) await launch.syncNode({ claim });

    expect(count.mock.calls.filter(([name]) => name === 'nodes_created_total')).toHaveLength(1);
    for (const each of [get, all]) each.mockRestore();
  });

  test('conditions that were removed from an initialized claim are written again, Launched with them', async () => {
    await launched();
    await putNode({});
    await launch.syncNode({ claim });
    await world.kube.patch('NodeClaim', { name: 'c1' }, { status: { conditions: [], nodeName: null } });

    await launch.prepareClaim({ claim });
    await world.synced();
    await launch.syncNode({ claim });

    const { conditions = [] } = (await live())!.status!;
    expect(conditions.filter(({ status }) => status !== 'True')).toEqual([]);
    expect(isTrue(conditions, 'Ready')).toBe(true);
    expect(world.cloud.launchesByClaimUid.get(claim.uid)).toBe(1);
  });

  test('a launch whose answer was lost returns the same instance: never two for a claim (launch/one-instance, invariants/one-instance)', async () => {
    world.cloud.loseAnswer('launch', 2);

    await expect(launchNow()).resolves.toMatchObject({ state: 'failed' });
    await expect(launchNow()).resolves.toMatchObject({ state: 'failed' });
    expect(conditionOf((await live())?.status?.conditions, 'Launched')).toMatchObject({
      status: 'Unknown',
      reason: 'LaunchFailed',
    });
    await expect(launchNow()).resolves.toMatchObject({ state: 'launched' });

    expect(world.cloud.launchesByClaimUid.get(claim.uid)).toBe(1);
    expect(isTrue((await live())?.status?.conditions, 'Launched')).toBe(true);
  });

  test.each([
    ['Denied', 'Unauthorized', 'ec2:CreateFleet: UnauthorizedOperation: no'],
    ['Throttled', 'RequestLimitExceeded', 'ec2:CreateFleet: RequestLimitExceeded: Request limit exceeded.'],
  ] as const)(
    "a failed launch (%s) has the cloud's message on the claim and in an event",
    async (type, reason, words) => {
      world.cloud.failNext('launch', new DomainError(type, words, { reason }));

      await expect(launchNow()).resolves.toMatchObject({ state: 'failed' });

      const condition = conditionOf((await live())?.status?.conditions, 'Launched');
      expect(condition).toMatchObject({ status: 'Unknown', reason });
      expect(condition?.message).toContain(words);
      expect(world.events).toMatchObject([{ type: 'Warning', reason, regarding: { name: 'c1' } }]);
      expect(world.events[0]?.message).toContain(words);
    },
  );

  // Rule `launch/timeouts`.
  describe('a launch attempt that the cloud did not answer', () => {
    const answers = (answeredAt: number | undefined): void => void Object.assign(world.cloud, { answeredAt });

    test.each(['Unavailable', 'Throttled'] as const)(
      'does not count against the claim while no call is answered (%s)',
      async (type) => {
        answers(world.clock.now - 1);
        world.cloud.failNext('launch', new DomainError(type, 'no answer'));
        await expect(launchNow()).resolves.toMatchObject({ state: 'failed', isUnavailable: true });
      },
    );

    test('counts where another call was answered since it began', async () => {
      world.cloud.failNext('launch', new DomainError('Unavailable', 'no answer'));
      answers(world.clock.now);
      await expect(launchNow()).resolves.not.toHaveProperty('isUnavailable');
    });

    test('counts where the cloud has given a reason', async () => {
      world.cloud.failNext('launch', new DomainError('Denied', 'no'));
      await expect(launchNow()).resolves.not.toHaveProperty('isUnavailable');
    });

    test('ends before its timeout while no call is answered, so that it differs from a launch that hangs', async () => {
      Object.assign(world.cloud, { launch: () => new Promise(() => undefined) });
      const env = new MockActivityEnvironment({ startToCloseTimeoutMs: 5_010 }, quiet);
      const attempt = env.run<[], LaunchInstanceResult, () => Promise<LaunchInstanceResult>>(() =>
        cloud.launchInstance({ claim }),
      );
      await expect(attempt).resolves.toMatchObject({ state: 'failed', isUnavailable: true });
    });
  });

  // Rule `launch/one-instance`.
  test('an earlier instance is looked up only where one may exist', async () => {
    const asked: unknown[] = [];
    const given = world.cloud.launch.bind(world.cloud);
    Object.assign(world.cloud, {
      launch: (request: LaunchRequest) => {
        asked.push(request.firstAttempt);
        return given(request);
      },
    });
    const asksFor = async (isFirst: boolean | undefined): Promise<unknown> => {
      const own = { claim, ...(isFirst === undefined ? {} : { isFirst }) };
      await new MockActivityEnvironment().run(() => cloud.launchInstance(own));
      return asked.at(-1);
    };
    await expect(asksFor(true)).resolves.toBe(true);
    await expect(asksFor(false)).resolves.toBe(false);
    await expect(asksFor(undefined)).resolves.toBe(false);
    world.clock.now += 180_000;
    await expect(asksFor(true)).resolves.toBe(false);
  });

  test('a claim that was created just now is launched as the watch cache has it, and any other is read first', async () => {
    const reads = jest.spyOn(world.deps.kube, 'get');
    const readsOf = async (isFirst: boolean): Promise<number> => {
      reads.mockClear();
      await new MockActivityEnvironment().run(() => cloud.launchInstance({ claim, isFirst }));
      return reads.mock.calls.filter(([kind]) => kind === 'NodeClaim').length;
    };
    await world.synced();
    await expect(readsOf(true)).resolves.toBe(0);
    await expect(readsOf(false)).resolves.toBe(1);
  });

  test('another claim of the same name does not match', async () => {
    const other = { name: 'c1', uid: 'uid-other' };

    await expect(launch.prepareClaim({ claim: other })).resolves.toEqual({ state: 'gone' });
    for (const isFirst of [true, false])
      await expect(cloud.launchInstance({ claim: other, isFirst })).resolves.toEqual({ state: 'gone' });
    expect(world.cloud.launchesByClaimUid.size).toBe(0);
  });

  test('no capacity is a refusal, and the claim is deleted with an event', async () => {
    world.cloud.exhaust();

    const result = await launchNow();
    expect(result).toMatchObject({ state: 'refused', reason: 'insufficient_capacity' });
    await launch.failClaim({ claim, reason: 'insufficient_capacity', message: 'none left' });

    expect((await live())?.metadata.deletionTimestamp).not.toBeUndefined();
    expect(world.events.map(({ reason }) => reason)).toEqual(['InsufficientCapacityError']);
  });

  // Rule `launch/labels`.
  test("a user's label has precedence over the provider's label of the same key", async () => {
    await world.kube.patch('NodeClaim', { name: 'c1' }, { metadata: { labels: { [labels.zone]: 'mine' } } });
    await launched();

    const after = await live();
    expect(after?.metadata.labels?.[labels.zone]).toBe('mine');
    expect(after?.metadata.labels?.[labels.instanceType]).toBe('m5.xlarge');
    expect(isTrue(after?.status?.conditions, 'Launched')).toBe(true);
  });

  // Rules `registration/registered`, `registration/initialized`, `node-claims/ready`.
  test('a node is registered, then initialized once it is Ready', async () => {
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

  describe('a Node that was deleted by force and created anew by its kubelet (registration/registered-anew)', () => {
    const comeAnew = async (node: Parameters<typeof putNode>[0]): Promise<void> => {
      await launched();
      await putNode({});
      await launch.syncNode({ claim });
      world.kube.remove('Node', { name: 'n1' });
      await putNode(node);
    };

    test.each([
      ['with its taint', [taints.unregistered]],
      ['without', []],
    ])('%s, gets all that the first had', async (_, own) => {
      await comeAnew({ taints: own, ready: false });
      await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'registered', reason: 'NodeNotReady' });
      expect(isTrue((await live())?.status?.conditions, 'Initialized')).toBe(true);

      await putNode({ taints: own });
      await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'initialized', nodeName: 'n1' });

      const node = await world.kube.get('Node', { name: 'n1' });
      expect(node?.spec?.taints).toEqual([]);
      expect(node?.metadata).toMatchObject({
        finalizers: [finalizers.termination],
        labels: { [labels.registered]: 'true', [labels.initialized]: 'true' },
        ownerReferences: [{ kind: 'NodeClaim', uid: claim.uid }],
      });
    });

    test("does not change the claim's conditions while it is away", async () => {
      await comeAnew({});
      world.kube.remove('Node', { name: 'n1' });
      await world.synced();
      await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'waiting', reason: 'NodeNotFound' });
      expect(isTrue((await live())?.status?.conditions, 'Initialized')).toBe(true);
    });
  });

  test('startup taints are added once and delay initialization; nodes with do-not-sync-taints get none', async () => {
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

  test('a missing unregistered taint is a warning, and the node is registered (registration/missing-taint)', async () => {
    await launched();
    await putNode({ taints: [] });

    await launch.syncNode({ claim });

    expect(world.events.map(({ reason }) => reason)).toContain('UnregisteredTaintMissing');
    expect(isTrue((await live())?.status?.conditions, 'Registered')).toBe(true);
  });

  test('a node with requested GPUs is initialized once its device plugin has registered one (registration/requested-devices)', async () => {
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

  test('a spot interruption makes the offering unavailable for every worker, a rebalance recommendation is only an event (interruption/offering-hidden, interruption/kinds, interruption/events)', async () => {
    await launched();
    const labelled = (await live())!.metadata.labels ?? {};
    await world.kube.patch('NodeClaim', { name: 'c1' }, { metadata: { labels: { [labels.capacityType]: 'spot' } } });
    await world.synced();
    const reported: unknown[] = [];
    const offerings = {
      ...world.deps.offerings,
      refused: (refused: readonly unknown[]) => Promise.resolve(void reported.push(...refused)),
    };
    const inspecting = createInterruptionActivities({ ...world.deps, offerings });
    const instanceId = (await live())!.status!.providerID!.split('/').at(-1)!;

    await inspecting.inspectInstance({ instanceId, kind: 'rebalance_recommendation', at: world.clock.now });
    expect(world.events.map(({ reason }) => reason)).toContain('SpotRebalanceRecommendation');
    expect(reported).toEqual([]);
    await inspecting.inspectInstance({ instanceId, kind: 'spot_interrupted', at: world.clock.now });
    expect(reported).toMatchObject([
      { instanceType: labelled[labels.instanceType], zone: labelled[labels.zone], capacityType: 'spot' },
    ]);
    const types = await world.cloud.instanceTypes();
    const hidden = types[0]!.offerings.filter(({ available }) => !available);
    expect(hidden.map(({ requirements }) => requirements.flatMap(({ values }) => values ?? []))).toEqual([
      expect.arrayContaining(['spot', labelled[labels.zone]]),
    ]);
  });

  test('two nodes of one instance are not registered', async () => {
    await launched();
    await putNode({});
    const node = (await world.kube.get('Node', { name: 'n1' }))!;
    world.kube.put('Node', { ...node, metadata: { name: 'n2' } });
    await world.synced();

    await expect(launch.syncNode({ claim })).resolves.toMatchObject({ state: 'waiting', reason: 'MultipleNodesFound' });
    expect(conditionOf((await live())?.status?.conditions, 'Registered')?.status).toBe('False');
  });

  // Rule `invariants/outages-harm-nothing`.
  test('an unreachable API server is a retryable failure, and nothing is launched', async () => {
    world.kube.fail(new DomainError('Unavailable', 'no answer'));

    await expect(launchNow()).rejects.toMatchObject({ type: 'Unavailable', nonRetryable: false });
    expect(world.cloud.launchesByClaimUid.size).toBe(0);
  });

  test('outcomes of claims are noted on their own NodePools, once each (node-pools/registration-health)', async () => {
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

  // Rule `node-pools/failing-pools-rest`.
  test.each(['launch_timeout', 'registration_timeout'])('after a %s its NodePool backs off', async (reason) => {
    const base = nodeClaim('a');
    const owner = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'default', uid: 'pool-default' };
    world.kube.put('NodeClaim', { ...base, metadata: { ...base.metadata, ownerReferences: [owner] } });
    await world.synced();
    await launch.failClaim({ claim: { name: 'a', uid: 'uid-a' }, reason, message: 'no node' });
    const { annotations: own, generation } = (await world.kube.get('NodePool', { name: 'default' }))!.metadata;
    expect(whyFailingPoolRests(own?.[annotations.registrations], generation, world.clock.now)).toContain(
      'backs off until',
    );
  });

  // Rule `launch/instance-ended`.
  describe('an instance that ends before its node registers', () => {
    const kms = { message: 'instance i-1 is terminated: Client.InternalError', isReclaimed: false };
    const spot = { message: 'instance i-1 is terminated: Server.SpotInstanceTermination', isReclaimed: true };
    const providerId = async (): Promise<string> => (await live())!.status!.providerID!;
    const notice = async (): Promise<unknown> => {
      await world.synced();
      const instanceId = (await providerId()).split('/').at(-1)!;
      return interruptions.inspectInstance({ instanceId, kind: 'instance_terminated', at: world.clock.now });
    };
    const outcome = (): readonly string[] =>
      world.events.filter(({ reason }) => reason === 'InstanceEnded').map(({ message }) => message);
    const rest = async (): Promise<string | undefined> => {
      const { annotations: own, generation } = (await world.kube.get('NodePool', { name: 'default' }))!.metadata;
      return whyFailingPoolRests(own?.[annotations.registrations], generation, world.clock.now);
    };

    beforeEach(async () => {
      const owner = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'default', uid: 'pool-default' };
      await world.kube.patch('NodeClaim', { name: 'c1' }, { metadata: { ownerReferences: [owner] } });
      await launched();
    });

    test('is looked up once the node takes long, and the launch gets the reason', async () => {
      world.cloud.end(await providerId(), kms);
      const awaited = { state: 'waiting', reason: 'NodeNotFound' };
      await expect(launch.syncNode({ claim })).resolves.toMatchObject(awaited);
      world.clock.now += 60_000;
      world.cloud.failNext('whyEnded');
      await expect(launch.syncNode({ claim })).resolves.toMatchObject(awaited);

      const over = { state: 'waiting', instanceEnded: true, message: kms.message };
      await expect(launch.syncNode({ claim })).resolves.toMatchObject(over);
      await launch.failClaim({ claim, reason: 'instance_ended', message: kms.message });

      expect(outcome()).toEqual([expect.stringContaining('Client.InternalError')]);
      await expect(rest()).resolves.toContain('did not register: instance i-1 is terminated: Client.InternalError');
      expect((await live())?.metadata.deletionTimestamp).toBeDefined();
    });

    test('is not assumed: a running instance is waited for', async () => {
      world.clock.now += 600_000;
      await expect(launch.syncNode({ claim })).resolves.not.toHaveProperty('instanceEnded');
    });

    test('by a notice makes the NodePool back off, with the reason', async () => {
      world.cloud.end(await providerId(), kms);
      await notice();

      expect(outcome()).toEqual([expect.stringContaining('Client.InternalError')]);
      await expect(rest()).resolves.toContain('Client.InternalError');
    });

    test('by a notice counts even while the cloud does not answer', async () => {
      world.cloud.failNext('whyEnded');
      await notice();
      await expect(rest()).resolves.toContain('backs off until');
    });

    test('as a reclaimed spot instance does not count against its NodePool', async () => {
      world.cloud.end(await providerId(), spot);
      await notice();

      expect(outcome()).toHaveLength(1);
      await expect(rest()).resolves.toBeUndefined();
    });

    test.each(['registered', 'deleted'])('a claim that is %s is left to others', async (what) => {
      if (what === 'deleted') await world.kube.delete('NodeClaim', { name: 'c1' }, {});
      else {
        await putNode({});
        await launch.syncNode({ claim });
        for (let i = 0; i < 3; i++) {
          world.clock.now += 10_000;
          await launch.syncNode({ claim });
        }
      }
      await notice();
      expect(outcome()).toEqual([]);
      await expect(rest()).resolves.toBeUndefined();
    });
  });
});
