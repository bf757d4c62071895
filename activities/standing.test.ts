import { describe, expect, test } from '@jest/globals';
import { Standing } from './standing.js';

const now = 1_000_000;
const iso = (ms: number): string => new Date(ms).toISOString();

const view = (name: string, idleSince = 0): never =>
  ({
    claim: {
      metadata: { name },
      status: { conditions: [{ type: 'Initialized', status: 'True', lastTransitionTime: iso(idleSince) }] },
    },
    node: { metadata: { name } },
    pods: [],
  }) as never;
const looked = (at: number, named: readonly string[], unasked: readonly string[] = []): never =>
  ({ now: at, named: new Set(named), unasked: new Set(unasked) }) as never;

describe('Standing', () => {
  test('a node named for the first time waits the whole time', () => {
    const standing = new Standing();
    standing.note([view('a')], looked(now, ['a']));
    expect(standing.restOf(['a'], now)).toBe(15_000);
    expect(standing.restOf(['unheard-of'], now)).toBe(15_000);
  });

  test('the wait counts from the first search that named it, for all nodes of a command', () => {
    const standing = new Standing();
    standing.note([view('a'), view('b', now)], looked(now, ['a']));
    standing.note([view('a'), view('b', now)], looked(now + 10_000, ['a', 'b']));
    expect(standing.restOf(['a'], now + 10_000)).toBe(5000);
    expect(standing.restOf(['a', 'b'], now + 12_000)).toBe(13_000);
    expect(standing.restOf(['a'], now + 60_000)).toBe(0);
  });

  test('a search that does not name it has it begin anew, one that could not ask does not', () => {
    const standing = new Standing();
    standing.note([view('a'), view('b')], looked(now, ['a', 'b']));
    standing.note([view('a'), view('b')], looked(now + 5000, [], ['a']));
    standing.note([view('a'), view('b')], looked(now + 10_000, ['a', 'b']));
    expect(standing.restOf(['a'], now + 10_000)).toBe(5000);
    expect(standing.restOf(['b'], now + 10_000)).toBe(15_000);
  });

  test('pods that came or went since have it begin anew', () => {
    const standing = new Standing();
    standing.note([view('a')], looked(now, ['a']));
    standing.note([view('a', now + 8000)], looked(now + 10_000, ['a']));
    expect(standing.restOf(['a'], now + 10_000)).toBe(13_000);
  });
});
