import { describe, expect, test } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createInterner } from './intern.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/** Weak references hold until the end of the turn in which they were read. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('hash-consing', () => {
  test('hash-consing returns one object for equal values, different ones otherwise', () => {
    const interner = createInterner();
    const a = interner.share({ x: [1] });
    expect(interner.share({ x: [1] })).toBe(a);
    expect(interner.share({ x: [2] })).not.toBe(a);
  });

  test('a value is shared for as long as its anchor is used', async () => {
    const interner = createInterner();
    const make = () => interner.share({ part: ['a'], rest: 'b' }, ({ part }) => part);
    const { part } = make();
    await turn();
    collectGarbage();
    expect(make().part).toBe(part);
  });

  test('hash-consing keeps no value that nothing references', async () => {
    const interner = createInterner();
    for (let i = 0; i < 100; i++) interner.share({ i });
    expect(interner.size).toBe(100);
    // Finalizers run in turns of their own, and one collection need not find everything.
    while (interner.size > 0) {
      await turn();
      collectGarbage();
    }
    expect(interner.share({ i: 1 })).toEqual({ i: 1 });
  });
});
