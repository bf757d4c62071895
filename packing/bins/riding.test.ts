import { describe, expect, test } from '@jest/globals';
import { seeded } from '../../test/builders/bin-cases.js';
import { compareText } from '../../core/text.js';
import { hasBit } from './bits.js';
import type { BinProblem, BinSolution } from './problem.js';
import { ride } from './riding.js';
import { solveWithBound } from './solve.js';

/** Bins of one resource: `of` the heavy or the light offers. */
interface Offer {
  readonly of: 'heavy' | 'light';
  readonly price: number;
  readonly room: number;
}

/** `heavy` pods open heavy bins and ride on light ones, `light` ones open light bins alone. */
interface Item {
  readonly of: 'heavy' | 'light';
  readonly demand?: number;
  readonly pods?: number;
}

type More = Partial<Pick<BinProblem, 'caps' | 'conflicts' | 'limits'>>;

function problemOf(offers: readonly Offer[], items: readonly Item[], more: More = {}): BinProblem {
  const bitsOf = (isIn: (offer: Offer) => boolean): Uint32Array => {
    const bits = new Uint32Array((offers.length + 31) >>> 5);
    offers.forEach((offer, o) => {
      if (isIn(offer)) bits[o >>> 5] = bits[o >>> 5]! | (1 << (o & 31));
    });
    return bits;
  };
  const own = { heavy: bitsOf(({ of }) => of === 'heavy'), light: bitsOf(({ of }) => of === 'light') };
  const all = bitsOf(() => true);
  return {
    dimensions: 1,
    offers: {
      count: offers.length,
      price: Float64Array.from(offers, ({ price }) => price),
      capacity: Float64Array.from(offers, ({ room }) => room),
    },
    items: {
      count: items.length,
      pods: Int32Array.from(items, ({ pods = 1 }) => pods),
      demand: Float64Array.from(items, ({ demand = 1 }) => demand),
      allowed: items.map(({ of }) => own[of]),
      riding: items.map(({ of }) => (of === 'heavy' ? all : own.light)),
    },
    caps: [],
    conflicts: [],
    limits: [],
    ...more,
  };
}

const effort = { units: 20_000 };

/** The cheapest packing in which nothing rides, and a cheaper one in which pods do. */
function bothOf(problem: BinProblem): { alone: BinSolution; found: BinSolution | undefined } {
  const { count, pods, demand, allowed } = problem.items;
  const alone = solveWithBound({ ...problem, items: { count, pods, demand, allowed } }, effort).solution;
  return { alone, found: ride(problem, alone, effort) };
}

const heavy = (price: number, room: number): Offer => ({ of: 'heavy', price, room });
const light = (price: number, room: number): Offer => ({ of: 'light', price, room });

/** Prices of the packing without and with riding, and the contents of its bins: pods by item. */
function described(offers: readonly Offer[], items: readonly Item[], more: More = {}) {
  const { alone, found } = bothOf(problemOf(offers, items, more));
  const bins = found?.bins.map((bin) => {
    const text = Array.from(bin.items, (item, k) => `${bin.pods[k]!} ${items[item]!.of}`)
      .sort((a, b) => compareText(a.slice(2), b.slice(2)))
      .join(' + ');
    return `${offers[bin.offer]!.of} ${offers[bin.offer]!.room}: ${text}`;
  });
  return [alone.price, found?.price, bins?.sort()];
}

const none = undefined;

describe('riding: pods move into bins that other pods need', () => {
  const two = [light(1, 2), heavy(4, 4)];
  test.each<[string, readonly Offer[], readonly Item[], More, ReturnType<typeof described>]>([
    ['where these have room', two, [{ of: 'heavy' }, { of: 'light' }], {}, [5, 1, ['light 2: 1 heavy + 1 light']]],
    [
      'where a larger one costs less than two',
      [light(1, 1), light(1.5, 4), heavy(4, 4)],
      [{ of: 'heavy', pods: 3 }, { of: 'light' }],
      {},
      [5, 1.5, ['light 4: 3 heavy + 1 light']],
    ],
    [
      'as many as there is room for, the others in bins of their own',
      [light(1, 2), heavy(2, 2)],
      [{ of: 'heavy', pods: 3 }, { of: 'light' }],
      {},
      [5, 3, ['heavy 2: 2 heavy', 'light 2: 1 heavy + 1 light']],
    ],
    [
      'each with one that opens it',
      [light(1, 4), heavy(4, 4)],
      [
        { of: 'heavy', pods: 6 },
        { of: 'light', pods: 2 },
      ],
      {},
      [9, 2, ['light 4: 3 heavy + 1 light', 'light 4: 3 heavy + 1 light']],
    ],
    ['never alone', [light(1, 4), heavy(4, 4)], [{ of: 'heavy', pods: 4 }], {}, [4, none, none]],
    [
      'not where they cost no less',
      [light(1, 1), light(9, 2), heavy(4, 4)],
      [{ of: 'heavy' }, { of: 'light' }],
      {},
      [5, none, none],
    ],
    [
      'not beside what they may not be with',
      two,
      [{ of: 'heavy' }, { of: 'light' }],
      { conflicts: [[0, 1]] },
      [5, none, none],
    ],
    [
      'as far as caps allow',
      [light(1, 4), heavy(2, 4)],
      [{ of: 'heavy', pods: 3 }, { of: 'light' }],
      { caps: [{ items: Int32Array.of(0), max: 1 }] },
      [7, 5, ['heavy 4: 1 heavy', 'heavy 4: 1 heavy', 'light 4: 1 heavy + 1 light']],
    ],
    [
      'as far as limits allow',
      [light(1, 1), light(1.5, 2), heavy(4, 4)],
      [{ of: 'heavy' }, { of: 'light' }],
      { limits: [{ use: Float64Array.of(1, 2, 0), remaining: 1 }] },
      [5, none, none],
    ],
  ])('%s', (_, offers, items, more, expected) => {
    expect(described(offers, items, more)).toEqual(expected);
  });

  test('in random problems riding loses no pod, makes nothing dearer, and leaves no bin without the pods that it was opened for', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seeded(seed);
      const whole = (most: number): number => 1 + Math.floor(random() * most);
      const offers = Array.from({ length: 8 }, (_, k): Offer => {
        const room = 4 * whole(6);
        return { of: k % 2 === 0 ? 'heavy' : 'light', room, price: room * (0.5 + random()) };
      });
      const items = Array.from({ length: 8 }, (_, k): Item => ({
        of: k % 3 === 0 ? 'light' : 'heavy',
        demand: whole(4),
        pods: whole(k % 3 === 0 ? 3 : 12),
      }));
      const problem = problemOf(offers, items, {
        caps: [{ items: Int32Array.of(0, 1), max: 2 }],
        conflicts: [[2, 3]],
        limits: [{ use: Float64Array.from(offers, ({ of, room }) => (of === 'light' ? room : 0)), remaining: 120 }],
      });
      const { alone, found } = bothOf(problem);
      if (alone.unplaced.some((left) => left > 0) || found === undefined) continue;
      expect({ seed, isLess: found.price < alone.price }).toEqual({ seed, isLess: true });
      const pods = new Int32Array(items.length);
      for (const bin of found.bins) {
        bin.items.forEach((item, k) => (pods[item] = pods[item]! + bin.pods[k]!));
        const inside = [...bin.items];
        expect({ seed, isAllowed: inside.some((item) => hasBit(problem.items.allowed[item]!, bin.offer)) }).toEqual({
          seed,
          isAllowed: true,
        });
        expect({ seed, isAllowed: inside.every((item) => hasBit(problem.items.riding![item]!, bin.offer)) }).toEqual({
          seed,
          isAllowed: true,
        });
        expect(inside.includes(2) && inside.includes(3)).toBe(false);
        const load = inside.reduce((sum, item, k) => sum + bin.pods[k]! * items[item]!.demand!, 0);
        expect(load).toBeLessThanOrEqual(offers[bin.offer]!.room);
      }
      expect({ seed, pods: [...pods] }).toEqual({ seed, pods: [...problem.items.pods] });
      const used = found.bins.reduce((sum, { offer }) => sum + problem.limits[0]!.use[offer]!, 0);
      expect(used).toBeLessThanOrEqual(120);
      expect({ seed, found: ride(problem, alone, effort) }).toEqual({ seed, found });
    }
  });
});
