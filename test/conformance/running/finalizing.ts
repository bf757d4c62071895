import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { annotations, finalizers } from '../../../api/labels.js';
import { conditionOf } from '../../../core/conditions.js';
import { DomainError } from '../../../core/failures.js';
import { about, notApplicable, same, type ConformanceCase } from '../conformance-case.js';
import { ask, claimOf, foreign, join, providerOf } from './claims.js';
import { isThere, podOn, providerIdOf, runningNode, said } from './nodes.js';
import { minute, running, second, type Running } from './stage.js';

const devices = 'dynamic resource allocation is not modelled';

/** Whether each of these conditions was judged at the claim's generation, in spite of what changed since. */
const observed = ({ metadata, status }: NodeClaim, ...types: readonly string[]): readonly string[] =>
  types.filter((type) => {
    const found = conditionOf(status?.conditions, type);
    return found?.status === 'True' && found.observedGeneration === metadata.generation;
  });
const lasting = ['Launched', 'Registered', 'Initialized', 'Ready'] as const;

/** pkg/controllers/nodeclaim/lifecycle/suite_test.go */
export const finalizerCases: readonly ConformanceCase[] = about('finalizer of a claim', [
  same(
    110,
    'is added to a claim',
    running([finalizers.termination], async (it) => {
      await ask(it);
      return claimOf(it)?.metadata.finalizers;
    }),
  ),
  same(
    127,
    'is not added to a claim of another provider',
    running(undefined, async (it) => {
      await ask(it, { spec: foreign });
      return claimOf(it)?.metadata.finalizers;
    }),
  ),
  same(
    151,
    'conditions have the generation of the deleted claim',
    running(
      [...lasting, 'InstanceTerminating'],
      async (it) => {
        await ask(it);
        await join(it);
        await it.kube.delete('NodeClaim', { name: 'c1' });
        await it.pass(20 * second);
        return observed(claimOf(it)!, ...lasting, 'InstanceTerminating');
      },
      { cloud: { terminatesAtOnce: false } },
    ),
  ),
  notApplicable(
    185,
    'a spec that changes',
    'the API server refuses it (node-claims/immutable): the generation rises by deletion alone',
  ),
  ...[331, 344, 358, 367, 383, 389].map((line) =>
    notApplicable(line, `devices of dynamic resource allocation (${line})`, devices),
  ),
]);

/** A claim whose node is up is deleted. */
async function ended(it: Running, claim: Parameters<typeof ask>[1] = {}, afterMs = 2 * minute): Promise<void> {
  await ask(it, claim);
  await join(it);
  await it.kube.delete('NodeClaim', { name: 'c1' });
  await it.pass(afterMs);
}
const what = (it: Running): readonly string[] => [
  ...(isThere(it, 'Node') ? ['Node'] : []),
  ...(isThere(it, 'NodeClaim', 'c1') ? ['NodeClaim'] : []),
  ...it.cloud.peek().map(({ state }) => state),
];
const stampOf = (it: Running): string | undefined =>
  claimOf(it)?.metadata.annotations?.[annotations.terminationTimestamp];

const deletionCases: readonly ConformanceCase[] = about('deleting a claim', [
  same(
    126,
    'removes Node and instance',
    running([], async (it) => {
      await ended(it);
      return what(it);
    }),
  ),
  same(
    127,
    'of another provider does nothing',
    running([true, true], async (it) => {
      runningNode(it, 'n1', { spec: foreign, node: { metadata: { name: 'n1' } } });
      await it.pass(second);
      await it.kube.delete('NodeClaim', { name: 'n1' });
      await it.pass(2 * minute);
      return [isThere(it, 'NodeClaim'), isThere(it, 'Node')];
    }),
  ),
  same(
    129,
    'it stays Ready while its instance terminates',
    running(
      ['True/Ready', 'True/InstanceTerminating'],
      async (it) => {
        await ended(it, {}, 20 * second);
        return [said(it, 'Ready', 'c1'), said(it, 'InstanceTerminating', 'c1')];
      },
      { cloud: { terminatesAtOnce: false } },
    ),
  ),
  same(
    173,
    'requests in another notation of quantities',
    running(false, async (it) => {
      await ask(it, { spec: { resources: { requests: { memory: '50000' } } } });
      await it.kube.delete('NodeClaim', { name: 'c1' });
      await it.pass(minute);
      return isThere(it, 'NodeClaim', 'c1') || it.cloud.peek().length > 0;
    }),
  ),
  same(
    198,
    'a failed cloud call is repeated',
    running([], async (it) => {
      it.cloud.failNext('terminate', new DomainError('Unavailable', 'no'), 3);
      await ended(it, {}, 3 * minute);
      return what(it);
    }),
  ),
  same(
    216,
    'it stays until its instance is gone',
    running(
      { before: ['NodeClaim', 'shutting-down'], after: [] },
      async (it) => {
        await ended(it);
        const before = what(it).filter((one) => one !== 'Node');
        it.cloud.finishTermination(providerOf(it));
        await it.pass(2 * minute);
        return { before, after: what(it) };
      },
      { cloud: { terminatesAtOnce: false } },
    ),
  ),
  same(
    233,
    'it removes every Node of the instance',
    running([false, false, false, false, 0], async (it) => {
      await ask(it);
      await join(it);
      for (const name of ['n2', 'n3'])
        await join(it, { name, taints: [], metadata: { name, finalizers: [finalizers.termination] } });
      await it.kube.delete('NodeClaim', { name: 'c1' });
      await it.pass(3 * minute);
      return [
        ...['n1', 'n2', 'n3'].map((name) => isThere(it, 'Node', name)),
        isThere(it, 'NodeClaim', 'c1'),
        it.cloud.peek().length,
      ];
    }),
  ),
  same(
    270,
    'it stays until its Node is gone',
    running({ before: ['Node', 'NodeClaim', 'running'], after: [] }, async (it) => {
      await ask(it);
      await join(it);
      podOn(it, 'web');
      await it.kube.delete('NodeClaim', { name: 'c1' });
      await it.pass(10 * second);
      const before = what(it);
      it.kube.remove('Pod', { name: 'web', namespace: 'default' });
      await it.pass(2 * minute);
      return { before, after: what(it) };
    }),
  ),
]);

const unlaunchedCases: readonly ConformanceCase[] = about('deleting a claim without an instance', [
  same(
    297,
    'calls no termination for a claim that was never launched',
    running([false, []], async (it) => {
      await ask(it, { metadata: { finalizers: [finalizers.termination] } }, 'c1', 0);
      await it.kube.delete('NodeClaim', { name: 'c1' });
      await it.pass(2 * minute);
      return [isThere(it, 'NodeClaim', 'c1'), it.cloud.calls.filter(({ call }) => call === 'terminate')];
    }),
  ),
  same(
    308,
    'leaves Nodes without provider ID',
    running([false, 10], async (it) => {
      const names = Array.from({ length: 10 }, (_, i) => `other-${i}`);
      for (const name of names) it.kube.put('Node', { metadata: { name }, spec: {} });
      await ask(it, { metadata: { finalizers: [finalizers.termination] } }, 'c1', 0);
      await it.kube.delete('NodeClaim', { name: 'c1' });
      await it.pass(2 * minute);
      return [isThere(it, 'NodeClaim', 'c1'), names.filter((name) => isThere(it, 'Node', name)).length];
    }),
  ),
  same(
    400,
    'leaves a Node that has not registered',
    running([true, false], async (it) => {
      it.kube.put('Node', { metadata: { name: 'n1' }, spec: { providerID: 'fake:///a/i-x' } });
      runningNode(it, 'c1', { conditions: ['Launched'], withoutNode: true });
      await it.kube.patch('Node', { name: 'n1' }, { spec: { providerID: providerIdOf('c1') } });
      await it.kube.delete('NodeClaim', { name: 'c1' });
      await it.pass(2 * minute);
      return [isThere(it, 'Node'), isThere(it, 'NodeClaim', 'c1')];
    }),
  ),
]);

const held = async (it: Running, claim: Parameters<typeof ask>[1]): Promise<string | undefined> => {
  await ask(it, claim);
  await join(it);
  podOn(it, 'web');
  await it.kube.delete('NodeClaim', { name: 'c1' });
  await it.pass(10 * second);
  return stampOf(it);
};
const stampCases: readonly ConformanceCase[] = about('termination timestamp', [
  same(
    329,
    'is absent without terminationGracePeriod',
    running(undefined, (it) => held(it, {})),
  ),
  same(
    350,
    'is set with terminationGracePeriod',
    running('2026-01-05T12:05:41Z', (it) => held(it, { spec: { terminationGracePeriod: '300s' } })),
  ),
  same(
    373,
    'is kept when it exists',
    running('2024-04-01T12:00:00-05:00', (it) =>
      held(it, {
        spec: { terminationGracePeriod: '300s' },
        metadata: { annotations: { [annotations.terminationTimestamp]: '2024-04-01T12:00:00-05:00' } },
      }),
    ),
  ),
]);

/** pkg/controllers/nodeclaim/lifecycle/termination_test.go */
export const claimDeletionCases: readonly ConformanceCase[] = [...deletionCases, ...unlaunchedCases, ...stampCases];
