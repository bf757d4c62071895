import type { Launch } from '../../packing/trial.js';
import type { FleetNode } from './fleet.js';

const isSpot = ({ capacityType }: { readonly capacityType: string }): boolean => capacityType === 'spot';

/**
 * Whether some of the nodes are not spot. Nodes that are all spot are replaced by spot only if configured
 * (consolidation/spot-beside-on-demand).
 */
export const hasOnDemand = (nodes: readonly FleetNode[]): boolean => !nodes.every(isSpot);

/**
 * The group without on-demand nodes that later commands need: if all other waiting nodes are spot and some launches are spot,
 * each later command needs an on-demand node.
 */
export function keepingOnDemand(
  group: readonly FleetNode[],
  waiting: readonly FleetNode[],
  launches: readonly Launch[],
): readonly FleetNode[] {
  const own = new Set(group);
  const rest = waiting.filter((node) => !own.has(node));
  if (rest.length === 0 || hasOnDemand(rest) || !launches.some(isSpot)) return group;
  const onDemand = group.filter((node) => !isSpot(node));
  const spared = Math.min(onDemand.length - 1, Math.ceil(rest.length / group.length));
  if (spared <= 0) return group;
  const kept = new Set(onDemand.slice(-spared));
  return group.filter((node) => !kept.has(node));
}
