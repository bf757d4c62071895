import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { packingInput, podsOf, type PodOptions } from '../../test/builders/packing-fixtures.js';
import { placingOf } from '../../test/builders/placing.js';
import { spreads } from '../../test/builders/topology.js';

const { zone, capacityType } = labels;
const twice = (more: PodOptions = {}): PodOptions => ({
  labels: { app: 'web' },
  topologySpreadConstraints: [spreads(), spreads({ topologyKey: capacityType })].flatMap(
    ({ topologySpreadConstraints }) => topologySpreadConstraints ?? [],
  ),
  ...more,
});
const at = (inZone: string, kind: string) => (key: string) => (key === zone ? inZone : kind);
const places = [at('zone-a', 'spot'), at('zone-a', 'on-demand'), at('zone-b', 'spot'), at('zone-c', 'spot')];

/** Whether the next of so many pods still has a place after one of them is placed. */
function lookaheadOf(count: number, options = twice()) {
  const pods = podsOf(count, 'p', options);
  const { assigner, targetOf, topologyCounts } = placingOf(packingInput({ pods }));
  const { rules } = targetOf(pods[0]!);
  return {
    rules,
    counts: topologyCounts,
    lookahead: assigner.lookahead,
    leaves: (there: (key: string) => string | undefined, open = places) =>
      assigner.lookahead.leavesPlaceForNext(rules, there, open),
  };
}

test('spread lookahead concerns pods with several spreads by topology key', () => {
  const { lookahead, rules } = lookaheadOf(2);
  expect(lookahead.concerns(rules)).toBe(true);
  const single = lookaheadOf(2, { labels: { app: 'web' }, ...spreads() });
  expect(single.lookahead.concerns(single.rules)).toBe(false);
});

describe('spread lookahead after one pod', () => {
  test('allows the next one where all its spreads allow a domain', () => {
    const { leaves } = lookaheadOf(3);
    expect(leaves(at('zone-b', 'spot'))).toBe(true);
    expect(leaves(at('zone-a', 'on-demand'))).toBe(true);
  });

  test('refuses where each domain breaks some spread', () => {
    const { leaves } = lookaheadOf(3);
    // The next one has to be on demand, and not in zone-a again.
    expect(leaves(at('zone-a', 'spot'))).toBe(false);
    expect(leaves(at('zone-a', 'spot'), [...places, at('zone-b', 'on-demand')])).toBe(true);
  });

  test('leaves the counts unchanged', () => {
    const { leaves, counts, rules } = lookaheadOf(3);
    leaves(at('zone-a', 'spot'));
    leaves(at('zone-b', 'spot'));
    expect(rules.spread.map((group) => counts.total(group))).toEqual([0, 0]);
    expect(counts.count(rules.spread[0]!, 'zone-a')).toBe(0);
  });

  test('is not needed where no further pod comes', () => {
    expect(lookaheadOf(1).leaves(at('zone-a', 'spot'))).toBe(true);
    const { leaves, counts, rules } = lookaheadOf(3);
    expect(leaves(at('zone-a', 'spot'), [])).toBe(false);
    // Two of the three are placed.
    leaves(at('zone-a', 'spot'), []);
    for (const group of rules.spread) counts.addSelected(group, 'elsewhere', 2);
    expect(leaves(at('zone-a', 'spot'), [])).toBe(true);
  });

  test('counts an unknown domain nowhere', () => {
    const { leaves } = lookaheadOf(3);
    expect(leaves(() => undefined)).toBe(true);
  });

  test('counts nothing for a spread that does not select the pods', () => {
    const spreadsOfTwo = [
      spreads(),
      spreads({ topologyKey: capacityType, labelSelector: { matchLabels: { app: 'db' } } }),
    ];
    const topologySpreadConstraints = spreadsOfTwo.flatMap((each) => each.topologySpreadConstraints ?? []);
    const { leaves } = lookaheadOf(3, twice({ topologySpreadConstraints }));
    expect(leaves(at('zone-a', 'spot'), [at('zone-a', 'spot'), at('zone-b', 'spot')])).toBe(true);
  });

  test.each([
    ['that have one of the spreads alone', { labels: { app: 'web' }, ...spreads() }],
    ['that the spreads do not select', twice({ labels: { app: 'db' } })],
  ])('does not apply to pods %s', (_, options) => {
    const [own] = podsOf(1, 'p', twice());
    const { assigner, targetOf } = placingOf(packingInput({ pods: [own!, ...podsOf(5, 'q', options)] }));
    expect(assigner.lookahead.leavesPlaceForNext(targetOf(own!).rules, at('zone-a', 'spot'), [])).toBe(true);
  });

  test('ignores pods that their spreads do not select', () => {
    const { leaves } = lookaheadOf(3, twice({ labels: { app: 'db' } }));
    expect(leaves(at('zone-a', 'spot'), [])).toBe(true);
  });
});
