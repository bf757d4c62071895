import { describe, expect, test } from '@jest/globals';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Pod } from '../api/kubernetes.js';
import { annotations, labels } from '../api/labels.js';
import type { KubernetesEvent } from '../kube/port.js';
import { lostPoolRows, poolRow, unplacedRows } from './status-objects.js';

const pending = (name: string): Pod =>
  ({
    metadata: { namespace: 'shop', name },
    spec: {},
    status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  }) as unknown as Pod;

const said = (name: string, [reason, message]: readonly [string, string], second: number): KubernetesEvent =>
  ({
    ...{ reason, message, lastTimestamp: `2026-11-23T10:00:0${second}Z` },
    involvedObject: { kind: 'Pod', namespace: 'shop', name },
  }) as unknown as KubernetesEvent;

const refused = ['FailedScheduling', 'Failed to schedule pod, default: limits'] as const;
const placed = ['Nominated', 'Pod should schedule on: nodeclaim/a'] as const;
const claim = (more: object = {}): NodeClaim => ({ metadata: { name: 'a', ...more } }) as unknown as NodeClaim;

describe('status: unplaced pods', () => {
  test('have the message of their event, grouped by reason', () => {
    const rows = unplacedRows(
      [pending('x'), pending('y'), pending('z')],
      [],
      [said('y', refused, 1), said('x', refused, 2), said('gone', refused, 3)],
    );
    expect(rows).toEqual([{ why: 'default: limits', pods: ['shop/x', 'shop/y'] }]);
  });

  test.each<[string, readonly KubernetesEvent[], readonly NodeClaim[], number]>([
    [
      'without a pod that was nominated to a NodeClaim since it was refused',
      [said('x', refused, 1), said('x', placed, 1)],
      [claim()],
      0,
    ],
    ['with a pod whose NodeClaim is gone', [said('x', refused, 1), said('x', placed, 2)], [], 1],
    [
      'with a pod whose NodeClaim is being deleted',
      [said('x', refused, 1), said('x', placed, 2)],
      [claim({ deletionTimestamp: '2026-11-23T10:00:03Z' })],
      1,
    ],
    [
      'without a pod that a newer NodeClaim was planned for, though no event says so',
      [said('x', refused, 1)],
      [claim({ creationTimestamp: '2026-11-23T10:00:01Z', annotations: { [annotations.plannedPods]: 'shop/x' } })],
      0,
    ],
    [
      'with a pod that was refused after its NodeClaim was created',
      [said('x', refused, 2)],
      [claim({ creationTimestamp: '2026-11-23T10:00:01Z', annotations: { [annotations.plannedPods]: 'shop/x' } })],
      1,
    ],
    ['with a pod that was refused after it was nominated', [said('x', placed, 1), said('x', refused, 2)], [claim()], 1],
  ])('%s', (_name, events, claims, rows) => {
    expect(unplacedRows([pending('x')], claims, events)).toHaveLength(rows);
  });
});

test('status: a NodePool has the remaining room in its limits', () => {
  const row = (limits: object | undefined, status: object): readonly string[] =>
    poolRow({ metadata: { name: 'a' }, spec: { limits }, status } as unknown as NodePool, []).limits;
  expect(row({ cpu: '1000', nodes: '5' }, { resources: { cpu: '8' }, nodes: 2 })).toEqual([
    'cpu 8 of 1000',
    'nodes 2 of 5',
  ]);
  expect(row({ memory: '1Ti' }, {})).toEqual(['memory 0 of 1Ti']);
  expect(row(undefined, {})).toEqual([]);
});

test('status: a NodePool counts draining nodes, and says that they drain', () => {
  const going = (status: object): NodeClaim =>
    ({
      metadata: { name: 'n', labels: { [labels.nodePool]: 'a' }, deletionTimestamp: '2026-11-23T10:00:00Z' },
      status,
    }) as unknown as NodeClaim;
  const of = (...claims: NodeClaim[]) =>
    poolRow({ metadata: { name: 'a' }, spec: {}, status: { nodes: 2 } } as unknown as NodePool, claims);
  expect(of(going({ providerID: 'aws:///a/i-1' }), going({}))).toMatchObject({ nodes: 3, draining: 1 });
  expect(of()).toMatchObject({ nodes: 2 });
});

test('status: a NodePool deleted without its NodeClaims is a row with the remedy, unless they are being deleted', () => {
  const of = (nodePool: string, more: object = {}) => claim({ labels: { [labels.nodePool]: nodePool }, ...more });
  const pools = [{ metadata: { name: 'a' } } as NodePool];
  const going = of('c', { deletionTimestamp: '2026-11-23T10:00:00Z' });

  const rows = lostPoolRows(pools, [of('a'), of('constructor'), of('constructor'), going, claim()]);

  expect(rows).toMatchObject([{ nodePool: 'constructor', ready: 'gone', nodes: 2 }]);
  expect(rows[0]?.message).toContain('create NodePool constructor again');
});
