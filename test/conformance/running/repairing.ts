import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { annotations, labels } from '../../../api/labels.js';
import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { isThere, runningNode, said } from './nodes.js';
import { unlabelled } from '../world.js';
import { minute, running, startMs, type Running } from './stage.js';

/** A condition that the cloud repairs after 10 minutes, unless something else is said; it began with the case. */
const bad = { type: 'AcceleratedHardwareReady', status: 'False' };
const at = (ms: number): string => new Date(ms).toISOString().replace('.000', '');

interface Scene {
  readonly condition?: { readonly type: string; readonly status: string };
  readonly more?: readonly { readonly type: string; readonly status: string }[];
  readonly afterMs?: number;
  readonly claim?: object;
  readonly node?: object;
  readonly pool?: object;
}

const broken = (it: Running, name: string, conditions: readonly object[], node: object = {}): void =>
  void it.kube.put('Node', {
    ...it.get('Node', name)!,
    metadata: { ...it.get('Node', name)!.metadata, ...node },
    status: {
      ...it.get('Node', name)!.status,
      conditions: [
        { type: 'Ready', status: 'True', lastTransitionTime: at(startMs) },
        ...conditions.map((each) => ({ ...each, lastTransitionTime: at(it.now()) })),
      ],
    },
  } as never);

/** A node that is broken for so long, and whether its claim is being deleted. */
const repaired = (
  expected: unknown,
  scene: Scene = {},
  result = (it: Running): unknown => !isThere(it, 'NodeClaim'),
): Check =>
  running(
    expected,
    async (it) => {
      runningNode(it, 'n1', { claim: scene.claim ?? {} });
      broken(it, 'n1', [scene.condition ?? bad, ...(scene.more ?? [])], scene.node);
      await it.pass(scene.afterMs ?? 20 * minute);
      return result(it);
    },
    scene.pool === undefined ? {} : { pool: scene.pool },
  );

/** When the claim was gone, minutes after its node broke. */
const goneAfter = (minutes: number, scene: Scene = {}): Check =>
  running([true, false], async (it) => {
    runningNode(it);
    broken(it, 'n1', [scene.condition ?? bad, ...(scene.more ?? [])]);
    await it.pass((minutes - 1) * minute);
    const before = isThere(it, 'NodeClaim');
    await it.pass(3 * minute);
    return [before, isThere(it, 'NodeClaim')];
  });

/** How many of so many nodes are left, of which so many are broken. */
const share = (nodes: number, unhealthy: number, left: number, isPooled = true): Check =>
  running({ left, hasEvent: left === nodes }, async (it) => {
    const names = Array.from({ length: nodes }, (_, i) => `n${i + 1}`);
    for (const name of names) {
      runningNode(it, name);
      if (!isPooled) it.kube.put('NodeClaim', unlabelled(it.get('NodeClaim', name)!, labels.nodePool) as NodeClaim);
    }
    for (const name of names.slice(0, unhealthy)) broken(it, name, [bad]);
    await it.pass(30 * minute);
    return {
      left: names.filter((name) => isThere(it, 'NodeClaim', name)).length,
      hasEvent: it.eventReasons().includes('NodeRepairBlocked'),
    };
  });

/** The deadline that the claim had while its node was going. */
const stamped = (expected: unknown, before?: string): Check =>
  running(
    expected,
    async (it) => {
      runningNode(it, 'n1', {
        spec: { terminationGracePeriod: '2h' },
        claim: before === undefined ? {} : { annotations: { [annotations.terminationTimestamp]: before } },
      });
      broken(it, 'n1', [bad]);
      await it.pass(11 * minute);
      const own = it.get('NodeClaim', 'n1')?.metadata;
      const stamp = own?.annotations?.[annotations.terminationTimestamp];
      return [said(it, 'InstanceTerminating'), stamp === own?.deletionTimestamp ? 'at its deletion' : stamp];
    },
    { cloud: { terminatesAtOnce: false } },
  );

const repairCases: readonly ConformanceCase[] = about('node repair', [
  same(98, 'terminates a node that is unhealthy past the toleration', repaired(true)),
  same(112, 'ignores a condition without a policy', repaired(false, { condition: { type: 'Other', status: 'False' } })),
  same(
    126,
    'ignores another status of the condition',
    repaired(false, { condition: { type: bad.type, status: 'True' } }),
  ),
  same(140, 'waits for the toleration', repaired(false, { afterMs: 9 * minute })),
  same(155, 'sets the deadline to now', stamped(['True/InstanceTerminating', 'at its deletion'])),
  same(
    170,
    'replaces a later deadline',
    stamped(['True/InstanceTerminating', 'at its deletion'], at(startMs + 120 * minute)),
  ),
  same(
    186,
    'keeps an earlier deadline',
    stamped(['True/InstanceTerminating', at(startMs - 3 * minute)], at(startMs - 3 * minute)),
  ),
  same(
    203,
    'uses the condition whose toleration ends first',
    goneAfter(10, { condition: { type: 'Ready', status: 'False' }, more: [bad] }),
  ),
  same(234, 'begins when the toleration is over', goneAfter(10)),
]);

const forcedCases: readonly ConformanceCase[] = about('node repair is forceful', [
  same(
    251,
    'in spite of budgets',
    repaired(true, { pool: { disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '0' }] } } }),
  ),
  same(
    273,
    'in spite of do-not-disrupt of the node',
    repaired(true, { node: { annotations: { [annotations.doNotDisrupt]: 'true' } } }),
  ),
  same(288, 'but not where more than a fifth of the pool is unhealthy', share(10, 3, 10)),
  same(322, 'but not, without a pool, where more than a fifth of the cluster is unhealthy', share(10, 3, 10, false)),
  same(359, 'a fifth is rounded up', share(3, 1, 2)),
  same(
    386,
    'and is counted',
    repaired(
      [
        { reason: 'unhealthy', nodepool: 'default' },
        { condition: 'accelerated_hardware_ready', nodepool: 'default' },
      ],
      {},
      (it) =>
        ['nodeclaims_disrupted_total', 'nodeclaims_unhealthy_disrupted_total'].map((name) => {
          const { reason, condition, nodepool } = it.measured.find((each) => each.name === name)?.labels ?? {};
          return { ...(reason !== undefined && { reason }), ...(condition !== undefined && { condition }), nodepool };
        }),
    ),
  ),
]);

/** pkg/controllers/node/health/suite_test.go */
export const healthCases: readonly ConformanceCase[] = [...repairCases, ...forcedCases];
