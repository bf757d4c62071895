import { describe, expect, jest, test } from '@jest/globals';
import { annotations, labels } from '../../api/labels.js';
import type { Launches, Way } from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';
import {
  type CandidateOffering,
  LaunchOptions,
  spotToSpotIsOff,
  typesOfSpotToSpot,
  whyNoSpotToSpot,
} from './launch-options.js';

const noneCheaper = 'no instance type is certain to be cheaper, whichever offering the launch gets';
const tooFewValues = 'the cheaper instance types are fewer than minValues of its NodePool asks for';

/** Ways of each type as `zone/capacity type price`. */
type Market = Readonly<Record<string, readonly string[]>>;
const waysIn = (market: Market, type: string): Way[] =>
  (market[type] ?? []).map((text) => {
    const [where, price] = text.split(' ');
    const [zone, capacityType] = where!.split('/');
    return { zone: zone!, capacityType: capacityType!, price: Number(price) };
  });
const launchesOf = (market: Market, missMinValues: Launches['missMinValues'] = () => false): Launches =>
  ({
    offers: (kind: string) =>
      Object.keys(market).some((type) => waysIn(market, type).some(({ capacityType }) => capacityType === kind)),
    missMinValues,
    waysUnder: () => (type: string) => waysIn(market, type),
  }) as unknown as Launches;

/** A claim of these types; open to spot and on-demand unless `kinds` are given. */
const claim = (
  instanceTypes: readonly string[],
  kinds?: readonly string[],
  more: Partial<PlannedClaim> = {},
): PlannedClaim =>
  ({
    nodePool: 'default',
    requirements: [
      ...(kinds === undefined ? [] : [{ key: labels.capacityType, operator: 'In', values: kinds }]),
      { key: labels.zone, operator: 'Exists' },
    ],
    annotations: {},
    instanceTypes,
    cheapest: {},
    ...more,
  }) as unknown as PlannedClaim;
const onDemand = ['on-demand'];
const going = (price: number, instanceType = 'old', capacityType = 'on-demand'): CandidateOffering => ({
  instanceType,
  capacityType,
  price,
});

/** The types of each claim, or why there is none. */
function decided(
  market: Market,
  claims: readonly PlannedClaim[],
  candidates: readonly CandidateOffering[],
  {
    spotToSpot = false,
    accompanied = false,
    missMinValues,
  }: { spotToSpot?: boolean; accompanied?: boolean; missMinValues?: Launches['missMinValues'] } = {},
): (readonly string[])[] | string {
  const options = new LaunchOptions(launchesOf(market, missMinValues), spotToSpot);
  const chosen = options.decide(claims, candidates, accompanied);
  const why = options.whyNone(claims, candidates, accompanied);
  expect(chosen === undefined).toBe(why !== undefined);
  return why ?? chosen!.map(({ instanceTypes }) => instanceTypes);
}

test('launch options are computed once for claims with equal requirements', () => {
  const waysOf = jest.fn((type: string): Way[] => [
    { zone: 'a', capacityType: 'spot', price: type === 'small' ? 0.1 : 0.2 },
  ]);
  const launches = { offers: () => false, missMinValues: () => false, waysUnder: () => waysOf } as unknown as Launches;
  const options = new LaunchOptions(launches, false);
  const open = (...instanceTypes: string[]) => claim(instanceTypes, undefined, { requirements: [] });
  const candidates = [{ instanceType: 'huge', capacityType: 'on-demand', price: 0.9 }];
  const cheapest = (claims: PlannedClaim[]): (string | undefined)[] =>
    (options.decide(claims, candidates) ?? []).map((planned) => planned.cheapest.instanceType);
  expect(cheapest([open('large', 'small'), open('large')])).toEqual(['small', 'large']);
  expect(cheapest([open('small')])).toEqual(['small']);
  expect(waysOf).toHaveBeenCalledTimes(2);
  expect(cheapest([claim(['small'], ['spot'])])).toEqual(['small']);
  expect(waysOf).toHaveBeenCalledTimes(3);
});

test('launch options say whether any spot is offered', () => {
  expect(new LaunchOptions(launchesOf({ m: ['a/spot 1'] }), false).offersSpot).toBe(true);
  expect(new LaunchOptions(launchesOf({ m: ['a/on-demand 1'] }), false).offersSpot).toBe(false);
});

describe('the types of a replacement', () => {
  test('are those whose dearest offering is cheaper than the candidates (consolidation/no-dearer-launch)', () => {
    const market = {
      cheap: ['a/on-demand 1'],
      uneven: ['a/on-demand 1', 'b/on-demand 3'],
      equal: ['a/on-demand 2'],
      dear: ['a/on-demand 4'],
    };
    expect(decided(market, [claim(['dear', 'equal', 'uneven', 'cheap'], onDemand)], [going(2)])).toEqual([['cheap']]);
    expect(decided(market, [claim(['dear', 'equal', 'uneven', 'cheap'], onDemand)], [going(3.5)])).toEqual([
      ['cheap', 'uneven', 'equal'],
    ]);
  });

  test('exclude types without an available offering', () => {
    expect(decided({ m: ['a/on-demand 1'] }, [claim(['gone', 'm'], onDemand)], [going(2)])).toEqual([['m']]);
    expect(decided({ m: [] }, [claim(['m'], onDemand)], [going(2)])).toBe(noneCheaper);
  });

  test('are none where nothing is cheaper', () => {
    expect(decided({ m: ['a/on-demand 2'] }, [claim(['m'], onDemand)], [going(2)])).toBe(noneCheaper);
    expect(decided({ m: ['a/on-demand 1.9'] }, [claim(['m'], onDemand)], [going(2)])).toEqual([['m']]);
  });

  test('are sorted by price, then by name, and the cheapest has its zone', () => {
    const market = {
      b: ['z/on-demand 1', 'y/on-demand 1', 'x/on-demand 1.5'],
      a: ['a/on-demand 1'],
      c: ['a/on-demand 0.5'],
    };
    const [planned] = new LaunchOptions(launchesOf(market), false).decide(
      [claim(['b', 'a', 'c'], onDemand)],
      [going(2)],
    )!;
    expect(planned!.instanceTypes).toEqual(['c', 'a', 'b']);
    expect(planned!.cheapest).toEqual({ instanceType: 'c', zone: 'a', capacityType: 'on-demand', pricePerHour: 0.5 });
    const [alone] = new LaunchOptions(launchesOf(market), false).decide([claim(['b'], onDemand)], [going(2)])!;
    expect(alone!.cheapest).toEqual({ instanceType: 'b', zone: 'y', capacityType: 'on-demand', pricePerHour: 1 });
  });

  test('have the cheapest offering, in the first zone among equals', () => {
    const zoneOf = (...ways: string[]) =>
      new LaunchOptions(launchesOf({ m: ways }), false).decide([claim(['m'], onDemand)], [going(9)])![0]!.cheapest.zone;
    expect(zoneOf('y/on-demand 1', 'z/on-demand 1')).toBe('y');
    expect(zoneOf('z/on-demand 1', 'y/on-demand 1')).toBe('y');
    expect(zoneOf('y/on-demand 2', 'z/on-demand 1')).toBe('z');
    expect(zoneOf('z/on-demand 1', 'y/on-demand 2')).toBe('z');
  });

  test('are those that NodePool, requirements and commitment allow', () => {
    const waysUnder = jest.fn<Launches['waysUnder']>(() => () => waysIn({ m: ['a/on-demand 1'] }, 'm'));
    const own = claim(['m'], onDemand);
    new LaunchOptions(
      { offers: () => false, missMinValues: () => false, waysUnder } as unknown as Launches,
      false,
    ).decide([own], [going(2)]);
    const { nodePool, requirements, cheapest } = own;
    expect(waysUnder).toHaveBeenCalledWith({ nodePool, requirements, cheapest });
  });

  test('are covered by the commitment that was planned', () => {
    const committed = claim(['m'], onDemand, { cheapest: { commitment: 'c' } as PlannedClaim['cheapest'] });
    const [planned] = new LaunchOptions(launchesOf({ m: ['a/on-demand 1'] }), false).decide([committed], [going(2)])!;
    expect(planned!.cheapest.commitment).toBe('c');
  });

  test('are compared by the capacity type that is launched first: reserved, spot, on-demand, others', () => {
    const worst = (ways: readonly string[], price: number) =>
      decided({ m: ways }, [claim(['m'], ['reserved', 'on-demand', 'other'])], [going(price)]) === noneCheaper;
    expect(worst(['a/on-demand 9', 'a/reserved 1'], 2)).toBe(false);
    expect(worst(['a/reserved 1', 'a/on-demand 9'], 2)).toBe(false);
    expect(worst(['a/reserved 1', 'b/reserved 3'], 2)).toBe(true);
    expect(worst(['b/reserved 3', 'a/reserved 1'], 2)).toBe(true);
    expect(worst(['a/other 9', 'a/on-demand 1'], 2)).toBe(false);
    expect(worst(['a/on-demand 1', 'a/other 9'], 2)).toBe(false);
  });
});

describe('several replacements of a command', () => {
  const market = { a: ['z/on-demand 1'], b: ['z/on-demand 2'], c: ['z/on-demand 3'], d: ['z/on-demand 4'] };

  test('share the saving by their lowest prices, so that together they cannot exceed it', () => {
    const claims = [claim(['a', 'b', 'c'], onDemand), claim(['b', 'c', 'd'], onDemand)];
    // 6 for 1 and 2 at least: up to 2 and 4.
    expect(decided(market, claims, [going(6)])).toEqual([['a'], ['b', 'c']]);
    expect(decided(market, claims, [going(3)])).toBe(noneCheaper);
    expect(decided(market, claims, [going(2), going(1.1)])).toEqual([['a'], ['b']]);
  });

  test('are refused where one has no type', () => {
    expect(decided(market, [claim(['a'], onDemand), claim(['none'], onDemand)], [going(9)])).toBe(noneCheaper);
  });
});

describe('types that replace several nodes (consolidation/same-type)', () => {
  const market = { a: ['z/on-demand 1'], b: ['z/on-demand 2'], c: ['z/on-demand 3'] };
  const types = [claim(['a', 'b', 'c'], onDemand)];

  test('are only those cheaper than candidates of the same type', () => {
    expect(decided(market, types, [going(2, 'b'), going(3, 'c')])).toEqual([['a']]);
    expect(decided(market, types, [going(2, 'x'), going(3, 'c')])).toEqual([['a', 'b']]);
    expect(decided(market, types, [going(2, 'x'), going(3, 'y')])).toEqual([['a', 'b', 'c']]);
    expect(decided(market, types, [going(2.5, 'b'), going(2.2, 'b')])).toEqual([['a', 'b']]);
    expect(decided(market, types, [going(1, 'a'), going(9, 'y')])).toBe(noneCheaper);
  });

  test('may include the type of a single candidate', () => {
    expect(decided(market, types, [going(2.5, 'b')])).toEqual([['a', 'b']]);
  });
});

describe('minValues of a replacement (min-values/at-replacement)', () => {
  test('not met by the cheaper types refuse it', () => {
    const market = { a: ['z/on-demand 1'], b: ['z/on-demand 2'], c: ['z/on-demand 9'] };
    const missMinValues = jest.fn<Launches['missMinValues']>((_, __, names) => names.length < 3);
    expect(decided(market, [claim(['a', 'b', 'c'], onDemand)], [going(3)], { missMinValues })).toBe(tooFewValues);
    expect(missMinValues.mock.calls[0]!.slice(1)).toEqual([false, ['a', 'b']]);
    const relaxed = claim(['a'], onDemand, { annotations: { [annotations.minValuesRelaxed]: 'true' } });
    decided(market, [relaxed], [going(3)], { missMinValues });
    expect(missMinValues.mock.lastCall!.slice(1)).toEqual([true, ['a']]);
  });
});

describe('capacity type of a replacement', () => {
  const market = { m: ['a/spot 1', 'b/spot 1.5', 'a/on-demand 4'], n: ['a/on-demand 2'] };

  test('is spot alone where the claim allows both', () => {
    const options = new LaunchOptions(launchesOf(market), false);
    const [open] = options.decide([claim(['m', 'n'], ['on-demand', 'spot', 'reserved'])], [going(5)])!;
    expect(open!.instanceTypes).toEqual(['m']);
    expect(open!.requirements).toEqual([
      { key: labels.capacityType, operator: 'In', values: ['reserved', 'spot'] },
      { key: labels.zone, operator: 'Exists' },
    ]);
    const [some] = options.decide([claim(['m', 'n'], ['on-demand', 'spot'])], [going(5)])!;
    expect(some!.requirements[0]).toEqual({ key: labels.capacityType, operator: 'In', values: ['spot'] });
    const [any] = options.decide([claim(['m', 'n'])], [going(5)])!;
    expect(any!.requirements[0]).toEqual({ key: labels.capacityType, operator: 'In', values: ['reserved', 'spot'] });
  });

  test.each([[['spot']], [['on-demand']]])('of a claim with %s alone is unchanged', (kinds) => {
    const asked = claim(['m'], kinds);
    const [planned] = new LaunchOptions(launchesOf(market), false).decide([asked], [going(5)])!;
    expect(planned!.requirements).toEqual(asked.requirements);
  });

  test('spot for spot candidates alone is refused, unless the gate is on or other candidates go with them (consolidation/spot-to-spot)', () => {
    const claims = [claim(['m'], ['spot'])];
    const both = [going(5, 'old', 'spot'), going(5, 'old', 'spot')];
    const options = new LaunchOptions(launchesOf(market), false);
    expect(options.decide(claims, both)).toBeUndefined();
    expect(options.whyNone(claims, both)).toBe(spotToSpotIsOff);
    expect(decided(market, claims, both)).toBe(spotToSpotIsOff);
    expect(decided(market, claims, [going(5, 'old', 'spot'), going(5)])).toEqual([['m']]);
    expect(decided(market, claims, both, { accompanied: true })).toEqual([['m']]);
    expect(decided(market, claims, both, { spotToSpot: true })).toEqual([['m']]);
    expect(decided(market, [claim(['n'], onDemand)], both)).toEqual([['n']]);
  });
});

describe('a single spot candidate (consolidation/spot-to-spot)', () => {
  const names = Array.from({ length: 20 }, (_, i) => `t${String(i).padStart(2, '0')}`);
  const market = Object.fromEntries(names.map((name, i) => [name, [`a/spot ${1 + i / 100}`]]));
  const node = [going(5, 'old', 'spot')];
  const on = { spotToSpot: true };

  test('is replaced by the fifteen cheapest types, or as many as minValues requires', () => {
    expect(decided(market, [claim(names, ['spot'])], node, on)).toEqual([names.slice(0, 15)]);
    const missMinValues: Launches['missMinValues'] = (_, __, listed) => listed.length < 18;
    expect(decided(market, [claim(names, ['spot'])], node, { ...on, missMinValues })).toEqual([names.slice(0, 18)]);
  });

  test('is not replaced where fewer types are cheaper', () => {
    expect(decided(market, [claim(names.slice(6), ['spot'])], node, on)).toMatch(/there are 14$/);
    expect(decided(market, [claim(names, ['spot']), claim(names.slice(6), ['spot'])], node, on)).toMatch(
      /there are 14$/,
    );
  });

  test('is replaced by any number of on-demand types, together with others, or if it is not spot', () => {
    const fixed = Object.fromEntries(names.map((name) => [name, ['a/on-demand 1']]));
    expect(decided(fixed, [claim(names, onDemand)], node, on)).toEqual([names]);
    expect(decided(market, [claim(names, ['spot'])], [...node, going(5, 'old', 'spot')], on)).toEqual([names]);
    expect(decided(market, [claim(names, ['spot'])], [going(5)], on)).toEqual([names]);
  });
});

test('a spot node is replaced by spot of at least fifteen types (consolidation/spot-to-spot)', () => {
  expect(whyNoSpotToSpot(15)).toBeUndefined();
  expect(whyNoSpotToSpot(14)).toBe(
    'a spot node is replaced by spot only if at least 15 cheaper instance types can be used, and there are 14',
  );
  expect(whyNoSpotToSpot(1)).toMatch(/there is 1$/);
});

test.each([
  { available: 60, least: 0, types: 15 },
  { available: 60, least: 18, types: 18 },
  { available: 16, least: 18, types: 16 },
  { available: 15, least: 18, types: 15 },
])('with $available types, as many as minValues needs: $least', ({ available, least, types }) => {
  expect(typesOfSpotToSpot(available, (count) => count < least)).toBe(types);
});
