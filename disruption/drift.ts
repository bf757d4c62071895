import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations, labels } from '../api/labels.js';
import type { InstanceType } from '../core/instance-type.js';
import { satisfiedBy } from '../packing/requirements/requirement.js';
import { readRequirements } from '../packing/requirements/requirements.js';

export type PoolDrift = 'NodePoolDrifted' | 'RequirementsDrifted' | 'InstanceTypeNotFound';

/** A type that left the catalogue counts from this age of the claim on (section 4.6). */
const typeMayMissForMs = 3_600_000;

/** Why a launched claim no longer is what its pool asks for (section 4.6), cloud reasons aside. */
export function poolDrift(
  claim: NodeClaim,
  pool: NodePool,
  catalogue: readonly InstanceType[] | undefined,
  now: number,
): PoolDrift | undefined {
  if (hashDiffers(claim, pool)) return 'NodePoolDrifted';
  const wanted = readRequirements(pool.spec.template.spec.requirements);
  for (const [key, requirement] of wanted) {
    if (!satisfiedBy(requirement, claim.metadata.labels?.[key])) return 'RequirementsDrifted';
  }
  const age = now - Date.parse(claim.metadata.creationTimestamp ?? '');
  if (catalogue !== undefined && age > typeMayMissForMs && !isOffered(claim, catalogue)) return 'InstanceTypeNotFound';
  return undefined;
}

/** Hashes count only when both are there and of one version. */
function hashDiffers(claim: NodeClaim, pool: NodePool): boolean {
  const own = claim.metadata.annotations;
  const wanted = pool.metadata.annotations;
  const hash = own?.[annotations.nodePoolHash];
  const wantedHash = wanted?.[annotations.nodePoolHash];
  if (hash === undefined || wantedHash === undefined) return false;
  return own?.[annotations.nodePoolHashVersion] === wanted?.[annotations.nodePoolHashVersion] && hash !== wantedHash;
}

function isOffered(claim: NodeClaim, catalogue: readonly InstanceType[]): boolean {
  const name = claim.metadata.labels?.[labels.instanceType];
  return name === undefined || catalogue.some((type) => type.name === name && type.offerings.length > 0);
}
