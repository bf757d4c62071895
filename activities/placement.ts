import type { PackingInput, PlannedClaim } from '../packing/types.js';
import { placesOf } from '../packing/places.js';
import type { Place } from '../packing/places.js';
import type { ActivityDeps } from './deps.js';

interface Placement {
  /** The places of all pods that were asked about and have no node. */
  readonly places: ReadonlyMap<string, Place>;
  /** Claims that would be launched, for other pods too. */
  readonly claims: readonly PlannedClaim[];
}

/**
 * Where pods (`namespace/name`) would be placed, together with all others that have no node. Each pod has an answer,
 * which may be `deferred`. Only `provision` reads plans directly, because only it has a next pass for the pods that a
 * plan defers.
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
