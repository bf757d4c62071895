import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { replacementsIn } from '../../disruption/static-capacity/replacements.js';
import {
  isStatic,
  staticCounts,
  staticDriftRoom,
  whyNoDriftRoom,
} from '../../disruption/static-capacity/static-capacity.js';
import type { ActivityDeps } from '../deps.js';

/** How many drifted nodes of a static NodePool may be replaced now (static-capacity/drift-room). */
export interface DriftRoom {
  readonly room: number;
  /** Why there is no room; undefined where there is. */
  readonly why: string | undefined;
}

/** Of each static NodePool, by name. `claimed`: UIDs of NodeClaims that running disruptions take. */
export function driftRooms(
  { cluster, gates }: Pick<ActivityDeps, 'cluster' | 'gates'>,
  { pools, views }: { readonly pools: readonly NodePool[]; readonly views: readonly NodeView[] },
  claimed: ReadonlySet<string>,
): ReadonlyMap<string, DriftRoom> {
  const roomOf = (pool: NodePool): DriftRoom => {
    if (!gates.StaticCapacity) return { room: 0, why: 'feature gate StaticCapacity is off' };
    const members = views.filter((view) => view.pool?.metadata.name === pool.metadata.name);
    const isReplaced = replacementsIn(
      cluster,
      members.map(({ claim }) => claim),
    );
    const counts = staticCounts(members, { deleting: new Set(), claimed, isReplaced });
    return { room: staticDriftRoom(pool, counts), why: whyNoDriftRoom(pool, counts) };
  };
  return new Map(pools.filter(isStatic).map((pool) => [pool.metadata.name ?? '', roomOf(pool)]));
}
