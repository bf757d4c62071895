import { describe, expect, test } from '@jest/globals';
import type { DisruptionFinished, GoingNode } from './messages.js';
import { remember } from './move-memory.js';

const now = Date.parse('2026-11-21T12:00:00Z');
const node: GoingNode = { claim: { name: 'claim-a', uid: 'uid-a' }, node: 'node-a', nodePool: 'default' };

describe('what is remembered of decisions that came to nothing', () => {
  const after = (outcome: DisruptionFinished['outcome'], before = remember([], { workflowId: 'w' }, [], now)) =>
    remember(before, { workflowId: 'w', ...(outcome === undefined ? {} : { outcome }) }, [node], now);

  test.each([
    ['rejected', 86_400_000],
    ['aborted', 3_600_000],
  ] as const)('%s: the node rests for long, and that it was a person is known', (outcome, rest) => {
    expect(after(outcome)).toMatchObject([{ node: 'node-a', keptUntil: now + rest, byPerson: true }]);
  });

  test('failed: it rests ever longer, and nobody is to blame', () => {
    const once = after('failed');
    expect(once).toMatchObject([{ failures: 1, keptUntil: now + 15_000 }]);
    expect(after('failed', once)).toMatchObject([{ failures: 2, keptUntil: now + 30_000 }]);
    expect(once[0]).not.toHaveProperty('byPerson');
  });
});
