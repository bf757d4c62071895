import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { capacityBuffers } from '../api/autoscaling/capacity-buffer.js';
import { annotations } from '../api/labels.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { registrationSubject } from '../cluster/registration-subject.js';
import { conditionOf } from '../core/conditions.js';
import { defaultFeatureGates } from '../core/feature-gates.js';
import { withRegistration } from '../core/registration-health.js';
import type { Kind } from '../kube/port.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import { watchCapacityBuffers } from './pending-pods.js';
import { watchConsistency } from './consistency.js';
import type { OperatorContext } from './context.js';
import { watchNodePools } from './node-pools.js';

const initialized = ['Launched', 'Registered', 'Initialized'].map((type) => ({ type, status: 'True' as const }));

describe('conditions that the operator writes', () => {
  let world: ActivityWorld;
  let stops: (() => void)[];

  beforeEach(async () => {
    world = await createActivityWorld();
    stops = [];
  });
  afterEach(() => {
    for (const stop of stops) stop();
    world.stop();
  });

  const context = (): OperatorContext => operatorContext(world, { podsPending: () => Promise.resolve() });

  /** Resolves once the cache sees the condition with that status. */
  const becomes = async (kind: Kind, name: string, type: string, status: string): Promise<string> => {
    const read = () => {
      const object = world.deps.cache.get(kind, { name }) as NodeClaim | undefined;
      return conditionOf(object?.status?.conditions, type);
    };
    await world.deps.cache.until(() => read()?.status === status, AbortSignal.timeout(5000));
    return read()?.message ?? '';
  };

  test('NodeRegistrationHealthy follows the outcomes noted on the NodePool, and does not affect Ready (node-pools/registration-health)', async () => {
    const klass = nodeClass('default');
    const status = { conditions: [{ type: 'Ready', status: 'True' as const }] };
    world.kube.put('EC2NodeClass', { ...klass, status });
    world.kube.put('NodePool', nodePool('default'));
    await world.synced();
    stops.push(watchNodePools(context()));
    await becomes('NodePool', 'default', 'NodeRegistrationHealthy', 'Unknown');
    const subject = registrationSubject(world.deps, world.deps.cache.get('NodePool', { name: 'default' })!);
    const text = ['a', 'b'].reduce<string | undefined>(
      (known, claimUid) => withRegistration(known, subject, { claimUid, registered: false }),
      undefined,
    );

    await world.kube.patch(
      'NodePool',
      { name: 'default' },
      { metadata: { annotations: { [annotations.registrations]: text! } } },
    );

    const message = await becomes('NodePool', 'default', 'NodeRegistrationHealthy', 'False');
    expect(message).toBe('Failed to register node');
    await becomes('NodePool', 'default', 'Ready', 'True');
  });

  test('the annotation for refused claims is removed from a NodePool ten minutes after its back-off, or when the spec changed', async () => {
    const names = ['rests', 'rested', 'changed', 'nonsense'];
    const by = { by: 'api-server', shape: '', pod: '', nodes: [], message: 'no' };
    const refusal = { ...by, generation: 2, times: 1, at: 0, until: world.clock.now + 60_000 };
    const texts = [refusal, { ...refusal, until: world.clock.now - 600_000 }, { ...refusal, generation: 1 }, 'no'];
    names.forEach((name, i) => {
      const pool = nodePool(name);
      const own = { [annotations.refusals]: JSON.stringify([texts[i]]) };
      world.kube.put('NodePool', { ...pool, metadata: { ...pool.metadata, generation: 2, annotations: own } });
    });
    await world.synced();
    const noted = (): string[] =>
      names.filter((name) => {
        const { annotations: own = {} } = world.deps.cache.get('NodePool', { name })?.metadata ?? {};
        return annotations.refusals in own || !(annotations.nodePoolHash in own);
      });

    stops.push(watchNodePools(context()));

    await world.deps.cache.until(() => noted().length === 1, AbortSignal.timeout(5000));
    await becomes('NodePool', 'rests', 'NodeClaimsAccepted', 'False');
    expect(noted()).toEqual(['rests']);
  });

  // Rule `node-pools/status`.
  test('a written count of nodes does not cause the next one: nodes are counted every five seconds', async () => {
    world.kube.put('EC2NodeClass', {
      ...nodeClass('default'),
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    world.kube.put('NodePool', nodePool('default'));
    await world.synced();
    stops.push(watchNodePools(context()));
    await becomes('NodePool', 'default', 'Ready', 'True');
    // Whatever its own readiness caused is over when another one is ready.
    world.kube.put('NodePool', nodePool('between'));
    await becomes('NodePool', 'between', 'Ready', 'True');
    const patch = jest.spyOn(world.kube, 'patch');
    const counted = { status: { nodes: 7 } };
    await world.kube.patch('NodePool', { name: 'default' }, counted, { subresource: 'status' });
    await world.synced();

    world.kube.put('NodePool', nodePool('later'));
    await becomes('NodePool', 'later', 'Ready', 'True');

    expect(patch.mock.calls.filter(([, { name }]) => name === 'default').map(([, , change]) => change)).toEqual([
      counted,
    ]);
  });

  // Rule `budgets/without-effect`.
  test('a budget without effect sets a condition and an event that name its field, and affects nothing else', async () => {
    const status = { conditions: [{ type: 'Ready', status: 'True' as const }] };
    world.kube.put('EC2NodeClass', { ...nodeClass('default'), status });
    const nightly = { schedule: '0 2 * * *', duration: '2h' };
    const contradictory = { disruption: { budgets: [{ nodes: '0' }, { nodes: '10%', ...nightly }] } };
    world.kube.put('NodePool', nodePool('default', contradictory));
    await world.synced();
    stops.push(watchNodePools(context()));

    const message = await becomes('NodePool', 'default', 'BudgetsEffective', 'False');

    expect(message).toContain('spec.disruption.budgets[1].nodes: it has no effect (found "10%")');
    await becomes('NodePool', 'default', 'Ready', 'True');
    // Until the cache has caught up the event is published again; the recorder drops repetitions.
    expect(world.events[0]).toMatchObject({ reason: 'BudgetWithoutEffect', type: 'Warning', message });

    const live = world.deps.cache.get('NodePool', { name: 'default' })!;
    const mended = nodePool('default', { disruption: { budgets: [{ nodes: '0', ...nightly }, { nodes: '10%' }] } });
    world.kube.put('NodePool', { ...mended, status: live.status });
    const gone = (): boolean =>
      conditionOf(world.deps.cache.get('NodePool', { name: 'default' })?.status?.conditions, 'BudgetsEffective') ===
      undefined;
    await world.deps.cache.until(gone, AbortSignal.timeout(5000));
  });

  // Rule `settings/feature-gates`.
  test('a static NodePool and a CapacityBuffer without their feature gate have a condition that says so', async () => {
    const { metadata, ...buffer } = capacityBuffers.mustParse({
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityBuffer',
      metadata: { name: 'spare', namespace: 'shop' },
      spec: { podTemplateRef: { name: 'spare' }, replicas: 1 },
    });
    const podTemplateRef = { name: 'spare' };
    const others = { ...buffer.spec, provisioningStrategy: "another autoscaler's", podTemplateRef };
    world.kube.put('CapacityBuffer', { metadata, ...buffer });
    world.kube.put('CapacityBuffer', { metadata: { ...metadata, name: 'of-others' }, ...buffer, spec: others });
    world.kube.put('NodePool', nodePool('static', { replicas: 2 }));
    world.kube.put('NodePool', nodePool('dynamic'));
    await world.synced();
    const off = { ...context(), gates: defaultFeatureGates };
    stops.push(watchNodePools(off), watchCapacityBuffers(off));

    expect(await becomes('NodePool', 'static', 'ReplicasKept', 'False')).toContain('FEATURE_GATES=StaticCapacity=true');
    await becomes('NodePool', 'dynamic', 'ValidationSucceeded', 'True');
    const bufferOf = (name: string) => world.deps.cache.get('CapacityBuffer', { name, namespace: 'shop' })?.status;
    await world.deps.cache.until(() => bufferOf('spare') !== undefined, AbortSignal.timeout(5000));
    expect(conditionOf(bufferOf('spare')?.conditions, 'ReadyForProvisioning')).toMatchObject({
      ...{ status: 'False', reason: 'FeatureGateOff' },
      message: expect.stringContaining('FEATURE_GATES=CapacityBuffer=true'),
    });
    const { status } = world.deps.cache.get('NodePool', { name: 'dynamic' }) ?? {};
    expect([bufferOf('of-others'), conditionOf(status?.conditions, 'ReplicasKept')]).toEqual([undefined, undefined]);
  });

  test('a NodePool that no instance type suits has a condition naming the requirement, and stays Ready (node-pools/instance-types-available)', async () => {
    const status = { conditions: [{ type: 'Ready', status: 'True' as const }] };
    world.kube.put('EC2NodeClass', { ...nodeClass('default'), status });
    const zone = (value: string) => ({
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [value] }],
        },
      },
    });
    world.kube.put('NodePool', nodePool('default', zone('mars') as never));
    await world.synced();
    stops.push(watchNodePools(context()));

    const message = await becomes('NodePool', 'default', 'InstanceTypesAvailable', 'False');
    expect(message).toMatch(/^none of \d+ instance types? has topology.kubernetes.io\/zone In \[mars\] \(there are /);
    await becomes('NodePool', 'default', 'Ready', 'True');
    expect(world.events.some(({ reason }) => reason === 'NoInstanceTypeSuits')).toBe(true);
    expect(world.events.find(({ reason }) => reason === 'NoCompatibleInstanceTypes')).toMatchObject({
      regarding: { kind: 'NodePool', name: 'default' },
      message: 'NodePool requirements filtered out all compatible available instance types',
    });

    const live = world.deps.cache.get('NodePool', { name: 'default' })!;
    const [known] = await world.cloud.instanceTypes();
    const there = known!.offerings[0]!.requirements.find(({ key }) => key.endsWith('zone'))!.values![0]!;
    world.kube.put('NodePool', { ...nodePool('default', zone(there) as never), status: live.status });
    const gone = (): boolean =>
      conditionOf(
        world.deps.cache.get('NodePool', { name: 'default' })?.status?.conditions,
        'InstanceTypesAvailable',
      ) === undefined;
    await world.deps.cache.until(gone, AbortSignal.timeout(5000));
  });

  test("minValues that the instance types lack give Karpenter's event and a condition", async () => {
    const requirements = [{ key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: 50 }];
    const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
    const status = { conditions: [{ type: 'Ready', status: 'True' as const }] };
    world.kube.put('EC2NodeClass', { ...nodeClass('default'), status });
    world.kube.put('NodePool', nodePool('default', { template: { spec: { nodeClassRef, requirements } } }));
    await world.synced();
    stops.push(watchNodePools(context()));

    const message = await becomes('NodePool', 'default', 'InstanceTypesAvailable', 'False');
    expect(message).toMatch(
      /^the instance types .* have \d+ different node.kubernetes.io\/instance-type; minValues is 50$/,
    );
    expect(world.events.find(({ reason }) => reason === 'NoCompatibleInstanceTypes')?.message).toBe(
      'NodePool requirements filtered out all compatible available instance types due to minValues incompatibility',
    );
  });

  test('a node with fewer resources than its claim has ConsistentStateFound False (registration/consistency)', async () => {
    const status = { conditions: initialized, providerID: 'fake:///a/i-1', capacity: { cpu: '4', memory: '16Gi' } };
    const requests = { resources: { requests: { cpu: '1', memory: '1Gi' } } };
    world.kube.put('NodeClaim', nodeClaim('short', { status, spec: requests }));
    world.kube.put(
      'NodeClaim',
      nodeClaim('whole', { status: { ...status, providerID: 'fake:///a/i-2' }, spec: requests }),
    );
    world.kube.put('Node', {
      metadata: { name: 'n1' },
      spec: { providerID: 'fake:///a/i-1' },
      status: { capacity: { cpu: '4', memory: '8Gi' } },
    });
    world.kube.put('Node', {
      metadata: { name: 'n2' },
      spec: { providerID: 'fake:///a/i-2' },
      status: { capacity: { cpu: '4', memory: '16Gi' } },
    });
    await world.synced();

    stops.push(watchConsistency(context()));

    const message = await becomes('NodeClaim', 'short', 'ConsistentStateFound', 'False');
    expect(message).toBe('expected 16Gi of resource memory, but found 8Gi (50.0% of expected)');
    await becomes('NodeClaim', 'whole', 'ConsistentStateFound', 'True');
    expect(world.events.map(({ reason, regarding }) => [reason, regarding.name])).toEqual([
      ['FailedConsistencyCheck', 'short'],
    ]);
  });
});
