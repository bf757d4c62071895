import type { FleetNode } from './fleet.js';

const isSpot = ({ capacityType }: { readonly capacityType: string }): boolean => capacityType === 'spot';

/**
 * Whether some of the nodes are not spot. Nodes that are all spot are replaced by spot only if configured
 * (consolidation/spot-beside-on-demand).
 */
export const hasOnDemand = (nodes: readonly FleetNode[]): boolean => !nodes.every(isSpot);
