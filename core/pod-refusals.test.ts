import { expect, test } from '@jest/globals';
import { podRefusalsOf, withPodRefusal } from './pod-refusals.js';
import type { PodRefusal } from './pod-refusals.js';

const minute = 60_000;
const refused = { shape: 's', pod: 'default/p', nodes: ['n'], message: 'no', isOther: false };

// Rule `provisioning/refused-pods`.
test('the back-off doubles with each refusal, up to forty minutes, and one that still applies is unchanged', () => {
  let list: readonly PodRefusal[] = [];
  const waits = [5, 10, 20, 40, 40].map((_, i) => {
    const now = list[0]?.until ?? 0;
    const next = { ...refused, nodes: [`n${i}`] };
    list = withPodRefusal(list, next, now);
    expect(withPodRefusal(list, next, now + 1)).toBe(list);
    return (list[0]!.until - now) / minute;
  });
  expect(waits).toEqual([5, 10, 20, 40, 40]);
});

test('the same nodes are no further refusal after the back-off: nothing was tried since', () => {
  const list = withPodRefusal([], refused, 0);
  expect(withPodRefusal(list, refused, list[0]!.until + 1)).toBe(list);
});

test('after a refusal for an instance type others are tried, three nodes in all; then such pods back off as for that type', () => {
  let list: readonly PodRefusal[] = [];
  let now = 0;
  const rests = ['a', 'b', 'b', 'c', 'd'].map((node) => {
    now = Math.max(now + 1, list[0]?.until ?? 0);
    list = withPodRefusal(list, { ...refused, nodes: [node], isOther: true }, now);
    return [(list[0]!.until - list[0]!.at) / minute, ...list[0]!.nodes];
  });
  expect(rests).toEqual([
    [0, 'a'],
    [0, 'a', 'b'],
    // The same node is no other refusal.
    [0, 'a', 'b'],
    [20, 'a', 'b', 'c'],
    [40, 'a', 'b', 'c', 'd'],
  ]);
});

test('at most fifty kinds of pods are remembered, the latest ones', () => {
  let list: readonly PodRefusal[] = [];
  for (let i = 0; i < 60; i++) list = withPodRefusal(list, { ...refused, shape: `s${i}` }, 0);
  expect([list.length, list[0]?.shape]).toEqual([50, 's10']);
});

test.each([undefined, '', 'null', '{}', '[1]', '[{"shape":"s"}]', '[{"__proto__":{}}]'])(
  'an annotation with %s has no pod refusals',
  (text) => {
    expect(podRefusalsOf(text, 0)).toEqual([]);
  },
);

test('no annotation holds pods back longer than the longest back-off, and old ones are forgotten', () => {
  const text = JSON.stringify([{ ...refused, times: 1, at: 0, until: 1e15 }]);
  expect(podRefusalsOf(text, 1000)[0]?.until).toBe(1000 + 40 * minute);
  const old = JSON.stringify([{ ...refused, times: 1, at: 0, until: minute }]);
  expect(podRefusalsOf(old, 121 * minute)).toEqual([]);
});
