import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Gathering } from './gathering.js';

describe('a gathering', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const joined = (gathering: Gathering, gone: string[], name: string): void =>
    void gathering.join().then(() => void gone.push(name));

  test('goes together once nobody else comes', async () => {
    const gathering = new Gathering({ idleMs: 300, maxMs: 2000 });
    const gone: string[] = [];
    joined(gathering, gone, 'a');
    await jest.advanceTimersByTimeAsync(299);
    joined(gathering, gone, 'b');
    await jest.advanceTimersByTimeAsync(299);
    expect(gone).toEqual([]);

    await jest.advanceTimersByTimeAsync(1);
    expect(gone).toEqual(['a', 'b']);

    joined(gathering, gone, 'c');
    await jest.advanceTimersByTimeAsync(300);
    expect(gone).toEqual(['a', 'b', 'c']);
  });

  test('nobody waits longer than the most, however many come', async () => {
    const gathering = new Gathering({ idleMs: 300, maxMs: 2000 });
    const gone: string[] = [];
    for (let i = 0; i < 10; i++) {
      joined(gathering, gone, `${i}`);
      await jest.advanceTimersByTimeAsync(200);
    }
    expect(gone).toHaveLength(10);
  });
});
