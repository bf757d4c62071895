import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations, labels } from '../api/labels.js';
import { hashDrifted } from '../core/drift-hash.js';
import type { HashStamp } from '../core/drift-hash.js';
import type { InstanceType, Offering } from '../core/instance-type.js';
import { admits } from '../core/launch-options.js';
import { satisfiedBy } from '../packing/requirements/requirement.js';
import { readRequirements } from '../packing/requirements/requirements.js';
import { lookUp } from '../core/own.js';

/** A type that left the catalogue counts from this age of the claim on (drift/type-not-found). */
const typeMayMissForMs = 3_600_000;

/** Why a launched claim no longer is what its pool's template asks for (drift/hashes, drift/template). */
export function templateDrift(claim: NodeClaim, pool: NodePool): 'NodePoolDrifted' | 'RequirementsDrifted' | undefined {
  if (hashDrifted(poolStamp(claim), poolStamp(pool))) return 'NodePoolDrifted';
  for (const [key, requirement] of readRequirements(pool.spec.template.spec.requirements)) {
    if (!satisfiedBy(requirement, lookUp(claim.metadata.labels, key))) return 'RequirementsDrifted';
  }
  return undefined;
}

/** The hash of the NodePool's template that stands on a claim or a pool. */
export function poolStamp({ metadata }: Pick<NodeClaim | NodePool, 'metadata'>): HashStamp {
  const own = metadata.annotations;
  return { hash: own?.[annotations.nodePoolHash], version: own?.[annotations.nodePoolHashVersion] };
}

/**
 * Whether the catalogue no longer has what the claim was launched as: its type, or no offering of it in the claim's zone
 * and capacity type, be it out of capacity or not. Young claims pass; a reserved one may be had on demand as
 * well (drift/type-not-found).
 */
export function typeDrift(
  claim: NodeClaim,
  catalogue: readonly InstanceType[],
  now: number,
): 'InstanceTypeNotFound' | undefined {
  if (now - Date.parse(claim.metadata.creationTimestamp ?? '') <= typeMayMissForMs) return undefined;
  const own = claim.metadata.labels ?? {};
  const name = own[labels.instanceType];
  if (name === undefined) return undefined;
  const type = catalogue.find((one) => one.name === name);
  return type?.offerings.some((offering) => isLaunchedAs(offering, own)) === true ? undefined : 'InstanceTypeNotFound';
}

function isLaunchedAs({ requirements }: Offering, own: Readonly<Record<string, string>>): boolean {
  return requirements.every((requirement) => {
    const { key } = requirement;
    const value = lookUp(own, key);
    if (key !== labels.zone && key !== labels.capacityType) return true;
    const reserved = key === labels.capacityType && value === 'reserved';
    return value === undefined || admits(requirement, value) || (reserved && admits(requirement, 'on-demand'));
  });
}
