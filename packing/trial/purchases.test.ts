import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { instanceType, packingInput, pod, podsOf } from '../../test/builders/packing-fixtures.js';
import { placingOf } from '../../test/builders/placing.js';
import { apart } from '../../test/builders/topology.js';
import type { PoolLimit } from '../compile/pool-limits.js';
import type { Part } from '../place/part.js';
import { Purchases } from './purchases.js';

const types = [2, 4, 8].map((cpu) => instanceType(`m${cpu}`, { cpu, price: cpu / 10, spot: 0, zones: ['zone-a'] }));
const search = { units: 100 };

/** Purchases of a pass with these pods, and parts of some of them. */
function world() {
  const web = podsOf(4, 'web', { labels: { app: 'web' } });
  const shy = podsOf(2, 'shy', { labels: { app: 'shy' }, ...apart('shy', labels.hostname) });
  const large = pod('large', { cpu: '3' });
  const { compiled, book, feasibility, assigner, targetOf } = placingOf(
    packingInput({ pods: [...web, ...shy, large] }, { types }),
  );
  const partOf = (...pods: typeof web): Part => {
    const parts: Part[] = [];
    assigner.place(targetOf(pods[0]!), pods, parts);
    return parts[0]!;
  };
  const purchases = new Purchases(compiled, book);
  const bought = (
    parts: readonly Part[],
    limits: readonly PoolLimit[] = [],
    how: Parameters<Purchases['buy']>[2] = search,
    dearest?: number,
  ) => {
    const { claims, isShort } = purchases.buy(parts, limits, how, dearest);
    if (isShort) return undefined;
    return claims
      .map(
        ({ row, members }) =>
          `${compiled.universe.rows[row]!.type.name} ${members.reduce((sum, { pods }) => sum + pods.length, 0)}`,
      )
      .sort();
  };
  return {
    bought,
    web: partOf(...web),
    two: partOf(...web.slice(0, 2)),
    shy: partOf(...shy),
    large: partOf(large),
    feasibility,
  };
}
const nodes = (remaining: number): PoolLimit => ({ pool: 'default', resource: 'nodes', remaining });

describe('repeated purchases are computed anew for', () => {
  test('other parts', () => {
    const { bought, web, two, shy, large } = world();
    expect(bought([web])).toEqual(['m4 4']);
    expect(bought([two])).toEqual(['m2 2']);
    expect(bought([shy])).toEqual(['m2 1', 'm2 1']);
    expect(bought([large])).toEqual(['m4 1']);
    expect(bought([{ ...two, count: 1 }])).toEqual(['m2 1']);
    expect(bought([web, large])?.join()).not.toBe('m4 4');
    expect(bought([web])).toEqual(['m4 4']);
    expect(bought([])).toEqual([]);
  });

  test('other profiles', () => {
    const { bought, web, feasibility } = world();
    expect(bought([web])).toEqual(['m4 4']);
    expect(bought([{ ...web, profiles: feasibility.intern([]) }])).toBeUndefined();
  });

  test('other limits', () => {
    const { bought, shy } = world();
    expect(bought([shy], [nodes(2)])).toHaveLength(2);
    expect(bought([shy], [nodes(1)])).toBeUndefined();
    expect(bought([shy], [nodes(2)])).toHaveLength(2);
  });

  test('another highest price of a node', () => {
    const { bought, web } = world();
    expect(bought([web], [], search, 0.25)).toEqual(['m2 2', 'm2 2']);
    expect(bought([web], [], search)).toEqual(['m4 4']);
    expect(bought([web], [], search, 0.1)).toBeUndefined();
  });

  test('parts of which some pods have no node, with undefined', () => {
    const { bought, web, large } = world();
    expect(bought([web, large], [nodes(1)], search, 0.45)).toBeUndefined();
  });
});
