import type { PoolRow, StatusReport } from '../status-rows.js';
import { counted, verb } from '../../core/text.js';
import { hourly, renderTable } from './table.js';

/** NodePools with their cost and its lower bound; with a total if there are several. */
export function poolTable({
  pools,
  ...least
}: Pick<StatusReport, 'pools' | 'leastPossiblePerHour' | 'leastPossibleWithout'>): string {
  const rows = pools.map((pool) => [
    ...[pool.nodePool, pool.ready, pool.nodes, ...priceCells(pool)],
    ...[pool.limits.join(', '), [pool.message, ...draining(pool)].filter((text) => text !== '').join('; ')],
  ]);
  return renderTable(
    ['NODEPOOL', 'READY', 'NODES', 'PRICE PER HOUR', 'LOWER BOUND', 'LIMITS', 'MESSAGE'],
    pools.length < 2 ? rows : [...rows, totalOf(pools, least)],
  );
}

/** Pods may move to a cheaper NodePool, so the bound for all is not the sum of those for each. */
function totalOf(pools: readonly PoolRow[], least: Omit<Price, 'pricePerHour'>): (string | number)[] {
  const nodes = pools.reduce((sum, pool) => sum + pool.nodes, 0);
  const known = pools.every(({ pricePerHour }) => pricePerHour !== undefined);
  const price = known ? { pricePerHour: pools.reduce((sum, pool) => sum + (pool.pricePerHour ?? 0), 0) } : {};
  return ['all', '', nodes, ...priceCells({ ...price, ...least }), '', ''];
}

const draining = ({ draining: count }: PoolRow): string[] =>
  count === undefined ? [] : [`${count} of the nodes ${verb(count, 'is', 'are')} draining`];

type Price = Pick<PoolRow, 'pricePerHour' | 'leastPossiblePerHour' | 'leastPossibleWithout'>;

/** The price without its distance from the bound if the bound is for other pods or another time. */
function priceCells({
  pricePerHour: price,
  leastPossiblePerHour: least,
  leastPossibleWithout: without = 0,
}: Price): string[] {
  if (price === undefined) return ['', ''];
  if (least === undefined) return [hourly(price), ''];
  if (without > 0) return [hourly(price), `${hourly(least)} (without ${counted(without, 'pod')})`];
  const above = least > 0 && price >= least ? ` (+${Math.round((price / least - 1) * 100)}%)` : '';
  return [hourly(price), `${hourly(Math.min(least, price))}${above}`];
}
