import { describe, expect, test } from '@jest/globals';
import { StableSince } from './stable-since.js';

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

describe('StableSince: how long nodes have been candidates', () => {
  // Rule `commands/validation-delay`.
  test('a node that is a candidate for the first time waits the whole time', () => {
    const stable = new StableSince();
    stable.note([view('a')], looked(now, ['a']));
    expect(stable.restOf(['a'], now)).toBe(15_000);
    expect(stable.restOf(['unheard-of'], now)).toBe(15_000);
  });

  test('the wait begins with the first search that found it, for all nodes of a command', () => {
    const stable = new StableSince();
    stable.note([view('a'), view('b', now)], looked(now, ['a']));
    stable.note([view('a'), view('b', now)], looked(now + 10_000, ['a', 'b']));
    expect(stable.restOf(['a'], now + 10_000)).toBe(5000);
    expect(stable.restOf(['a', 'b'], now + 12_000)).toBe(13_000);
    expect(stable.restOf(['a'], now + 60_000)).toBe(0);
  });

  test('a search that does not find it restarts the wait, one that failed does not', () => {
    const stable = new StableSince();
    stable.note([view('a'), view('b')], looked(now, ['a', 'b']));
    stable.note([view('a'), view('b')], looked(now + 5000, [], ['a']));
    stable.note([view('a'), view('b')], looked(now + 10_000, ['a', 'b']));
    expect(stable.restOf(['a'], now + 10_000)).toBe(5000);
    expect(stable.restOf(['b'], now + 10_000)).toBe(15_000);
  });

  test('pods bound or deleted since restart the wait', () => {
    const stable = new StableSince();
    stable.note([view('a')], looked(now, ['a']));
    stable.note([view('a', now + 8000)], looked(now + 10_000, ['a']));
    expect(stable.restOf(['a'], now + 10_000)).toBe(13_000);
  });
});
