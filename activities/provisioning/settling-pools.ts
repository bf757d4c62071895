import type { NodePool } from '../../api/karpenter/node-pool.js';
import { conditionOf } from '../../core/conditions.js';

/** What is unknown for longer is worth an event. */
const settlingMs = 60_000;

/**
 * Whether no NodePool is ready, and of some it is not known yet, as just after they were made: pods that find no node then have not failed to be scheduled
 * (scheduling/no-ready-node-pool).
 */
export function areSettling(pools: readonly NodePool[], now: number): boolean {
  const launching = pools.filter(({ spec }) => spec.replicas === undefined);
  return !launching.some(isReady) && launching.some((pool) => isSettling(pool, now));
}

const readyOf = ({ status }: NodePool) => conditionOf(status?.conditions, 'Ready');

const isReady = (pool: NodePool): boolean => readyOf(pool)?.status === 'True';

function isSettling(pool: NodePool, now: number): boolean {
  const ready = readyOf(pool);
  if (ready !== undefined && ready.status !== 'Unknown') return false;
  const since = ready?.lastTransitionTime ?? pool.metadata.creationTimestamp ?? '';
  return now - Date.parse(since) < settlingMs;
}
