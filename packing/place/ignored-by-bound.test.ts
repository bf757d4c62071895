import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { node, packingInput, pod, podsOf, pool } from '../../test/builders/packing-fixtures.js';
import { apart, near, spreads, topologyOf } from '../../test/builders/topology.js';
import type { ClusterObjects } from '../types.js';
import { minValuesTexts, ruleText, rulesByPods, rulesIgnoredByBound } from './ignored-by-bound.js';

const { hostname, zone } = labels;
const whole = 'how pods fit into whole nodes';

function ignored(objects: Partial<ClusterObjects>) {
  const { compiled, book } = topologyOf(packingInput(objects));
  return rulesIgnoredByBound(
    compiled,
    book,
    new Map(compiled.queue.map((podClass) => [podClass, podClass.pods.length])),
  );
}

describe('what the lower bound ignores', () => {
  test('always includes how pods fill nodes', () => {
    expect(ignored({ pods: [pod('p')] })).toEqual([whole]);
    expect(ignored({ pods: [pod('p')], nodes: [node('a')] })).toEqual(['how pods fit on existing nodes', whole]);
  });

  test('includes topology rules, those with most pods first', () => {
    const web = { labels: { app: 'web' } };
    const pods = [
      ...podsOf(2, 'spread', { ...web, ...spreads() }),
      ...podsOf(1, 'large', { ...web, ...spreads(), cpu: '2' }),
      ...podsOf(4, 'near', near('web')),
      ...podsOf(1, 'apart', apart('web')),
      ...podsOf(5, 'by-host', near('web', hostname)),
    ];
    expect(ignored({ pods })).toEqual([
      `affinity within ${hostname} (5 pods)`,
      `affinity within ${zone} (4 pods)`,
      `spread over ${zone} (3 pods)`,
      `anti-affinity within ${zone} (1 pod)`,
      whole,
    ]);
  });

  test('includes neither spread nor anti-affinity by host name', () => {
    const pods = [pod('p', spreads({ topologyKey: hostname })), pod('q', apart('web', hostname))];
    expect(ignored({ pods })).toEqual([whole]);
  });

  test('includes preferences, and no rule that is only preferred', () => {
    const [soft] = spreads({ whenUnsatisfiable: 'ScheduleAnyway' }).topologySpreadConstraints!;
    expect(ignored({ pods: podsOf(2, 'p', { labels: { app: 'web' }, topologySpreadConstraints: [soft!] }) })).toEqual([
      'preferences (2 pods)',
      whole,
    ]);
  });

  test('includes limits and minValues of NodePools', () => {
    const limits = { cpu: '4', memory: '1Gi' };
    const varied = pool('varied', {
      requirements: [{ key: labels.instanceType, operator: 'Exists', minValues: 2 }],
    });
    const nodePools = [pool('z', { limits }), varied, pool('a', { limits })];
    expect(ignored({ pods: podsOf(3, 'p'), nodePools })).toEqual([
      'limits of NodePool a',
      'limits of NodePool z',
      'minValues of NodePool varied',
      whole,
    ]);
    const { compiled } = topologyOf(packingInput({ pods: [pod('p')], nodePools }));
    expect(minValuesTexts(compiled)).toEqual(['minValues of NodePool varied']);
  });
});

test('lists rules with equally many pods by their text', () => {
  const pods = new Map([
    ['b', 1],
    ['a', 1],
    ['d', 2],
    ['c', 1],
  ]);
  expect(rulesByPods(pods)).toEqual(['d (2 pods)', 'a (1 pod)', 'b (1 pod)', 'c (1 pod)']);
});

test('topology rules in words', () => {
  const groupOf = (kind: 'spread' | 'affinity' | 'antiAffinity') => {
    const own = pod('p', kind === 'spread' ? spreads() : kind === 'affinity' ? near('web') : apart('web'));
    const { rulesOf } = topologyOf(packingInput({ pods: [own] }));
    return rulesOf(own)[kind][0]!;
  };
  expect((['spread', 'affinity', 'antiAffinity'] as const).map((kind) => ruleText(groupOf(kind)))).toEqual([
    `spread over ${zone}`,
    `affinity within ${zone}`,
    `anti-affinity within ${zone}`,
  ]);
});
