import { describe, expect, test } from 'vitest';
import { nextRefusal, claimRefusalOf, podsBackedOff, whyBackedOffPool } from './claim-refusals.js';

const at = Date.parse('2026-01-05T12:00:00Z');
const textOf = (refusal: unknown): string => JSON.stringify(refusal);

describe('refused NodeClaims of a NodePool', () => {
  test('rest for ten seconds, then ever longer, two minutes at most', () => {
    let now = at;
    let refusal = nextRefusal(undefined, { generation: 1, now, message: 'no' });
    const rests = [refusal.until - now];
    for (let i = 0; i < 6; i++) {
      now = refusal.until;
      refusal = nextRefusal(refusal, { generation: 1, now, message: 'no' });
      rests.push(refusal.until - now);
    }
    expect(rests).toEqual([10_000, 20_000, 40_000, 80_000, 120_000, 120_000, 120_000]);
  });

  test('one that lasted rests for the longest time at once, whatever rests already', () => {
    const first = nextRefusal(undefined, { generation: 1, now: at, message: 'no' });
    for (const before of [undefined, first])
      expect(nextRefusal(before, { generation: 1, now: at, message: 'no', isLasting: true }).until).toBe(at + 120_000);
  });

  test('of one plan count once', () => {
    const first = nextRefusal(undefined, { generation: 1, now: at, message: 'no' });
    expect(nextRefusal(first, { generation: 1, now: at + 100, message: 'no' })).toBe(first);
  });

  describe('for what some pods ask', () => {
    const refused = (before: ReturnType<typeof nextRefusal> | undefined, now: number, ...pods: string[]) =>
      nextRefusal(before, { generation: 1, now, message: 'no', pods });

    test('rest for these pods alone, not for the pool', () => {
      const refusal = refused(undefined, at, 'a/p');
      expect(whyBackedOffPool(refusal, at)).toBeUndefined();
      expect(podsBackedOff(refusal, at)).toEqual({
        pods: new Set(['a/p']),
        why: 'for this pod it backs off until 2026-01-05T12:00:10Z, because the API server refused a NodeClaim: no',
      });
      expect(podsBackedOff(refusal, refusal.until)).toBeUndefined();
      expect(claimRefusalOf(textOf(refusal), 1, at)).toEqual(refusal);
    });

    test('rest longer for the same pods, not for others that come', () => {
      const first = refused(undefined, at, 'a/p');
      expect(refused(first, at + 1, 'a/p')).toBe(first);
      expect(refused(first, first.until, 'a/p').until - first.until).toBe(20_000);
      expect(refused(first, at + 1, 'a/q')).toMatchObject({ until: at + 10_001, pods: ['a/p', 'a/q'] });
      expect(refused(first, first.until, 'a/q')).toMatchObject({ until: first.until + 10_000, pods: ['a/q'] });
    });

    test('rest for the pool once one is refused that no pod is the cause of, and where the pods are very many', () => {
      const first = refused(undefined, at, 'a/p');
      const all = nextRefusal(first, { generation: 1, now: at, message: 'no' });
      expect(whyBackedOffPool(all, at)).toBeDefined();
      expect(refused(all, at, 'a/q')).toBe(all);
      expect(refused(undefined, at, ...Array.from({ length: 201 }, (_, i) => `a/${i}`)).pods).toBeUndefined();
    });
  });

  test('are told with what the API server said', () => {
    const refusal = nextRefusal(undefined, { generation: 1, now: at, message: 'policy x denied request' });
    expect(whyBackedOffPool(refusal, at)).toBe(
      'backs off until 2026-01-05T12:00:10Z, because the API server refused a NodeClaim: policy x denied request',
    );
    expect(whyBackedOffPool(refusal, refusal.until)).toBeUndefined();
  });

  test('say nothing of a pool that changed, nor ten minutes later', () => {
    const refusal = nextRefusal(undefined, { generation: 1, now: at, message: 'no' });
    expect(claimRefusalOf(textOf(refusal), 1, at)).toEqual(refusal);
    expect(claimRefusalOf(textOf(refusal), 2, at)).toBeUndefined();
    expect(claimRefusalOf(textOf(refusal), 1, refusal.until + 600_000)).toBeUndefined();
  });

  test('cannot keep a pool away for longer than two minutes, whoever wrote them', () => {
    const forged = { generation: 1, times: 1, until: at + 1e12, message: 'x' };
    expect(claimRefusalOf(textOf(forged), 1, at)?.until).toBe(at + 120_000);
  });

  test.each(['', 'null', '[]', '{"generation":1}', '{"generation":"1","times":1,"until":1,"message":"x"}', '{'])(
    'text that is none (%s) says nothing',
    (text) => {
      expect(claimRefusalOf(text, 1, at)).toBeUndefined();
    },
  );
});
