import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { node, packingInput, pod, pool } from '../../test/builders/packing-fixtures.js';
import { placingOf } from '../../test/builders/placing.js';
import { near, spreads } from '../../test/builders/topology.js';
import type { ClusterObjects } from '../types.js';
import { LevelFeasibility } from './level-feasibility.js';

const { hostname, zone } = labels;
const web = { labels: { app: 'web' } };

function impossible(own: Pod, objects: Partial<ClusterObjects> = {}, count: 'counted' | 'not counted' = 'not counted') {
  const { compiled, feasibility, topologyCounts, nodes, targetOf } = placingOf(
    packingInput({ pods: [own], ...objects }),
  );
  const target = targetOf(own);
  if (count === 'counted') for (const group of target.rules.affinity) topologyCounts.addSelected(group, 'zone-a', 1);
  const levels = new LevelFeasibility(compiled, feasibility, topologyCounts, nodes);
  const found = levels.isImpossible(target);
  expect(levels.isImpossible(target)).toBe(found);
  return found;
}

describe('a preference level is hopeless', () => {
  test.each([
    ['where no new node is large enough, and none is there', pod('p', { cpu: '999' }), {}, true],
    ['not where a new node is', pod('p'), {}, false],
    ['not where an existing node admits it', pod('p', { cpu: '999' }), { nodes: [node('a')] }, false],
    [
      'where no existing node admits it either',
      pod('p', { cpu: '999', nodeSelector: { disk: 'ssd' } }),
      { nodes: [node('a')] },
      true,
    ],
    [
      'not where one of several does',
      pod('p', { cpu: '999', nodeSelector: { disk: 'ssd' } }),
      { nodes: [node('a'), node('b', { labels: { disk: 'ssd' } })] },
      false,
    ],
  ])('%s', (_, own, objects, expected) => {
    expect(impossible(own, objects)).toBe(expected);
  });

  test.each([
    ['spread', spreads({ topologyKey: 'rack' })],
    ['affinity', near('web', 'rack')],
  ])('where nothing has the topology key of its %s', (_, rule) => {
    const own = pod('p', { ...web, ...rule });
    expect(impossible(own)).toBe(true);
    expect(impossible(own, { nodes: [node('a', { labels: { rack: 'one' } })] })).toBe(false);
    expect(impossible(own, { nodePools: [pool('racked', { labels: { rack: 'one' } })] })).toBe(false);
    const tainted = pool('tainted', { labels: { rack: 'one' }, taints: [{ key: 'own', effect: 'NoSchedule' }] });
    expect(impossible(own, { nodePools: [pool(), tainted] })).toBe(false);
  });

  test('not where it spreads over zones, which every node has', () => {
    expect(impossible(pod('p', { ...web, ...spreads() }))).toBe(false);
    expect(impossible(pod('p', { ...web, ...near('web') }))).toBe(false);
  });

  test('where its affinity selects no pod', () => {
    const own = pod('p', near('web'));
    expect(impossible(own)).toBe(true);
    expect(impossible(own, {}, 'counted')).toBe(false);
    expect(impossible(pod('p', { ...web, ...near('web') }), {}, 'counted')).toBe(false);
  });

  test('not where it also has affinity by host name', () => {
    const terms = [near('web', zone), near('web', hostname)].flatMap(
      ({ affinity }) => affinity!.podAffinity!.requiredDuringSchedulingIgnoredDuringExecution!,
    );
    const own = pod('p', { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } });
    expect(impossible(own)).toBe(false);
    expect(impossible(pod('p', near('web', hostname)))).toBe(false);
  });
});
