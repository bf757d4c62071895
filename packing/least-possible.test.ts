import { describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Pod } from '../api/kubernetes.js';
import { labels } from '../api/labels.js';
import { instanceType, node, offering, packingInput, pod, podsOf, pool } from '../test/builders/packing-fixtures.js';
import { leastPossible } from './least-possible.js';

const onNode = (nodeName: string) => ({ nodeName, cpu: '1', memory: '1Gi' });
// Ten cents and five cents a CPU.
const large = instanceType('large', { cpu: 8, price: 0.8, offerings: [offering('zone-a', 'on-demand', 0.8)] });
const cheap = instanceType('cheap', { cpu: 8, price: 0.4, offerings: [offering('zone-a', 'on-demand', 0.4)] });

// Rule `surfaces/least-possible`.
describe('leastPossible: lower bound of the price for running pods', () => {
  test('is that of new nodes for them, whatever their present nodes cost', () => {
    const nodes = [node('a'), node('b'), node('other', { pool: 'elsewhere' })];
    const pods = [
      ...podsOf(3, 'a', onNode('a')),
      ...podsOf(4, 'b', onNode('b')),
      pod('stranger', onNode('other')),
      pod('pending'),
    ];
    const { all, byPool } = leastPossible(packingInput({ nodes, pods }, { types: [large] }));
    expect(all?.perHour).toBeCloseTo(0.8, 6);
    expect(byPool.get('default')?.perHour).toBeCloseTo(0.8, 6);
  });

  test('is given per NodePool, and lower for all together where one pool is cheaper', () => {
    const nodePools = [pool('dear'), pool('fair')];
    const input = packingInput(
      {
        nodePools,
        nodes: [node('a', { pool: 'dear' }), node('b', { pool: 'fair' })],
        pods: [...podsOf(4, 'a', onNode('a')), ...podsOf(4, 'b', onNode('b'))],
      },
      {
        catalogues: new Map([
          ['dear', [large]],
          ['fair', [cheap]],
        ]),
      },
    );
    const { all, byPool } = leastPossible(input);
    expect([...byPool]).toEqual([
      ['dear', { perHour: expect.closeTo(0.8, 6), without: 0 }],
      ['fair', { perHour: expect.closeTo(0.4, 6), without: 0 }],
    ]);
    expect(all?.perHour).toBeCloseTo(0.4, 6);
  });

  test('leaves out and counts pods that no new node holds, and ignores DaemonSet pods', () => {
    const daemon = pod('daemon', onNode('a'));
    daemon.metadata.ownerReferences = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' }];
    const lost = pod('lost', { ...onNode('a'), nodeSelector: { [labels.zone]: 'nowhere' } });
    const leastOf = (...pods: Pod[]) =>
      leastPossible(packingInput({ nodes: [node('a')], pods }, { types: [large] })).all;
    expect(leastOf(daemon, lost, pod('p', onNode('a')))).toEqual({ perHour: expect.closeTo(0.8, 6), without: 1 });
    expect(leastOf(daemon)).toEqual({ perHour: 0, without: 0 });
  });

  test('includes pods nominated to a NodeClaim without a node', () => {
    const metadata = { name: 'coming', labels: { [labels.nodePool]: 'default' } };
    const coming = { metadata, spec: {}, status: { providerID: 'fake://coming' } } as unknown as NodeClaim;
    const input = packingInput(
      { nodes: [], nodeClaims: [coming], pods: podsOf(4, 'a', onNode('coming')) },
      { types: [large] },
    );
    expect(leastPossible(input).byPool.get('default')?.perHour).toBeCloseTo(0.8, 6);
  });

  test('is undefined where no node can be launched for the pods, as with a NodePool that is not Ready', () => {
    const lost = pod('lost', { ...onNode('a'), nodeSelector: { [labels.zone]: 'nowhere' } });
    const { all, byPool } = leastPossible(packingInput({ nodes: [node('a')], pods: [lost] }, { types: [large] }));
    expect([all, [...byPool]]).toEqual([undefined, []]);
  });

  test('includes pods of deleting nodes, and is 0 without pods', () => {
    const leaving = node('a');
    leaving.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    const pods = podsOf(4, 'a', onNode('a'));
    expect(leastPossible(packingInput({ nodes: [leaving], pods }, { types: [large] })).all?.perHour).toBeCloseTo(
      0.8,
      6,
    );
    expect(leastPossible(packingInput({}, { types: [large] }))).toEqual({
      all: { perHour: 0, without: 0 },
      byPool: new Map([['default', { perHour: 0, without: 0 }]]),
    });
  });

  test('leaves out a pod that cannot be parsed, and counts the others', () => {
    const broken = pod('broken', { ...onNode('a'), requests: { cpu: 'much' } });
    const pods = [...podsOf(4, 'a', onNode('a')), broken];
    expect(leastPossible(packingInput({ nodes: [node('a')], pods }, { types: [large] })).all?.perHour).toBeCloseTo(
      0.8,
      6,
    );
  });
});
