import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { PodSpec } from '../../api/kubernetes.js';
import {
  type ActivityWorld,
  createActivityWorld,
  nodeClaim,
  nodeClass,
  nodePool,
  ready,
} from '../../test/builders/activity-world.js';
import type { PlanNodesInput, PlanNodesResult } from './contract.js';
import { areSettling, AwaitedInstances, createPlanningActivities } from './planning.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';

let world: ActivityWorld;

beforeEach(async () => {
  world = await createActivityWorld();
  world.kube.put('EC2NodeClass', nodeClass('default'));
  world.kube.put('NodePool', ready(nodePool('default')));
});
afterEach(() => world.stop());

function put(name: string, affinity?: PodSpec['affinity']): void {
  world.kube.put('Pod', {
    metadata: { name, namespace: 'default', uid: name, creationTimestamp: '2026-01-05T11:00:00Z' },
    spec: {
      containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }],
      ...(affinity === undefined ? {} : { affinity }),
    },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  });
}

async function planNodes(resume?: PlanNodesInput['resume']): Promise<Extract<PlanNodesResult, { state: 'planned' }>> {
  await world.synced();
  const activities = createPlanningActivities(world.deps);
  const input = { marks: [], without: [], ...(resume === undefined ? {} : { resume }) };
  const result = await new MockActivityEnvironment().run<
    [PlanNodesInput],
    PlanNodesResult,
    (input: PlanNodesInput) => Promise<PlanNodesResult>
  >((given) => activities.planNodes(given), input);
  if (result.state !== 'planned') throw new Error(result.reason);
  return result;
}

const terms = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    matchExpressions: [{ key: 'example.com/rack', operator: 'In' as const, values: [`${name}-${n}`] }],
  }));
const preferring = (name: string, count: number): PodSpec['affinity'] => ({
  nodeAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: terms(name, count).map((preference) => ({
      weight: 1,
      preference,
    })),
  },
});
const requiring = (name: string): PodSpec['affinity'] => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms(name, 100) } },
});

test('a pod some of whose preferences are ignored gets an event; one with few does not', async () => {
  put('eager', preferring('eager', 1000));
  put('modest', preferring('modest', 5));

  await planNodes();

  expect(world.events.filter(({ reason }) => reason === 'PreferencesIgnored')).toEqual([
    expect.objectContaining({
      type: 'Warning',
      regarding: expect.objectContaining({ kind: 'Pod', name: 'eager' }),
      message:
        'Planning ignores 980 of 1000 preferences: the 20 heaviest of preferred affinity and ScheduleAnyway topology spread are honoured',
      dedupeBy: ['default/eager'],
    }),
  ]);
});

test('pods left to the next pass are not reported as unschedulable, and the next pass continues with them', async () => {
  for (const name of ['a', 'b', 'c']) put(name, requiring(name));
  put('plain');

  const first = await planNodes();
  const outcome = (): string[] =>
    world.events.filter(({ reason }) => reason === 'FailedScheduling').map(({ regarding }) => regarding.name);

  expect(first).toMatchObject({ deferred: 3, unschedulable: 0 });
  expect(first.claims.map(({ podCount }) => podCount)).toEqual([1]);
  const second = await planNodes(first.resume);
  expect(second).toMatchObject({ deferred: 3, unschedulable: 1, resume: { from: 'default/b', isOfOthers: true } });
  expect(outcome()).toEqual(['a']);
  let { resume } = second;
  for (let passes = 0; resume !== undefined && passes < 4; passes++) ({ resume } = await planNodes(resume));
  expect(resume).toBeUndefined();
  expect(outcome()).toEqual(['a', 'b', 'c']);
});

test('an object that planning leaves out gets an event, and is in the answer', async () => {
  put('plain');
  const plan = world.deps.packer.plan.bind(world.deps.packer);
  const setAside = [
    { kind: 'NodePool', name: 'bad', error: 'key is not a string' },
    { kind: 'services', name: 'default/odd', error: 'no' },
  ];
  Object.assign(world.deps.packer, {
    plan: async (input: Parameters<typeof plan>[0]) => ({ ...(await plan(input)), setAside }),
  });

  const { claims, leftOut } = await planNodes();

  expect(claims).toHaveLength(1);
  expect(leftOut).toBe('NodePool bad (key is not a string), services default/odd (no)');
  expect(world.events.filter(({ reason }) => reason === 'LeftOut')).toEqual([
    expect.objectContaining({
      regarding: expect.objectContaining({ kind: 'NodePool', name: 'bad' }),
      message: 'Planning cannot work with it and leaves it out: key is not a string',
    }),
  ]);
});

test('a pod gets an event that nothing is ready for it after a minute, and the real reason once that is known, neither twice (scheduling/no-ready-node-pool)', async () => {
  const outcome = (): readonly (readonly string[] | undefined)[] =>
    world.events.filter(({ reason }) => reason === 'FailedScheduling').map(({ dedupeBy }) => dedupeBy);
  world.kube.put('NodePool', nodePool('default'));
  put('big', requiring('big'));
  await planNodes();
  expect(outcome()).toEqual([]);
  world.clock.now += 60_000;
  await planNodes();
  await planNodes();
  const [first, second] = outcome();
  expect(first?.[0]).toBe('default/big');
  expect(second).toEqual(first);

  const taints = [{ key: 'example.com/dedicated', effect: 'NoSchedule' as const }];
  const { template } = nodePool('default').spec;
  world.kube.put(
    'NodePool',
    ready(nodePool('default', { template: { ...template, spec: { ...template.spec, taints } } })),
  );
  await planNodes();
  expect(outcome()[2]?.[0]).toBe('default/big');
  expect(outcome()[2]).not.toEqual(first);
});

const now = Date.parse('2026-01-05T12:00:00Z');
const at = (secondsAgo: number): string => new Date(now - secondsAgo * 1_000).toISOString();

function pool(ready: 'True' | 'False' | 'Unknown' | undefined, secondsAgo: number, spec: object = {}): NodePool {
  const made = nodePool('a');
  const conditions = [{ type: 'Ready', status: ready ?? 'Unknown', lastTransitionTime: at(secondsAgo) }];
  return {
    ...made,
    metadata: { ...made.metadata, creationTimestamp: at(secondsAgo) },
    spec: { ...made.spec, ...spec },
    ...(ready === undefined ? { status: {} } : { status: { conditions } }),
  };
}

describe('NodePools that are not ready yet (scheduling/no-ready-node-pool)', () => {
  test.each([
    ['nobody has looked at the only one', [pool(undefined, 5)], true],
    ['it is not known yet', [pool('Unknown', 59)], true],
    ['it is not known for a minute', [pool('Unknown', 60)], false],
    ['nobody has looked at it for a minute', [pool(undefined, 60)], false],
    ['it is known not to be ready', [pool('False', 5)], false],
    ['another is ready', [pool('Unknown', 5), pool('True', 5)], false],
    ['another is not', [pool('Unknown', 5), pool('False', 500)], true],
    ['the one that is ready is static', [pool('Unknown', 5), pool('True', 5, { replicas: 2 })], true],
    ['there is none', [], false],
  ])('%s', (_, pools, expected) => {
    expect(areSettling(pools, now)).toBe(expected);
  });
});

// Rule `provisioning/cache-is-current`.
describe('waiting for instances before planning', () => {
  let world: ActivityWorld;
  const forever = new AbortController().signal;

  beforeEach(async () => {
    world = await createActivityWorld();
  });
  afterEach(() => world.stop());

  const patience = { totalMs: 20_000, perCallMs: 5 };

  test('ends when the claim has its instance', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1'));
    await world.synced();
    const looking = new AwaitedInstances(world.deps, { ...patience, perCallMs: 60_000 }).missing(forever);
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1' } }));

    await expect(looking).resolves.toEqual([]);
  });

  test('is short in each look, and names the claims', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1'));
    await world.synced();
    const instances = new AwaitedInstances(world.deps, patience);

    await expect(instances.missing(forever)).resolves.toEqual(['c1']);
    await expect(instances.missing(AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
  });

  test('is not repeated for a claim that was waited for in vain, and is done for a later one', async () => {
    world.kube.put('NodeClaim', nodeClaim('stuck'));
    await world.synced();
    const instances = new AwaitedInstances(world.deps, patience);
    await instances.missing(forever);

    world.clock.now += patience.totalMs;
    await expect(instances.missing(forever)).resolves.toEqual([]);

    world.kube.put('NodeClaim', nodeClaim('fresh'));
    await world.synced();
    await expect(instances.missing(forever)).resolves.toEqual(['fresh']);
  });

  test('is not done for a claim that is being deleted', async () => {
    const claim = nodeClaim('c1');
    const deletionTimestamp = '2026-01-05T11:00:00Z';
    world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, deletionTimestamp, finalizers: ['x'] } });
    await world.synced();

    await expect(new AwaitedInstances(world.deps, patience).missing(forever)).resolves.toEqual([]);
  });

  test('is not done for a claim of one type, whose room is known', async () => {
    const only = { key: labels.instanceType, operator: 'In' as const, values: ['m5.large'] };
    world.kube.put('NodeClaim', nodeClaim('c1', { spec: { requirements: [only] } }));
    world.kube.put('NodeClaim', nodeClaim('c2', { spec: { requirements: [{ ...only, values: ['a', 'b'] }] } }));
    await world.synced();

    await expect(new AwaitedInstances(world.deps, patience).missing(forever)).resolves.toEqual(['c2']);
  });
});
