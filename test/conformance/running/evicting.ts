import { annotations } from '../../../api/labels.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { budgetOf, deadline } from './drains.js';
import { deleteNode, ending, podOn, runningNode } from './nodes.js';
import { minute, running, second, type Running } from './stage.js';

interface Scene {
  /** Disruptions that each budget of the pod allows. */
  readonly budgets?: readonly number[];
  readonly pod?: Parameters<typeof podOn>[2];
  readonly claim?: Parameters<typeof runningNode>[2];
  readonly afterMs?: number;
}

/** Pod `web` on a node that is deleted, and what happens to it. */
const drained = (expected: unknown, result: (it: Running) => unknown, scene: Scene = {}): Check =>
  running(expected, async (it) => {
    runningNode(it, 'n1', scene.claim);
    podOn(it, 'web', scene.pod);
    (scene.budgets ?? []).forEach((allowed, i) => budgetOf(it, 'web', allowed, `b${i}`));
    await it.pass(second);
    await deleteNode(it, 'n1', scene.afterMs ?? 10 * second);
    return result(it);
  });

const codes = (it: Running): readonly string[] => [
  ...new Set(
    it.measured.filter(({ name }) => name === 'pods_eviction_requests_total').map(({ labels }) => labels['code'] ?? ''),
  ),
];
const reasons = (it: Running): readonly string[] =>
  it.measured.filter(({ name }) => name === 'pods_drained_total').map(({ labels }) => labels['reason'] ?? '');
const failing = (it: Running): readonly (string | undefined)[] =>
  it.events
    .filter(({ reason }) => reason === 'FailedDraining')
    .map(({ message }) => message)
    .slice(0, 1);

const evictionCases: readonly ConformanceCase[] = about('eviction', [
  same(
    104,
    'of a pod that is gone',
    drained([[], []], (it) => [it.eventReasons('web'), codes(it)], {
      pod: { spec: { nodeName: 'n2' } },
    }),
  ),
  same(
    108,
    'of a pod created anew under the same name is refused',
    running([[], false], async (it) => {
      runningNode(it);
      podOn(it, 'web');
      await it.pass(second);
      const { outcome } = await it.kube.evict({ namespace: 'default', name: 'web', uid: 'another' });
      return [ending(it, 'web'), outcome !== 'gone'];
    }),
  ),
  same(
    114,
    'succeeds without a PodDisruptionBudget',
    drained([['Evicted'], ['200']], (it) => [it.eventReasons('web'), codes(it)]),
  ),
  same(
    121,
    'succeeds where the PodDisruptionBudget allows it',
    drained(['Evicted'], (it) => it.eventReasons('web'), { budgets: [1] }),
  ),
  same(
    131,
    'blocked by a PodDisruptionBudget is reported',
    drained([[], ['429'], 1], (it) => [it.eventReasons('web'), codes(it), failing(it).length], { budgets: [0] }),
  ),
  same(
    144,
    'blocked by two PodDisruptionBudgets is reported',
    drained(
      [[], ['500'], true],
      (it) => [it.eventReasons('web'), codes(it), failing(it)[0]?.includes('more than one PodDisruptionBudget')],
      { budgets: [0, 0] },
    ),
  ),
  notApplicable(
    161,
    'a queue that is filled while it is emptied',
    'a drain looks at the pods that there are and keeps no queue',
  ),
  same(
    183,
    'is counted',
    drained([[''], ['200']], (it) => [reasons(it), codes(it)]),
  ),
  same(
    191,
    'is counted by the reason of the disruption',
    running([['Underutilized'], ['200']], async (it) => {
      runningNode(it);
      podOn(it, 'web');
      const disrupted = {
        type: 'DisruptionReason',
        status: 'True',
        reason: 'Underutilized',
        message: '',
        lastTransitionTime: '2026-01-05T12:00:00Z',
      };
      const { status } = it.get('NodeClaim', 'n1')!;
      await it.kube.patch(
        'NodeClaim',
        { name: 'n1' },
        { status: { conditions: [...(status?.conditions ?? []), disrupted] } },
        { subresource: 'status' },
      );
      await deleteNode(it, 'n1', 10 * second);
      return [reasons(it), codes(it)];
    }),
  ),
]);

/** The same with a deadline so long after the start, and a pod that takes two minutes. */
const forced = (expected: unknown, deadlineMs: number, result: (it: Running) => unknown, more: object = {}): Check =>
  running(expected, async (it) => {
    runningNode(it, 'n1', {
      claim: { annotations: { [annotations.terminationTimestamp]: deadline(it, deadlineMs) } },
    });
    podOn(it, 'web', { spec: { terminationGracePeriodSeconds: 120 }, ...more });
    budgetOf(it, 'web', 0);
    await it.pass(second);
    await deleteNode(it, 'n1', 10 * second);
    return result(it);
  });

const forceCases: readonly ConformanceCase[] = about('deletion of pods at the deadline', [
  same(
    220,
    'happens in spite of a PodDisruptionBudget when the grace period needs it',
    forced([['web'], ['Disrupted'], 1], minute, (it) => [
      ending(it, 'web'),
      it.eventReasons('web'),
      reasons(it).length,
    ]),
  ),
  same(
    237,
    'happens to a pod that is already terminating too long',
    running([[], ['web']], async (it) => {
      runningNode(it, 'n1', {
        claim: { annotations: { [annotations.terminationTimestamp]: deadline(it, 3 * minute) } },
      });
      podOn(it, 'web', {
        spec: { terminationGracePeriodSeconds: 120 },
        metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } },
      });
      await it.pass(second);
      await deleteNode(it, 'n1', 20 * second);
      const before = ending(it, 'web');
      await it.pass(minute);
      return [before, ending(it, 'web')];
    }),
  ),
  same(
    254,
    'the deadline is never later than before',
    forced(['web'], minute, async (it) => {
      await it.kube.patch(
        'NodeClaim',
        { name: 'n1' },
        { metadata: { annotations: { [annotations.terminationTimestamp]: deadline(it, 60 * minute) } } },
      );
      await it.pass(10 * second);
      return ending(it, 'web');
    }),
  ),
  same(
    274,
    'of a pod that is gone',
    running([], async (it) => {
      runningNode(it, 'n1', { claim: { annotations: { [annotations.terminationTimestamp]: deadline(it, minute) } } });
      podOn(it, 'web', { spec: { terminationGracePeriodSeconds: 120 } });
      await it.pass(second);
      const forget = it.kube.delete.bind(it.kube);
      Object.assign(it.kube, {
        delete: async (...args: Parameters<typeof forget>) => {
          if (args[0] === 'Pod') it.kube.remove('Pod', { name: 'web', namespace: 'default' });
          return forget(...args);
        },
      });
      await deleteNode(it, 'n1', minute);
      return [
        ...['Node', 'NodeClaim'].filter((kind) => it.get(kind as 'Node', 'n1') !== undefined),
        ...it.eventReasons('web'),
      ];
    }),
  ),
  same(
    284,
    'past the deadline leaves one second',
    forced(1, -60 * minute, (it) => it.get('Pod', 'web')?.metadata.deletionGracePeriodSeconds, {
      metadata: { finalizers: ['example.com/held'] },
    }),
  ),
]);

/** pkg/controllers/node/termination/terminator/suite_test.go */
export const terminatorCases: readonly ConformanceCase[] = [...evictionCases, ...forceCases];
