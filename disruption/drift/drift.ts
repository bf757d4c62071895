import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations, labels } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import { hashDrifted, migratedStamp } from '../../core/drift-hash.js';
import type { HashStamp } from '../../core/drift-hash.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { admits } from '../../core/launch-options.js';
import { satisfiedBy } from '../../packing/requirements/requirement.js';
import { readNodeRequirements } from '../../packing/requirements/requirements.js';
import { lookUp } from '../../core/own.js';

/** A type missing in the catalogue counts as drift from this age of the claim on (drift/type-not-found). */
const typeMayMissForMs = 3_600_000;

/** What a claim is compared with, evaluated in this order until the first reason. */
interface DriftSources {
  readonly pool: NodePool;
  /** The catalogue of the pool; undefined if it cannot be read, or need not be checked again yet. */
  readonly catalogue: () => Promise<readonly InstanceType[] | undefined>;
  readonly provider: () => Promise<string | undefined>;
}

/** Whether drift is evaluated (drift/when-it-is-detected): only for launched claims that are not being deleted. */
export function mayDrift({ metadata, status }: NodeClaim): boolean {
  return metadata.deletionTimestamp === undefined && isTrue(status?.conditions, 'Launched');
}

/** Why the claim has drifted, with Karpenter's reasons. */
export async function driftOf(claim: NodeClaim, sources: DriftSources, now: number): Promise<string | undefined> {
  const byTemplate = templateDrift(claim, sources.pool);
  if (byTemplate !== undefined) return byTemplate;
  const catalogue = await sources.catalogue();
  const byType = catalogue === undefined ? undefined : typeDrift(claim, catalogue, now);
  return byType ?? sources.provider();
}

/** Why a launched claim no longer matches its pool's template (drift/hashes, drift/template). */
export function templateDrift(claim: NodeClaim, pool: NodePool): 'NodePoolDrifted' | 'RequirementsDrifted' | undefined {
  if (hashDrifted(poolStamp(claim), poolStamp(pool))) return 'NodePoolDrifted';
  for (const [key, requirement] of readNodeRequirements(pool.spec.template.spec.requirements)) {
    if (!satisfiedBy(requirement, lookUp(claim.metadata.labels, key))) return 'RequirementsDrifted';
  }
  return undefined;
}

/** The hash of the NodePool's template on a claim or a pool. */
export function poolStamp({ metadata }: Pick<NodeClaim | NodePool, 'metadata'>): HashStamp {
  const own = metadata.annotations;
  return { hash: own?.[annotations.nodePoolHash], version: own?.[annotations.nodePoolHashVersion] };
}

const stamps = [
  { hash: annotations.nodePoolHash, version: annotations.nodePoolHashVersion },
  { hash: annotations.ec2NodeClassHash, version: annotations.ec2NodeClassHashVersion },
] as const;

/** The annotations with the hashes. */
export const hashAnnotations: readonly string[] = stamps.flatMap(({ hash, version }) => [hash, version]);

/**
 * The annotations to write on a claim whose hashes have another version, which is not drift (node-pools/hash-version).
 */
export function migratedHashes(
  claim: NodeClaim,
  { pool, nodeClass }: { readonly pool: NodePool; readonly nodeClass: Pick<NodePool, 'metadata'> },
): Readonly<Record<string, string>> {
  const drifted = isTrue(claim.status?.conditions, 'Drifted');
  const written: Record<string, string> = {};
  for (const [index, { hash, version }] of stamps.entries()) {
    const stampOf = ({ metadata }: Pick<NodePool, 'metadata'>): HashStamp => ({
      hash: metadata.annotations?.[hash],
      version: metadata.annotations?.[version],
    });
    const current = stampOf(index === 0 ? pool : nodeClass);
    if (current.hash === undefined || current.version === undefined) continue;
    const stamp = migratedStamp(stampOf(claim), current, drifted);
    if (stamp?.version !== undefined) written[version] = stamp.version;
    if (stamp?.hash !== undefined) written[hash] = stamp.hash;
  }
  return written;
}

/**
 * Whether the catalogue no longer has the type of the claim, or no offering of it in the claim's zone and capacity
 * type, available or not. A claim without the label of its type has none. Young claims never count; for a reserved one
 * an on-demand offering suffices (drift/type-not-found).
 */
function typeDrift(
  claim: NodeClaim,
  catalogue: readonly InstanceType[],
  now: number,
): 'InstanceTypeNotFound' | undefined {
  if (now - Date.parse(claim.metadata.creationTimestamp ?? '') <= typeMayMissForMs) return undefined;
  const own = claim.metadata.labels ?? {};
  const name = own[labels.instanceType];
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
