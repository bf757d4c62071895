import type { NodeOverlay } from '../api/karpenter/node-overlay.js';
import { nodeOverlayIssues } from '../api/karpenter/node-overlay-rules.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { InstanceType } from '../core/instance-type.js';
import { overlaidCatalogues } from '../packing/compile/stores.js';
import type { ClusterDeps } from './deps.js';

type Catalogues = ReadonlyMap<string, readonly InstanceType[]>;

/** The NodeOverlays in effect (node-overlays/in-effect): none with the gate off, and none that is invalid. */
export function overlaysInEffect({ cache, gates }: Pick<ClusterDeps, 'cache' | 'gates'>): readonly NodeOverlay[] {
  if (!gates.NodeOverlay) return [];
  return cache.all('NodeOverlay').filter((overlay) => nodeOverlayIssues(overlay).every(isWarning));
}

/** The pools' catalogues as packing sees them, with overlays and what users pay for a node. The same maps for the same of these. */
export function overlaid(
  deps: Pick<ClusterDeps, 'cache' | 'gates'>,
  pools: readonly NodePool[],
  catalogues: Catalogues,
): Catalogues {
  return overlaidCatalogues(pools, catalogues, overlaysInEffect(deps), deps.cache.all('DisruptionPolicy'));
}

const isWarning = ({ severity }: { severity: string }): boolean => severity === 'warning';
