import type { NodeOverlay } from '../api/karpenter/node-overlay.js';
import { nodeOverlayIssues } from '../api/karpenter/node-overlay-rules.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { InstanceType } from '../core/instance-type.js';
import { overlaidIn } from '../disruption/candidates/node-prices.js';
import type { ClusterDeps } from './deps.js';

type Catalogues = ReadonlyMap<string, readonly InstanceType[]>;

/** The NodeOverlays in effect (node-overlays/in-effect): none with the gate off; invalid ones are left out. */
export function overlaysInEffect({ cache, gates }: Pick<ClusterDeps, 'cache' | 'gates'>): readonly NodeOverlay[] {
  if (!gates.NodeOverlay) return [];
  return cache.all('NodeOverlay').filter(isInEffect);
}

/** An overlay whose check fails has no effect. */
function isInEffect(overlay: NodeOverlay): boolean {
  try {
    return nodeOverlayIssues(overlay).every(isWarning);
  } catch {
    return false;
  }
}

/** The pools' catalogues with overlays and node costs applied. Returns the same maps for the same inputs. */
export function withOverlays(
  deps: Pick<ClusterDeps, 'cache' | 'gates'>,
  pools: readonly NodePool[],
  catalogues: Catalogues,
): Catalogues {
  const nodeOverlays = overlaysInEffect(deps);
  const disruptionPolicies = deps.cache.all('DisruptionPolicy');
  return overlaidIn({ objects: { pods: [], nodePools: pools, nodeOverlays, disruptionPolicies }, catalogues })
    .catalogues;
}

const isWarning = ({ severity }: { severity: string }): boolean => severity === 'warning';
