import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import {
  instanceType,
  node,
  offering,
  packingInput,
  pod,
  podsOf,
  pool,
  zonesOf,
} from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import type { Plan } from '../types.js';

const placed = ({ newNodeClaims, existingNodes }: Plan): number =>
  [...newNodeClaims, ...existingNodes].reduce((sum, { pods }) => sum + pods.length, 0);
const zone = labels.zone;

describe('small plans are searched as a whole', () => {
  test('a group that wants one zone begins where its nodes cost least, though each pod would fit elsewhere', () => {
    const types = [
      instanceType('large', { cpu: 2, price: 0.3, spot: 0, zones: ['zone-a'] }),
      instanceType('small', { cpu: 2, price: 0.2, spot: 0, zones: ['zone-b'] }),
    ];
    const together = {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: zone },
        ],
      },
    };
    const pods = podsOf(6, 'web', { cpu: '1', labels: { app: 'web' }, affinity: together });
    const result = plan(packingInput({ pods }, { types }));
    expect(result.pricePerHour).toBeCloseTo(0.6, 9);
    expect(result.unschedulable).toEqual([]);
  });

  test('two nodes that cost the same as one are replaced by one', () => {
    // Every size costs the same for what it holds.
    const sizes = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128].flatMap((cpu) =>
      [2, 4, 8].map((ratio) =>
        instanceType(`r${ratio}-${cpu}`, {
          cpu,
          memory: cpu * ratio,
          price: cpu * (0.025 + ratio * 0.001073741824),
          spot: 0,
          resources: { pods: String(cpu * 16) },
        }),
      ),
    );
    const pods = [
      ...podsOf(60, 'small', { cpu: '900m', memory: '3100Mi' }),
      ...podsOf(60, 'large', { cpu: '3500m', memory: '28Gi' }),
    ];
    const result = plan(packingInput({ pods }, { types: sizes }));
    expect(result.unschedulable).toEqual([]);
    expect(result.pricePerHour).toBeLessThan(result.lowerBoundPerHour * 1.02);
    expect(result.newNodeClaims.length).toBeLessThan(8);
  });

  test('pods with anti-affinity by zone go to zones where nodes are launched anyway', () => {
    const types = ['zone-a', 'zone-b', 'zone-c'].map((name, i) =>
      instanceType(`large-${name}`, { cpu: 16, price: 1 + i / 10, spot: 0, zones: [name] }),
    );
    const apart = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app: 'db' } }, topologyKey: zone },
        ],
      },
    };
    const pods = [
      ...podsOf(2, 'db', { cpu: '1', labels: { app: 'db' }, affinity: apart }),
      pod('pinned', { nodeSelector: { [zone]: 'zone-c' } }),
      ...podsOf(10, 'plain'),
    ];
    const result = plan(packingInput({ pods }, { types }));
    expect(result.newNodeClaims.map(({ cheapest }) => cheapest.zone).sort()).toEqual(['zone-a', 'zone-c']);
  });

  test('under a limit as many pods as possible are placed', () => {
    const pods = [...podsOf(2, 'fat', { cpu: '4' }), ...podsOf(6, 'thin', { cpu: '1' })];
    const result = plan(packingInput({ pods, nodePools: [pool('default', { limits: { cpu: '8' } })] }));
    expect(placed(result)).toBe(6);
    expect(result.unschedulable.map(({ pod: name }) => name)).toEqual(['default/fat-0', 'default/fat-1']);
  });

  test('pods that a limit leaves unplaced name the limit, though topology rules apply to them too', () => {
    const spread = [
      {
        maxSkew: 5,
        topologyKey: zone,
        whenUnsatisfiable: 'DoNotSchedule' as const,
        labelSelector: { matchLabels: { app: 'web' } },
      },
    ];
    const pods = podsOf(4, 'web', { cpu: '4', labels: { app: 'web' }, topologySpreadConstraints: spread });
    const result = plan(packingInput({ pods, nodePools: [pool('default', { limits: { cpu: '8' } })] }));
    expect(placed(result)).toBe(2);
    expect(result.unschedulable.map(({ blockers }) => blockers.map(({ reason }) => reason))).toEqual([
      ['Limits'],
      ['Limits'],
    ]);
  });

  test('nodes are chosen so that both minValues and a limit hold', () => {
    const types = [2, 4, 16].map((cpu) =>
      instanceType(`m${cpu}`, { cpu, spot: 0, labels: { 'example.com/cpu': String(cpu) } }),
    );
    const requirements = [{ key: 'example.com/cpu', operator: 'Exists' as const, minValues: 2 }];
    const nodePools = [pool('default', { requirements, limits: { cpu: '8' } })];
    const result = plan(packingInput({ pods: podsOf(4, 'web', { cpu: '1' }), nodePools }, { types }));
    expect(placed(result)).toBe(4);
    expect(result.newNodeClaims.every(({ instanceTypes }) => instanceTypes.length >= 2)).toBe(true);
  });

  test('single pods are exchanged where a node then costs less', () => {
    const sold = (name: string, cpu: number, memory: number, prices: Readonly<Record<string, number>>) =>
      instanceType(name, {
        cpu,
        memory,
        offerings: Object.entries(prices).map(([at, price]) => offering(`zone-${at}`, 'on-demand', price)),
      });
    const types = [
      sold('c0-4x', 3.3, 30.75, { b: 0.261, c: 0.22613 }),
      sold('s17-4x', 3.3, 14.75, { a: 0.14018 }),
      sold('c21-2x', 1.3, 0.75, { a: 0.07806, b: 0.03293 }),
      sold('s30-2x', 1.3, 2.75, { a: 0.08495, c: 0.06841 }),
      sold('s6-8x', 7.3, 6.75, { a: 0.32014, b: 0.23988 }),
      sold('m14-16x', 15.3, 30.75, { a: 0.52199, b: 0.33747, c: 0.46722 }),
      sold('c32-1x', 0.3, 6.75, { a: 0.04781, b: 0.0462, c: 0.04264 }),
      sold('s25-1x', 0.3, 6.75, { a: 0.03724, b: 0.05593, c: 0.05262 }),
    ];
    const together = {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: zone },
        ],
      },
    };
    const pods = [
      ...podsOf(3, 'web', { cpu: '1', memory: '256Mi', labels: { app: 'web' }, affinity: together }),
      pod('a', { cpu: '100m', memory: '2Gi' }),
      ...podsOf(2, 'b', { cpu: '500m', memory: '128Mi' }),
      pod('c', { cpu: '500m', memory: '4Gi' }),
      pod('d', { cpu: '250m', memory: '4Gi' }),
      pod('e', { cpu: '500m', memory: '2Gi' }),
      pod('f', { cpu: '1500m', memory: '2Gi' }),
    ];
    expect(plan(packingInput({ pods }, { types })).pricePerHour).toBeCloseTo(0.2719, 5);
  });

  test('pods with affinity to each other begin on a node that holds all of them', () => {
    const together = {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app: 'pair' } }, topologyKey: labels.hostname },
        ],
      },
    };
    const pods = [
      pod('pair-1', { cpu: '3', labels: { app: 'pair' }, affinity: together }),
      pod('pair-2', { cpu: '2', labels: { app: 'pair' }, affinity: together }),
    ];
    const nodes = [node('small', { cpu: '4' }), node('wide', { cpu: '6' })];
    expect(plan(packingInput({ pods, nodes })).existingNodes).toEqual([
      { node: 'wide', pods: ['default/pair-1', 'default/pair-2'] },
    ]);
  });

  test('spare room in a lighter pool is used, but no node is launched there for pods that the heavier pool holds', () => {
    const heavy = [instanceType('heavy-4', { cpu: 4, spot: 0 })];
    const light = [instanceType('light-8', { cpu: 8, spot: 0 }), instanceType('light-16', { cpu: 16, spot: 0 })];
    const nodePools = [pool('heavy', { weight: 20 }), pool('light', { weight: 10 })];
    const catalogues = new Map([
      ['heavy', heavy],
      ['light', light],
    ]);
    const large = pod('large', { cpu: '7' });
    const spare = plan(packingInput({ pods: [large, pod('small')], nodePools }, { catalogues }));
    expect(spare.newNodeClaims.map(({ nodePool }) => nodePool)).toEqual(['light']);
    const full = plan(packingInput({ pods: [large, ...podsOf(2, 'small')], nodePools }, { catalogues }));
    expect(full.newNodeClaims.map(({ nodePool }) => nodePool).sort()).toEqual(['heavy', 'light']);
  });
});

describe('pods planned onto existing nodes are placed again where that leaves fewer unplaced', () => {
  test('a pod that fits anywhere makes room for one that fits only there', () => {
    const follows = {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app: 'leader' } }, topologyKey: labels.hostname },
        ],
      },
    };
    const pods = [
      pod('leader', { cpu: '2', labels: { app: 'leader' } }),
      ...podsOf(2, 'anywhere', { cpu: '1' }),
      pod('follower', { cpu: '500m', affinity: follows }),
    ];
    const result = plan(packingInput({ pods, nodes: [node('old')] }));
    expect(result.unschedulable).toEqual([]);
    expect(result.existingNodes[0]?.pods).toEqual(
      expect.arrayContaining(['default/follower', 'default/leader', expect.stringMatching(/anywhere/)]),
    );
  });

  test('one large pod stays unplaced where several small ones can be placed instead', () => {
    const pods = [pod('large', { cpu: '4' }), ...podsOf(4, 'small', { cpu: '1' })];
    const nodePools = [pool('default', { limits: { nodes: '1' } })];
    const result = plan(packingInput({ pods, nodes: [node('old')], nodePools }));
    expect(result.unschedulable.map(({ pod: name }) => name)).toEqual(['default/large']);
    expect(result.existingNodes.map(({ pods: there }) => there.length)).toEqual([4]);
  });

  test('spread over zones and capacity types is not blocked by the pods placed first on a node', () => {
    const demand = (zoneName: string, types: readonly string[]) =>
      types.map((kind) => offering(zoneName, kind, kind === 'spot' ? 0.3 : 0.4));
    const types = [
      instanceType('only', {
        cpu: 8,
        offerings: [
          ...demand('zone-a', ['on-demand']),
          ...demand('zone-b', ['spot', 'on-demand']),
          ...demand('zone-c', ['spot', 'on-demand']),
        ],
      }),
    ];
    const spread = [labels.capacityType, zone].map((topologyKey) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'DoNotSchedule' as const,
      labelSelector: { matchLabels: { app: 'web' } },
    }));
    const old = ['zone-b', 'zone-c'].map((name) =>
      node(`old-${name}`, { cpu: '8', zone: name, labels: { [labels.capacityType]: 'on-demand' } }),
    );
    const pods = podsOf(12, 'web', { cpu: '1500m', labels: { app: 'web' }, topologySpreadConstraints: spread });
    const result = plan(packingInput({ pods, nodes: old }, { types }));
    expect(result.unschedulable).toEqual([]);
    expect(zonesOf(result, old)).toEqual({ 'zone-a': 4, 'zone-b': 4, 'zone-c': 4 });
  });
});

describe('pods of several classes are placed together where no order of classes works', () => {
  test('pods with affinity to each other begin on a new node before one of their app takes a node that is too small for all', () => {
    const types = [instanceType('small', { cpu: 2, price: 0.1 }), instanceType('large', { cpu: 8, price: 0.4 })];
    const together = {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: labels.hostname },
        ],
      },
    };
    const pods = [
      ...podsOf(3, 'together', { cpu: '1900m', labels: { app: 'web' }, affinity: together }),
      pod('alone', { cpu: '500m', labels: { app: 'web' }, nodeSelector: { [labels.instanceType]: 'small' } }),
    ];
    const result = plan(packingInput({ pods }, { types }));
    expect(result.unschedulable).toEqual([]);
    expect(result.newNodeClaims.map(({ pods: there }) => there.length).sort()).toEqual([1, 3]);
  });

  test('pods with a spread go before a pod without it that the spread counts', () => {
    const types = [instanceType('only', { cpu: 4, zones: ['zone-a', 'zone-b'] })];
    const topologySpreadConstraints = [
      {
        maxSkew: 2,
        minDomains: 3,
        topologyKey: zone,
        whenUnsatisfiable: 'DoNotSchedule' as const,
        labelSelector: { matchLabels: { app: 'web' } },
      },
    ];
    const pods = [
      pod('free', { cpu: '2', labels: { app: 'web' } }),
      ...podsOf(5, 'spread', { cpu: '1', labels: { app: 'web' }, topologySpreadConstraints }),
    ];
    const result = plan(packingInput({ pods }, { types }));
    expect(result.unschedulable.map(({ pod: name }) => name)).toEqual([expect.stringMatching(/spread/)]);
  });
});

describe('preferred anti-affinity', () => {
  test('moves away only pods that have it; others stay in their preferred zone though all are placed again', () => {
    const types = [
      instanceType('small', { cpu: 2, price: 0.2, spot: 0, zones: ['zone-a'] }),
      instanceType('large-a', { cpu: 4, price: 0.3, spot: 0, zones: ['zone-a'] }),
      instanceType('large-b', { cpu: 4, price: 0.3, spot: 0, zones: ['zone-b'] }),
    ];
    // Two types hold two pods, but only one of them in zone-a: nodes bought there for two are refused, those for one are not.
    const varied = pool('varied', {
      requirements: [{ key: labels.instanceType, operator: 'Exists', minValues: 2 }],
    });
    const affinity = {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 50,
            preference: { matchExpressions: [{ key: zone, operator: 'In' as const, values: ['zone-a'] }] },
          },
          { weight: 1, preference: { matchExpressions: [{ key: zone, operator: 'In' as const, values: ['zone-b'] }] } },
        ],
      },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 10, podAffinityTerm: { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: zone } },
        ],
      },
    };
    const pods = podsOf(6, 'web', { cpu: '1500m', labels: { app: 'web' }, affinity });
    const result = plan(packingInput({ pods, nodePools: [varied] }, { types }));
    expect(result.unschedulable).toEqual([]);
    expect(zonesOf(result)).toEqual({ 'zone-a': 6 });
  });
});

describe('the lower bound of a plan', () => {
  test('holds over all choices of domains', () => {
    const types = [
      instanceType('dear', { cpu: 4, price: 0.9, spot: 0, zones: ['zone-a'] }),
      instanceType('cheap', { cpu: 4, price: 0.3, spot: 0, zones: ['zone-b'] }),
    ];
    const spread = [
      {
        maxSkew: 1,
        topologyKey: zone,
        whenUnsatisfiable: 'DoNotSchedule' as const,
        labelSelector: { matchLabels: { app: 'web' } },
      },
    ];
    const pods = podsOf(4, 'web', { cpu: '2', labels: { app: 'web' }, topologySpreadConstraints: spread });
    const result = plan(packingInput({ pods }, { types }));
    expect(result.pricePerHour).toBeCloseTo(1.2, 9);
    expect(result.lowerBoundPerHour).toBeCloseTo(0.6, 6);
  });
});
