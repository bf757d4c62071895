import type { PoolRow, StatusReport } from '../status-rows.js';
import { hourly, renderTable } from './table.js';

/** NodePools with what they cost and the least that they could cost; all together where there are several. */
export function poolTable({
  pools,
  leastPossiblePerHour,
}: Pick<StatusReport, 'pools' | 'leastPossiblePerHour'>): string {
  const rows = pools.map((pool) => [
    ...[pool.nodePool, pool.ready, pool.nodes, ...priceCells(pool)],
    ...[pool.limits.join(', '), pool.message],
  ]);
  return renderTable(
    ['NODEPOOL', 'READY', 'NODES', 'PRICE PER HOUR', 'LOWER BOUND', 'LIMITS', 'MESSAGE'],
    pools.length < 2 ? rows : [...rows, totalOf(pools, leastPossiblePerHour)],
  );
}

/** Pods may go to a cheaper NodePool: what all cost at least is not the sum of what each does. */
function totalOf(pools: readonly PoolRow[], least: number | undefined): (string | number)[] {
  const nodes = pools.reduce((sum, pool) => sum + pool.nodes, 0);
  const known = pools.every(({ pricePerHour }) => pricePerHour !== undefined);
  const price = known ? { pricePerHour: pools.reduce((sum, pool) => sum + (pool.pricePerHour ?? 0), 0) } : {};
  const bound = least === undefined ? {} : { leastPossiblePerHour: least };
  return ['all', '', nodes, ...priceCells({ ...price, ...bound }), '', ''];
}

type Price = Pick<PoolRow, 'pricePerHour' | 'leastPossiblePerHour'>;

function priceCells({ pricePerHour: price, leastPossiblePerHour: least }: Price): string[] {
  if (price === undefined) return ['', ''];
  if (least === undefined) return [hourly(price), ''];
  const above = least > 0 ? ` (+${Math.round((price / least - 1) * 100)}%)` : '';
  return [hourly(price), `${hourly(least)}${above}`];
}
