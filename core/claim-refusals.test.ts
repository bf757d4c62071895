import { describe, expect, test } from '@jest/globals';
import { nextRefusal, claimRefusalOf, podsBackedOff, whyBackedOffPool } from './claim-refusals.js';

const at = Date.parse('2026-01-05T12:00:00Z');
const textOf = (refusal: unknown): string => JSON.stringify(refusal);

describe('refused NodeClaims of a NodePool', () => {
  test('a NodePool whose NodeClaims are refused is not used for ten seconds, then longer, two minutes at most', () => {
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

  test('a NodePool is not used for two minutes at once when a refusal lasted', () => {
    const first = nextRefusal(undefined, { generation: 1, now: at, message: 'no' });
    for (const before of [undefined, first])
      expect(nextRefusal(before, { generation: 1, now: at, message: 'no', isLasting: true }).until).toBe(at + 120_000);
  });

  test('refusals of one plan count once', () => {
    const first = nextRefusal(undefined, { generation: 1, now: at, message: 'no' });
    expect(nextRefusal(first, { generation: 1, now: at + 100, message: 'no' })).toBe(first);
  });

  describe('for the requirements of some pods', () => {
    const refused = (before: ReturnType<typeof nextRefusal> | undefined, now: number, ...pods: string[]) =>
      nextRefusal(before, { generation: 1, now, message: 'no', pods });

    test('a refusal for what some pods ask excludes these pods, not the NodePool', () => {
      const refusal = refused(undefined, at, 'a/p');
      expect(whyBackedOffPool(refusal, at)).toBeUndefined();
      expect(podsBackedOff(refusal, at)).toEqual({
        pods: new Set(['a/p']),
        why: 'for this pod it backs off until 2026-01-05T12:00:10Z, because the API server refused a NodeClaim: no',
      });
      expect(podsBackedOff(refusal, refusal.until)).toBeUndefined();
      expect(claimRefusalOf(textOf(refusal), 1, at)).toEqual(refusal);
    });

    test('a refusal is longer for pods refused again, not for others', () => {
      const first = refused(undefined, at, 'a/p');
      expect(refused(first, at + 1, 'a/p')).toBe(first);
      expect(refused(first, first.until, 'a/p').until - first.until).toBe(20_000);
      expect(refused(first, at + 1, 'a/q')).toMatchObject({ until: at + 10_001, pods: ['a/p', 'a/q'] });
      expect(refused(first, first.until, 'a/q')).toMatchObject({ until: first.until + 10_000, pods: ['a/q'] });
    });

    test('a refusal that no pod causes, or of very many pods, excludes the whole NodePool', () => {
      const first = refused(undefined, at, 'a/p');
      const all = nextRefusal(first, { generation: 1, now: at, message: 'no' });
      expect(whyBackedOffPool(all, at)).toBeDefined();
      expect(refused(all, at, 'a/q')).toBe(all);
      expect(refused(undefined, at, ...Array.from({ length: 201 }, (_, i) => `a/${i}`)).pods).toBeUndefined();
    });
  });

  test('a refusal is reported with the answer of the API server', () => {
    const refusal = nextRefusal(undefined, { generation: 1, now: at, message: 'policy x denied request' });
    expect(whyBackedOffPool(refusal, at)).toBe(
      'backs off until 2026-01-05T12:00:10Z, because the API server refused a NodeClaim: policy x denied request',
    );
    expect(whyBackedOffPool(refusal, refusal.until)).toBeUndefined();
  });

  test('a refusal is forgotten when the NodePool changes, and after ten minutes', () => {
    const refusal = nextRefusal(undefined, { generation: 1, now: at, message: 'no' });
    expect(claimRefusalOf(textOf(refusal), 1, at)).toEqual(refusal);
    expect(claimRefusalOf(textOf(refusal), 2, at)).toBeUndefined();
    expect(claimRefusalOf(textOf(refusal), 1, refusal.until + 600_000)).toBeUndefined();
  });

  test('a refusal in an annotation excludes a NodePool for two minutes at most, even if it names a later time', () => {
    const forged = { generation: 1, times: 1, until: at + 1e12, message: 'x' };
    expect(claimRefusalOf(textOf(forged), 1, at)?.until).toBe(at + 120_000);
  });

  test.each(['', 'null', '[]', '{"generation":1}', '{"generation":"1","times":1,"until":1,"message":"x"}', '{'])(
    'an annotation %s is no refusal',
    (text) => {
      expect(claimRefusalOf(text, 1, at)).toBeUndefined();
    },
  );
});
