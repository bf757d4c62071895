import type { Launch } from '../../packing/trial.js';
import type { FleetNode } from './fleet.js';

const isSpot = ({ capacityType }: { readonly capacityType: string }): boolean => capacityType === 'spot';

/** Whether nodes go that are not spot. Spot is launched for spot alone only where that is asked for (consolidation/spot-beside-on-demand). */
export const hasOnDemand = (nodes: readonly FleetNode[]): boolean => !nodes.every(isSpot);

/**
 * The group without nodes on demand that are better kept for later commands: where all others that wait are spot and some of
 * what is launched is, each of these commands needs one in its group.
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
