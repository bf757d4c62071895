import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { timeText } from '../../core/time.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { Pod } from '../../api/kubernetes.js';
import { createActivityWorld, nodeClass, nodePool, ready } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { PodExplanation } from '../../workflows/messages.js';
import { explainPod } from './explanations.js';

let world: ActivityWorld;

beforeEach(async () => {
  world = await createActivityWorld();
  world.kube.put('NodePool', ready(nodePool('default')));
  world.kube.put('EC2NodeClass', nodeClass('default'));
  world.kube.put('Namespace', { metadata: { name: 'default' } });
});
afterEach(() => world.stop());

function put(name: string, spec: Partial<Pod['spec']> = {}): void {
  world.kube.put('Pod', {
    metadata: { name, namespace: 'default', uid: name, creationTimestamp: '2026-01-05T11:00:00Z' },
    spec: { containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }], ...spec },
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
    },
  });
}

const explain = async (name: string): Promise<PodExplanation> => {
  await world.synced();
  return new MockActivityEnvironment().run<[], PodExplanation, () => Promise<PodExplanation>>(() =>
    explainPod(world.deps, { namespace: 'default', name }),
  );
};

test('explain of a pod that does not exist, runs, or is not marked unschedulable', async () => {
  put('running', { nodeName: 'n1' });
  put('gated', { schedulingGates: [{ name: 'wait' }] });
  put('batch', { schedulerName: 'volcano' });
  for (const name of ['gated', 'batch']) {
    const pod = (await world.kube.get('Pod', { namespace: 'default', name }))!;
    world.kube.put('Pod', { ...pod, status: { phase: 'Pending' } });
  }
  expect(await explain('nowhere')).toMatchObject({ state: 'unknown' });
  expect(await explain('running')).toMatchObject({ state: 'bound', node: 'n1' });
  expect(await explain('gated')).toMatchObject({ state: 'waiting', why: 'its scheduling gates hold it back' });
  expect(await explain('batch')).toMatchObject({ why: 'its scheduler, volcano, has not found it unschedulable (yet)' });
});

test("explain of a DaemonSet pod: its node and the scheduler's message, though nothing is launched for it", async () => {
  const matchFields = [{ key: 'metadata.name', operator: 'In' as const, values: ['n1'] }];
  put('agent', {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } },
    },
  });
  const pod = (await world.kube.get('Pod', { namespace: 'default', name: 'agent' }))!;
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agents', uid: 'ds', controller: true };
  const message = '0/1 nodes are available: 1 Insufficient cpu.';
  world.kube.put('Pod', {
    ...pod,
    metadata: { ...pod.metadata, ownerReferences: [owner] },
    status: { ...pod.status, conditions: [{ ...pod.status!.conditions![0]!, message }] },
  });
  expect(await explain('agent')).toEqual({
    state: 'waiting',
    why: 'it belongs to DaemonSet agents and can run on node n1 only: no node is launched for it',
    details: [`its scheduler says: ${message}`],
  });
});

test('explain of a finished pod says so, whatever node it ran on', async () => {
  put('done', { nodeName: 'n1' });
  const pod = (await world.kube.get('Pod', { namespace: 'default', name: 'done' }))!;
  world.kube.put('Pod', { ...pod, status: { phase: 'Succeeded' } });
  expect(await explain('done')).toMatchObject({ state: 'ended', why: 'it has ended: Succeeded' });
});

test('explain of a pending pod: what is launched for it, or what blocks it; nothing is written', async () => {
  put('fits');
  put('huge', { containers: [{ name: 'app', resources: { requests: { cpu: '64' } } }] });
  const fits = await explain('fits');
  expect(fits.state).toBe('planned');
  expect(fits.why).toMatch(/a node of NodePool default is planned for it: m5.xlarge in a \(spot\)/);
  const huge = await explain('huge');
  expect(huge.state).toBe('unschedulable');
  expect(huge.details[0]).toMatch(/^default: cpu 64 exceeds/);
  expect(huge.details[1]).toMatch(/^default: .*: cpu 64 exceeds what they leave for pods, at most /);
  expect(await world.kube.list('NodeClaim')).toEqual([]);
});

test('explain names unavailable offerings with the time from which they are tried again', async () => {
  put('fits');
  const until = world.clock.now + 180_000;
  const reason = 'InsufficientInstanceCapacity';
  world.cloud.markUnavailable([
    { instanceType: 'm5.xlarge', zone: 'a', capacityType: 'spot', reason, until },
    { instanceType: 'm5.xlarge', zone: 'b', capacityType: 'spot', reason, until },
  ]);
  const { why, details } = await explain('fits');
  expect(why).toContain('on-demand');
  expect(details).toEqual([
    `no spot in zone a has capacity (${reason}); tried again at ${timeText(until)}`,
    `no spot in zone b has capacity (${reason}); tried again at ${timeText(until)}`,
  ]);
});

test('explain examines a pod whatever others are pending, and reports ignored preferences', async () => {
  const preference = (n: number, name: string) => ({
    matchExpressions: [{ key: 'example.com/rack', operator: 'In' as const, values: [`${name}-${n}`] }],
  });
  const all = (name: string, count: number) => Array.from({ length: count }, (_, n) => preference(n, name));
  for (const name of ['a', 'b', 'c']) {
    put(name, {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: all(name, 150) },
          preferredDuringSchedulingIgnoredDuringExecution: all(name, 30).map((each) => ({
            weight: 1,
            preference: each,
          })),
        },
      },
    });
  }
  const { state, details } = await explain('c');
  expect(state).toBe('unschedulable');
  expect(details[0]).toMatch(/^10 of its 30 preferences are ignored: the 20 heaviest of /);
  expect(details[1]).toMatch(/^default: /);
});

test('explain reports a pod placed without some of its preferences', async () => {
  const preferring = (name: string, values: readonly string[]): void =>
    put(name, {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: values.map((value) => ({
            weight: 1,
            preference: { matchExpressions: [{ key: 'example.com/rack', operator: 'In' as const, values: [value] }] },
          })),
        },
      },
    });
  preferring('one', ['absent']);
  preferring('two', ['absent', 'lost']);
  expect((await explain('one')).details).toEqual(['its preference is relaxed, so that it has a node']);
  expect((await explain('two')).details).toEqual(['2 of its 2 preferences are relaxed, so that it has a node']);
});

test('explain reports a pod that requires a node outside of NodePools', async () => {
  const nodeSelectorTerms = [
    { matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' as const }] },
  ];
  put('shy', { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } });

  const { state, why } = await explain('shy');

  expect(state).toBe('waiting');
  expect(why).toBe('it asks for a node that belongs to no NodePool, in all its alternatives');
});
