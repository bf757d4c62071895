import type { InstanceType } from '../../core/instance-type.js';
import type { Row } from './universe.js';
import { lookUp } from '../../core/own.js';

/** What a NodePool's limits leave, or what is left of a capacity reservation or commitment. */
export interface PoolLimit {
  readonly pool?: string;
  readonly reservation?: string;
  /** Resource name; `nodes` counts nodes. */
  readonly resource: string;
  remaining: number;
}

/** How much of the limit one node of a type uses. */
export function typeUse({ resource }: PoolLimit, type: InstanceType): number {
  return resource === 'nodes' ? 1 : (lookUp(type.capacity, resource) ?? 0);
}

/** How much of the limit one node of a row uses. */
export function rowUse({ type, profile, offering }: Row, limit: PoolLimit): number {
  if (limit.reservation === undefined) return profile.pool.name === limit.pool ? typeUse(limit, type) : 0;
  return profile.reservation === limit.reservation ? (offering.commitment?.use ?? 1) : 0;
}
