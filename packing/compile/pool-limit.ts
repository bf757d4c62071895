import type { InstanceType } from '../../core/instance-type.js';
import { lookUp } from '../../core/own.js';

/** What a NodePool, or a capacity reservation, may still be given. */
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
