import type { Plan, PlannedClaim, Unschedulable } from './types.js';

/** The outcome of a plan for one pod. */
export type Place =
  | { readonly state: 'existing'; readonly node: string }
  | { readonly state: 'launched'; readonly claim: PlannedClaim }
  | { readonly state: 'unschedulable'; readonly unschedulable: Unschedulable }
  /** The pass reached its limit of work before this pod: its outcome is unknown. */
  | { readonly state: 'deferred' }
  /** It asks for a node outside of NodePools. */
  | { readonly state: 'ignored' };

/** By pod (`namespace/name`). Pods that do not need a node are absent. */
export function placesOf(plan: Plan): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>();
  const { existingNodes, newNodeClaims, unschedulable, deferred = [], ignored = [] } = plan;
  for (const { node, pods } of existingNodes) for (const pod of pods) places.set(pod, { state: 'existing', node });
  for (const claim of newNodeClaims) for (const pod of claim.pods) places.set(pod, { state: 'launched', claim });
  for (const each of unschedulable) places.set(each.pod, { state: 'unschedulable', unschedulable: each });
  for (const pod of deferred) places.set(pod, { state: 'deferred' });
  for (const pod of ignored) places.set(pod, { state: 'ignored' });
  return places;
}

/** Why the pod has no node in the plan; undefined if it has one. */
export function whyNoPlace(place: Place): string | undefined {
  switch (place.state) {
    case 'existing':
    case 'launched':
      return undefined;
    case 'unschedulable':
      return place.unschedulable.reason;
    case 'deferred':
      return 'planning has not reached it: it, or what it would be planned with, has more terms than one pass evaluates';
    case 'ignored':
      return 'it asks for a node that belongs to no NodePool, in all its alternatives';
  }
}
