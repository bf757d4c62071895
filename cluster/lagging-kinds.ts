import { settleAll } from '../core/at-once.js';
import type { ClusterCache, Kind } from '../kube/port.js';

/** The kinds whose cache may lack changes made before `since`, milliseconds since the epoch. */
export async function laggingKinds(
  cache: Pick<ClusterCache, 'isFresh'>,
  kinds: readonly Kind[],
  since: number,
): Promise<readonly Kind[]> {
  const fresh = await settleAll(kinds, (kind) => cache.isFresh(kind, since));
  return kinds.filter((_, index) => !fresh[index]);
}
