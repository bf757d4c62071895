import type { PackingInput, PlannedClaim } from '../packing/types.js';
import { placesOf } from '../packing/places.js';
import type { Place } from '../packing/places.js';
import type { ActivityDeps } from './deps.js';

interface Placement {
  /** Of every pod that was asked about and lacks a node. */
  readonly places: ReadonlyMap<string, Place>;
  /** Claims that would be launched, for other pods too. */
  readonly claims: readonly PlannedClaim[];
}

/**
 * Where pods (`namespace/name`) would go, beside all others that lack a node. Only `provision` reads plans by themselves: it alone has a
 * next pass for what a plan defers. What is asked here has an answer for each pod, and `deferred` is one of them.
 */
export async function placementOf(
  { packer }: Pick<ActivityDeps, 'packer'>,
  input: PackingInput,
  pods: ReadonlySet<string>,
): Promise<Placement> {
  const plan = await packer.plan({ ...input, about: pods });
  const places = [...placesOf(plan)].filter(([pod]) => pods.has(pod));
  return { places: new Map(places), claims: plan.newNodeClaims };
}
