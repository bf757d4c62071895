import { describe, expect, test } from '@jest/globals';
import type { NodeOverlay } from '../../api/karpenter/node-overlay.js';
import { labels } from '../../api/labels.js';
import { instanceType, packingInput, pod, podsOf, pool } from '../../test/builders/packing-fixtures.js';
import { compile } from './compiled.js';
import { offerTable } from '../place/offer-table.js';
import { plan } from '../plan.js';
import type { ClusterObjects, PackingInput } from '../types.js';

const types = [1, 2, 4, 8].map((cpu) => instanceType(`m${cpu}`, { cpu, price: cpu / 10 }));

const input = (objects: Partial<ClusterObjects> = {}): PackingInput =>
  packingInput({ pods: podsOf(5, 'p', { cpu: '900m' }), ...objects }, { types });

const daemonSet = (cpu: string): NonNullable<ClusterObjects['daemonSets']>[number] => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'default' },
  spec: { selector: {}, template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }] } } },
});

const overlay = (price: string): NodeOverlay => ({
  apiVersion: 'karpenter.sh/v1alpha1',
  kind: 'NodeOverlay',
  metadata: { name: 'cheap' },
  spec: { requirements: [{ key: labels.instanceType, operator: 'In', values: ['m8'] }], price },
});

describe('what planning passes over one catalogue share', () => {
  test('a second pass uses the compiled catalogue of the first', () => {
    const first = compile(input());
    const second = compile(input({ pods: podsOf(3, 'q', { cpu: '2' }) }));
    expect(second.universe).toBe(first.universe);
    expect(second.offers).toBe(first.offers);
  });

  test('a second pass uses the offer table of the first', () => {
    const first = compile(input());
    const second = compile(input({ pods: podsOf(3, 'q', { cpu: '2' }) }));
    const table = offerTable(first, first.universe.profiles);
    expect(offerTable(second, second.universe.profiles)).toBe(table);
    expect(table.rowOfOffer.map((row) => first.universe.rows[row]!.type.name)).toEqual(['m1', 'm2', 'm4', 'm8']);
    expect([...table.offers.price].map((price) => Math.round(price * 100) / 100)).toEqual([0.04, 0.08, 0.16, 0.32]);
    expect(offerTable(second, [])).toMatchObject({ rowOfOffer: [], offers: { count: 0 } });
  });

  test('equal overlays give the same compiled catalogue', () => {
    const first = compile(input({ nodeOverlays: [overlay('0.01')] }));
    expect(compile(input({ nodeOverlays: [overlay('0.01')] })).universe).toBe(first.universe);
    expect(compile(input({ nodeOverlays: [overlay('0.02')] })).universe).not.toBe(first.universe);
  });

  test('a pass uses the newest NodePool with its limits', () => {
    compile(input({ nodePools: [pool('a')] }));
    const limited = compile(input({ nodePools: [pool('a', { limits: { cpu: '1' } })] }));
    expect(limited.limits).toHaveLength(1);
    const newer = pool('a');
    expect(compile(input({ nodePools: [newer] })).pools[0]!.object).toBe(newer);
  });

  // Each changes something that what is kept depends on; a fresh catalogue knows nothing of the passes before.
  const variations: [string, Partial<ClusterObjects>][] = [
    ['as it is', {}],
    ['a DaemonSet', { daemonSets: [daemonSet('500m')] }],
    ['a larger DaemonSet', { daemonSets: [daemonSet('900m')] }],
    ['a NodePool with a taint', { nodePools: [pool('a', { taints: [{ key: 'x', effect: 'NoSchedule' }] })] }],
    ['a NodePool with limits', { nodePools: [pool('a', { limits: { cpu: '4' } })] }],
    ['pods bound to a zone', { pods: [pod('z', { cpu: '1', nodeSelector: { [labels.zone]: 'zone-a' } })] }],
    ['an overlay', { nodeOverlays: [overlay('0.01')] }],
    ['a dearer overlay', { nodeOverlays: [overlay('9')] }],
    ['as it was', {}],
  ];

  test.each(variations)('%s: the plan equals that from a newly compiled catalogue', (_, objects) => {
    for (const [, before] of variations) plan(input(before));
    expect(plan(input(objects))).toEqual(plan(structuredClone(input(objects))));
  });
});
