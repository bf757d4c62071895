import type { NodeOverlay } from '../api/karpenter/node-overlay.js';
import { nodeOverlayIssues } from '../api/karpenter/node-overlay-rules.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { InstanceType } from '../core/instance-type.js';
import { overlaidCatalogues } from '../packing/compile/stores.js';
import type { ActivityDeps } from './deps.js';

type Catalogues = ReadonlyMap<string, readonly InstanceType[]>;

/** The NodeOverlays in effect (section 1.3): none with the gate off, and none that is invalid. */
export function overlaysInEffect({ cache, gates }: Pick<ActivityDeps, 'cache' | 'gates'>): readonly NodeOverlay[] {
  if (!gates.NodeOverlay) return [];
  return cache.all('NodeOverlay').filter((overlay) => nodeOverlayIssues(overlay).every(isWarning));
}

/** The pools' catalogues as packing sees them. The same maps for the same arrays and overlays. */
export function overlaid(
  deps: Pick<ActivityDeps, 'cache' | 'gates'>,
  pools: readonly NodePool[],
  catalogues: Catalogues,
): Catalogues {
  return overlaidCatalogues(pools, catalogues, overlaysInEffect(deps));
}

const isWarning = ({ severity }: { severity: string }): boolean => severity === 'warning';
