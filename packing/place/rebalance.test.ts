import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import {
  instanceType,
  node,
  packingInput,
  pod,
  podsOf,
  type PodOptions,
} from '../../test/builders/packing-fixtures.js';
import { placingOf } from '../../test/builders/placing.js';
import { near, spreads } from '../../test/builders/topology.js';
import type { ClusterObjects } from '../types.js';
import type { OpenClaim } from './open-claim.js';
import { rebalance } from './rebalance.js';

const { zone } = labels;
const types = [instanceType('m8', { cpu: 8, spot: 0, zones: ['zone-a', 'zone-b'] })];
const web: PodOptions = { labels: { app: 'web' }, ...spreads() };

/** A pass in which `launched` are on new nodes by zone and `placed` on the existing nodes by name. */
function rebalanced(
  { launched = {}, placed = {} }: { launched?: Record<string, Pod[]>; placed?: Record<string, Pod[]> },
  objects: Partial<ClusterObjects> = {},
) {
  const pods = [...Object.values(launched), ...Object.values(placed)].flat();
  const placing = placingOf(packingInput({ pods, ...objects }, { types }));
  const { compiled, targetOf, assigner, topologyCounts, book, nodes, feasibility } = placing;
  const rows = compiled.universe.rows;
  const claims = Object.entries(launched).map(([name, own]): OpenClaim => {
    const row = rows.findIndex(({ zone: of }) => of === name);
    const members = [...new Set(own.map((each) => targetOf(each).podClass))].map((podClass) => {
      const target = targetOf(podClass.pods[0]!);
      const there = own.filter((each) => podClass.pods.includes(each));
      topologyCounts.recordLaunch(target.rules, there.length, rows[row]!.profile);
      return { podClass, level: target.level, pods: there };
    });
    return { row, members, pinnedKeys: new Set([zone]) };
  });
  for (const [name, own] of Object.entries(placed)) {
    const state = nodes.find(({ view }) => view.name === name)!;
    for (const each of own) assigner.putOn(state, targetOf(each).podClass, targetOf(each).rules, [each]);
  }
  const unplaced: string[] = [];
  const left = rebalance(
    {
      universe: compiled.universe,
      space: compiled.space,
      book,
      topologyCounts,
      nodes,
      demandOf: (podClass) => feasibility.demand(podClass),
    },
    claims,
    (podClass, gone) => {
      for (const each of gone) {
        expect(podClass.pods).toContain(each);
        unplaced.push(each.metadata.name!);
      }
    },
  );
  return {
    unplaced: unplaced.sort(),
    claims: left.map(({ members }) => members.map((each) => each.pods.length)),
    rows: left.map(({ row, pinnedKeys }) => `${rows[row]!.zone} ${[...pinnedKeys].join()}`),
    onNodes: Object.fromEntries(
      nodes.map(({ view, pods: there, free }) => [view.name, [there.length, free[0]! / 1000]]),
    ),
    counts: topologyCounts,
    given: claims,
    rules: targetOf(pods[0]!).rules,
  };
}

describe('a spread that limits left uneven', () => {
  test('pods are removed from new nodes until its skew holds (topology/spread)', () => {
    const pods = podsOf(4, 'p', web);
    const { unplaced, claims, rows, counts, given, rules } = rebalanced({
      launched: { 'zone-a': pods.slice(0, 3), 'zone-b': pods.slice(3) },
    });
    expect(unplaced).toEqual(['p-2']);
    expect(claims).toEqual([[2], [1]]);
    expect(rows).toEqual([`zone-a ${zone}`, `zone-b ${zone}`]);
    expect(counts.count(rules.spread[0]!, 'zone-a')).toBe(2);
    expect(given[0]!.members[0]!.pods).toHaveLength(3);
  });

  test('no pod is removed where the skew holds', () => {
    const pods = podsOf(3, 'p', web);
    const { unplaced, claims } = rebalanced({ launched: { 'zone-a': pods.slice(0, 2), 'zone-b': pods.slice(2) } });
    expect([unplaced, claims]).toEqual([[], [[2], [1]]]);
  });

  test('pods are removed from existing nodes, which get their room back', () => {
    const pods = podsOf(3, 'p', web);
    const nodes = [node('a', { cpu: '8' })];
    const { unplaced, onNodes, counts, rules } = rebalanced({ placed: { a: pods } }, { nodes });
    expect(unplaced).toEqual(['p-1', 'p-2']);
    expect(onNodes).toEqual({ a: [1, 7] });
    expect(counts.count(rules.spread[0]!, 'zone-a')).toBe(1);
  });

  test('pods that it does not select stay', () => {
    const pods = podsOf(3, 'p', web);
    const others = podsOf(2, 'q', { labels: { app: 'db' }, ...spreads() });
    const { unplaced, claims } = rebalanced({ launched: { 'zone-a': [...others, ...pods] } });
    expect(unplaced).toEqual(['p-1', 'p-2']);
    expect(claims).toEqual([[2, 1]]);
  });

  test('over a label that the nodes do not have is not broken', () => {
    const pods = podsOf(3, 'p', { labels: { app: 'web' }, ...spreads({ topologyKey: 'rack' }) });
    expect(rebalanced({ launched: { 'zone-a': pods } }).unplaced).toEqual([]);
  });
});

describe('pods whose affinity selects no placed pod any more', () => {
  const fond = podsOf(2, 'fond', near('web'));

  test('are removed, and their empty node with them', () => {
    const { unplaced, claims } = rebalanced({ launched: { 'zone-a': fond } });
    expect([unplaced, claims]).toEqual([['fond-0', 'fond-1'], []]);
  });

  test('stay while a selected pod is there', () => {
    const { unplaced } = rebalanced({ launched: { 'zone-a': [...fond, pod('web', { labels: { app: 'web' } })] } });
    expect(unplaced).toEqual([]);
  });

  test('are removed from existing nodes too, after the pods that they selected', () => {
    const nodes = [node('a', { cpu: '8' }), node('a2', { cpu: '8' })];
    // The one that they are with has to go, and is looked at last.
    const lonely = pod('lonely', { labels: { app: 'web' }, ...near('db') });
    const { unplaced, onNodes } = rebalanced({ placed: { a: fond, a2: [lonely] } }, { nodes });
    expect(unplaced).toEqual(['fond-0', 'fond-1', 'lonely']);
    expect(onNodes).toEqual({ a: [0, 8], a2: [0, 8] });
  });

  test('stay where the topology label is unknown', () => {
    expect(rebalanced({ launched: { 'zone-a': podsOf(1, 'p', near('web', 'rack')) } }).unplaced).toEqual([]);
  });
});
