import { describe, expect, test } from 'vitest';
import { Gathering } from './gathering.js';

describe('a gathering', () => {
  const times = { idleMs: 300, maxMs: 2000 };

  test('goes together once nobody else comes; each is told when to come again', () => {
    const gathering = new Gathering(times);

    expect(gathering.joins('a', 0)).toBe(300);
    expect(gathering.joins('b', 299)).toBe(300);
    // Whoever asks again keeps nobody waiting for longer.
    expect(gathering.joins('a', 300)).toBe(299);
    expect(gathering.awaits('a')).toBe(true);
    expect(['a', 'b', 'a'].map((id) => gathering.joins(id, 599))).toEqual([0, 0, 0]);
    expect(gathering.awaits('a')).toBe(false);

    expect(gathering.joins('c', 700)).toBe(300);
    expect(gathering.joins('c', 5000)).toBe(0);
    expect(gathering.joins('a', 5000)).toBe(0);
  });

  test('nobody waits longer than the most, however many come', () => {
    const gathering = new Gathering(times);
    for (let i = 0; i < 10; i++) expect(gathering.joins(`${i}`, i * 200)).toBeGreaterThan(0);
    expect(gathering.joins('0', 2000)).toBe(0);
    expect(gathering.joins('9', 2000)).toBe(0);
  });
});
