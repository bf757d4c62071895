import { describe, expect, test } from '@jest/globals';
import { annotations } from '../api/labels.js';
import { claimRefusalsOn, refusalsOn, whyNotPlanned, withRefusal, type Refusal, type Refusing } from './refusals.js';

const minute = 60_000;
const at = Date.parse('2026-01-05T12:00:00Z');
const ofPods: Refusing = {
  by: 'kube-scheduler',
  shape: 's',
  pod: 'default/p',
  nodes: ['n'],
  message: 'no',
  generation: 1,
};
const ofClaims: Refusing = { by: 'api-server', shape: '', pod: '', nodes: [], message: 'no', generation: 1 };
const poolWith = (text: string, generation = 1) => ({
  metadata: { generation, annotations: { [annotations.refusals]: text } },
});
const recorded = (list: unknown, now: number, generation = 1) =>
  refusalsOn(poolWith(JSON.stringify(list), generation), now);

/** Refuses the same again as soon as the back-off is over. */
function rests(refused: Refusing, times: number): number[] {
  let list: readonly Refusal[] = [];
  return Array.from({ length: times }, (_, i) => {
    const now = list[0]?.until ?? at;
    const next = { ...refused, nodes: refused.nodes.map((node) => `${node}${i}`) };
    list = withRefusal(list, next, now);
    expect(withRefusal(list, next, now + 1)).toBe(list);
    return list[0]!.until - now;
  });
}

// Rule `provisioning/refused-claims`.
describe('NodeClaims refused by the API server', () => {
  test('a NodePool whose NodeClaims are refused is not used for ten seconds, then longer, two minutes at most', () => {
    expect(rests(ofClaims, 7)).toEqual([10_000, 20_000, 40_000, 80_000, 120_000, 120_000, 120_000]);
  });

  test('a NodePool is not used for two minutes at once when a refusal lasted', () => {
    for (const before of [[], withRefusal([], ofClaims, at)])
      expect(withRefusal(before, { ...ofClaims, isLasting: true }, at)[0]?.until).toBe(at + 120_000);
  });

  test('a refusal is longer for pods refused again, not for others', () => {
    const p = { ...ofClaims, shape: 'p', pod: 'a/p' };
    const q = { ...ofClaims, shape: 'q', pod: 'a/q' };
    const first = withRefusal([], p, at);
    const { until } = first[0]!;
    expect(withRefusal(first, p, until)[0]!.until - until).toBe(20_000);
    expect(withRefusal(first, q, at + 1).map((each) => [each.pod, each.until - at])).toEqual([
      ['a/p', 10_000],
      ['a/q', 10_001],
    ]);
  });

  test('a refusal that no pod causes covers all pods', () => {
    const all = withRefusal(withRefusal([], { ...ofClaims, shape: 'p', pod: 'a/p' }, at), ofClaims, at);
    expect(all.map(({ shape }) => shape)).toEqual(['p', '']);
    expect(withRefusal(all, { ...ofClaims, shape: 'q', pod: 'a/q' }, at)).toBe(all);
    // What kube-scheduler refuses is another thing.
    expect(withRefusal(all, ofPods, at)).toHaveLength(3);
  });

  test('a refusal is reported with the answer of the API server', () => {
    const [refusal] = withRefusal([], { ...ofClaims, message: 'policy x denied request' }, at);
    expect(whyNotPlanned(refusal!, at)).toBe(
      'backs off until 2026-01-05T12:00:10Z, because the API server refused a NodeClaim: policy x denied request',
    );
    expect(whyNotPlanned(refusal!, refusal!.until)).toBeUndefined();
  });

  test('a refusal is forgotten when the NodePool changes, and after ten minutes; that of kube-scheduler stays', () => {
    const list = withRefusal(withRefusal([], ofClaims, at), ofPods, at);
    expect(recorded(list, at)).toEqual(list);
    expect(recorded(list, at, 2).map(({ by }) => by)).toEqual(['kube-scheduler']);
    expect(recorded(list, list[0]!.until + 600_000).map(({ by }) => by)).toEqual(['kube-scheduler']);
    expect(claimRefusalsOn(poolWith(JSON.stringify(list)), at)).toEqual([list[0]]);
  });
});

// Rule `provisioning/refused-pods`.
describe('pods refused by kube-scheduler', () => {
  test('the back-off doubles with each refusal, up to forty minutes', () => {
    expect(rests(ofPods, 5).map((ms) => ms / minute)).toEqual([5, 10, 20, 40, 40]);
  });

  test('the same nodes are no further refusal after the back-off: nothing was tried since', () => {
    const list = withRefusal([], ofPods, 0);
    expect(withRefusal(list, ofPods, list[0]!.until + 1)).toBe(list);
  });

  test('after a refusal for an instance type others are tried, three nodes in all; then such pods back off as for that type', () => {
    let list: readonly Refusal[] = [];
    let now = 0;
    const all = ['a', 'b', 'b', 'c', 'd'].map((node) => {
      now = Math.max(now + 1, list[0]?.until ?? 0);
      list = withRefusal(list, { ...ofPods, nodes: [node], isOther: true }, now);
      return [(list[0]!.until - list[0]!.at) / minute, ...list[0]!.nodes];
    });
    expect(all).toEqual([
      [0, 'a'],
      [0, 'a', 'b'],
      // The same node is no other refusal.
      [0, 'a', 'b'],
      [20, 'a', 'b', 'c'],
      [40, 'a', 'b', 'c', 'd'],
    ]);
  });

  test('at most fifty kinds of pods are remembered, the latest ones', () => {
    let list: readonly Refusal[] = [];
    for (let i = 0; i < 60; i++) list = withRefusal(list, { ...ofPods, shape: `s${i}` }, 0);
    expect([list.length, list[0]?.shape]).toEqual([50, 's10']);
  });
});

test.each(['', 'null', '{}', '[]', '[1]', '[{"shape":"s"}]', '[{"__proto__":{}}]', '{', '[{"by":"x","nodes":[]}]'])(
  'an annotation with %s has no refusals',
  (text) => {
    expect(refusalsOn(poolWith(text), at)).toEqual([]);
  },
);

test.each([
  [ofClaims, 2, 10],
  [ofPods, 40, 120],
])(
  'an annotation holds nothing back longer than the longest back-off, and old refusals are forgotten (%#)',
  (refused, longest, remembered) => {
    const forged = { ...refused, times: 1, at: 0, until: 1e15 };
    expect(recorded([forged], 1000)[0]?.until).toBe(1000 + longest * minute);
    expect(recorded([{ ...forged, until: minute }], (1 + remembered) * minute)).toEqual([]);
  },
);
