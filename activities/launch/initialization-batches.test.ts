import { describe, expect, test } from '@jest/globals';
import { InitializationBatches } from './initialization-batches.js';

describe('batches of nodes that become initialized', () => {
  const times = { idleMs: 300, maxMs: 2000 };

  test('end when no further node joins, and each node gets the time of its next check', () => {
    const gathering = new InitializationBatches(times);

    expect(gathering.waitMs('a', 0)).toBe(300);
    expect(gathering.waitMs('b', 299)).toBe(300);
    // A second request delays no other.
    expect(gathering.waitMs('a', 300)).toBe(299);
    expect(gathering.isWaiting('a')).toBe(true);
    expect(['a', 'b', 'a'].map((id) => gathering.waitMs(id, 599))).toEqual([0, 0, 0]);
    expect(gathering.isWaiting('a')).toBe(false);

    expect(gathering.waitMs('c', 700)).toBe(300);
    expect(gathering.waitMs('c', 5000)).toBe(0);
    expect(gathering.waitMs('a', 5000)).toBe(0);
  });

  test('make no node wait longer than the maximum, however many join', () => {
    const gathering = new InitializationBatches(times);
    for (let i = 0; i < 10; i++) expect(gathering.waitMs(`${i}`, i * 200)).toBeGreaterThan(0);
    expect(gathering.waitMs('0', 2000)).toBe(0);
    expect(gathering.waitMs('9', 2000)).toBe(0);
  });
});
