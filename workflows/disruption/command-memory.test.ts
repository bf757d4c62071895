import { describe, expect, test } from '@jest/globals';
import type { CandidateRef, ConsolidateResult } from '../messages.js';
import { remember } from './command-memory.js';

const now = Date.parse('2026-11-21T12:00:00Z');
const node: CandidateRef = { claim: { name: 'claim-a', uid: 'uid-a' }, node: 'node-a', nodePool: 'default' };

describe("disrupt's memory of abandoned and failed commands", () => {
  const after = (outcome: ConsolidateResult['outcome'], before: Parameters<typeof remember>[0] = []) =>
    remember(before, { outcome }, { reason: 'Underutilized', candidates: [node] }, now);

  test('a failed command backs off ever longer, for its reason', () => {
    const once = after('failed');
    expect(once).toMatchObject([{ failures: 1, keptUntil: now + 15_000, reason: 'Underutilized' }]);
    expect(after('failed', once)).toMatchObject([{ failures: 2, keptUntil: now + 30_000 }]);
  });

  test('for empty nodes only failed commands count, since pods come and go', () => {
    const empty = { reason: 'Empty', candidates: [node] } as const;
    expect(remember([], { outcome: 'abandoned' }, empty, now)).toEqual([]);
    const failed = remember([], { outcome: 'failed' }, empty, now);
    expect(failed).toMatchObject([{ failures: 1, keptUntil: now + 15_000, reason: 'Empty' }]);
  });
});
