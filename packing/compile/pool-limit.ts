import type { InstanceType } from '../../core/instance-type.js';
import type { Row } from './universe.js';
import { lookUp } from '../../core/own.js';

/** What a NodePool may still be given, or what is left of a capacity reservation or a commitment. */
export interface PoolLimit {
  readonly pool?: string;
  readonly reservation?: string;
  /** Resource name; `nodes` counts nodes. */
  readonly resource: string;
  remaining: number;
}

/** What one node of a type in the limited pool uses. */
export function typeUse({ resource }: PoolLimit, type: InstanceType): number {
  return resource === 'nodes' ? 1 : (lookUp(type.capacity, resource) ?? 0);
}

/** What one node of a row uses of a limit. */
export function rowUse({ type, profile, offering }: Row, limit: PoolLimit): number {
  if (limit.reservation === undefined) return profile.pool.name === limit.pool ? typeUse(limit, type) : 0;
  return profile.reservation === limit.reservation ? (offering.commitment?.use ?? 1) : 0;
}
