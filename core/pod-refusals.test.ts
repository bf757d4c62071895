import { expect, test } from 'vitest';
import { podRefusalsOf, withPodRefusal } from './pod-refusals.js';
import type { PodRefusal } from './pod-refusals.js';

const minute = 60_000;
const refused = { shape: 's', pod: 'default/p', node: 'n', message: 'no' };

// Rule `provisioning/refused-pods`.
test('the back-off doubles with each refusal, to forty minutes, and one that still holds stays as it is', () => {
  let list: readonly PodRefusal[] = [];
  const waits = [5, 10, 20, 40, 40].map(() => {
    const now = list[0]?.until ?? 0;
    list = withPodRefusal(list, refused, now);
    expect(withPodRefusal(list, refused, now + 1)).toBe(list);
    return (list[0]!.until - now) / minute;
  });
  expect(waits).toEqual([5, 10, 20, 40, 40]);
});

test('fifty sorts of pods are remembered at most, the last ones', () => {
  let list: readonly PodRefusal[] = [];
  for (let i = 0; i < 60; i++) list = withPodRefusal(list, { ...refused, shape: `s${i}` }, 0);
  expect([list.length, list[0]?.shape]).toEqual([50, 's10']);
});

test.each([undefined, '', 'null', '{}', '[1]', '[{"shape":"s"}]', '[{"__proto__":{}}]'])(
  'the text %s tells none',
  (text) => {
    expect(podRefusalsOf(text, 0)).toEqual([]);
  },
);

test('no text holds pods back for longer than the longest back-off, and old ones are forgotten', () => {
  const text = JSON.stringify([{ ...refused, times: 1, at: 0, until: 1e15 }]);
  expect(podRefusalsOf(text, 1000)[0]?.until).toBe(1000 + 40 * minute);
  const old = JSON.stringify([{ ...refused, times: 1, at: 0, until: minute }]);
  expect(podRefusalsOf(old, 121 * minute)).toEqual([]);
});
