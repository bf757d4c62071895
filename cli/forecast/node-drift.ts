import type { EC2NodeClass, ResolvedAmi } from '../../api/aws/ec2-node-class.js';
import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations, labels } from '../../api/labels.js';
import { instanceDrift, staticDrift } from '../../cloud/aws/drift.js';
import { ec2NodeClassHash, ec2NodeClassHashVersion } from '../../cloud/aws/node-class.js';
import type { NodeClass } from '../../cloud/port.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { canonicalJson } from '../../core/hash.js';
import { isDeleting, nameOf } from '../../core/names.js';
import { lookUp } from '../../core/own.js';
import { driftOf, mayDrift, migratedHashes } from '../../disruption/drift/drift.js';
import { nodePoolHash, nodePoolHashVersion } from '../../disruption/drift/template-hash.js';
import type { ForecastSnapshot } from './types.js';

/** The pools and node classes of a snapshot by name, with the hashes that the operator writes on them. */
interface Marked {
  readonly pools: ReadonlyMap<string, NodePool>;
  readonly classes: ReadonlyMap<string, NodeClass>;
}

/** Why each drifted claim has drifted, by name of the claim. */
export type DriftReasons = ReadonlyMap<string, string>;

/**
 * What has drifted before and after a change, as `operator/drift.ts` finds it: claims have the hashes of what they were
 * launched from, or those before the change if they have none of this version. Reasons that only the cloud shows are
 * taken from the claims' conditions.
 */
export async function driftOfBoth(
  before: ForecastSnapshot,
  after: ForecastSnapshot,
): Promise<{ readonly before: DriftReasons; readonly after: DriftReasons }> {
  const [old, young] = [marked(before, undefined), marked(after, before)];
  const [found, then] = [new Map<string, string>(), new Map<string, string>()];
  for (const claim of after.input.objects.nodeClaims ?? []) {
    if (!mayDrift(claim)) continue;
    const pool = old.pools.get(nodePoolOfClaim(claim));
    const launchedFrom = old.classes.get(classKey(claim.spec.nodeClassRef));
    const own = pool === undefined ? claim : migrated(claim, pool, launchedFrom);
    const now = await reasonOf(own, old, launchedFrom, before);
    const next = await reasonOf(own, young, launchedFrom, after);
    const { status } = claim;
    const known = isTrue(status?.conditions, 'Drifted')
      ? conditionOf(status?.conditions, 'Drifted')?.reason
      : undefined;
    const present = now ?? known;
    const later = next ?? (now === undefined ? known : undefined);
    if (present !== undefined) found.set(nameOf(claim), present);
    if (later !== undefined) then.set(nameOf(claim), later);
  }
  return { before: found, after: then };
}

export const nodePoolOfClaim = ({ metadata }: NodeClaim): string => lookUp(metadata.labels, labels.nodePool) ?? '';

/** Identifies a node class. */
export const classKey = ({ kind, name }: { readonly kind: string; readonly name: string }): string => `${kind}/${name}`;

const classKeyOf = (nodeClass: NodeClass): string => classKey({ kind: nodeClass.kind, name: nameOf(nodeClass) });

async function reasonOf(
  claim: NodeClaim,
  { pools, classes }: Marked,
  launchedFrom: NodeClass | undefined,
  { input: { catalogues, now } }: ForecastSnapshot,
): Promise<string | undefined> {
  const pool = pools.get(nodePoolOfClaim(claim));
  if (pool === undefined) return undefined;
  const types = catalogues.get(nameOf(pool));
  const nodeClass = classes.get(classKey(claim.spec.nodeClassRef));
  const provider = (): Promise<string | undefined> => {
    const isServed = nodeClass?.kind === 'EC2NodeClass' && !isDeleting(nodeClass);
    return Promise.resolve(
      isServed
        ? ec2Drift(claim, nodeClass as EC2NodeClass, launchedFrom as EC2NodeClass | undefined, types ?? [])
        : undefined,
    );
  };
  return driftOf(claim, { pool, catalogue: () => Promise.resolve(types), provider }, now);
}

function ec2Drift(
  claim: NodeClaim,
  nodeClass: EC2NodeClass,
  launchedFrom: EC2NodeClass | undefined,
  types: Parameters<typeof instanceDrift>[3],
): string | undefined {
  const found = staticDrift(claim, nodeClass);
  if (found !== undefined) return found;
  const own = claim.metadata.labels ?? {};
  const instance = {
    id: claim.status?.providerID ?? '',
    providerId: claim.status?.providerID ?? '',
    imageId: claim.status?.imageID,
    instanceType: own[labels.instanceType] ?? '',
    capacityType: own[labels.capacityType] ?? '',
    // The claim does not say which it has: those of its node class before the change.
    securityGroupIds: (launchedFrom?.status?.securityGroups ?? []).map(({ id }) => id),
    subnetId: undefined,
    capacityReservationId: undefined,
    placementGroupId: undefined,
  } as unknown as Parameters<typeof instanceDrift>[0];
  return instanceDrift(instance, claim, nodeClass, types);
}

function migrated(claim: NodeClaim, pool: NodePool, nodeClass: NodeClass | undefined): NodeClaim {
  const written = migratedHashes(claim, { pool, nodeClass: nodeClass ?? { metadata: {} } });
  if (Object.keys(written).length === 0) return claim;
  return { ...claim, metadata: { ...claim.metadata, annotations: { ...claim.metadata.annotations, ...written } } };
}

function marked({ input, nodeClasses }: ForecastSnapshot, before: ForecastSnapshot | undefined): Marked {
  const earlier = new Map((before?.nodeClasses ?? []).map((each) => [classKeyOf(each), each]));
  return {
    pools: new Map(
      input.objects.nodePools.map((pool) => [
        nameOf(pool),
        withAnnotations(pool, {
          [annotations.nodePoolHash]: nodePoolHash(pool.spec.template),
          [annotations.nodePoolHashVersion]: nodePoolHashVersion,
        }),
      ]),
    ),
    classes: new Map(
      nodeClasses.map((each) => {
        const key = classKeyOf(each);
        if (each.kind !== 'EC2NodeClass') return [key, each];
        return [key, resolved(each as EC2NodeClass, (earlier.get(key) ?? each) as EC2NodeClass)];
      }),
    ),
  };
}

const withAnnotations = <T extends NodePool | NodeClass>(object: T, written: Readonly<Record<string, string>>): T => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...written } },
});

const hashOf = ({ spec }: EC2NodeClass): string => ec2NodeClassHash(spec, { amiFamily: resolvedAmiFamily(spec) });

/** The image of a selector that only the account resolves. */
const unknownImage = 'ami-of-the-new-selector';

/**
 * A node class as the operator would mark and resolve it. Its hash also depends on the cluster's CA bundle, which files
 * lack: an unchanged spec keeps its hash. What changed selectors find is known only as far as they name ids; another
 * selector of images is taken to find another image.
 */
function resolved(nodeClass: EC2NodeClass, earlier: EC2NodeClass): EC2NodeClass {
  const isSame = hashOf(nodeClass) === hashOf(earlier);
  const known = earlier.metadata.annotations?.[annotations.ec2NodeClassHashVersion] === ec2NodeClassHashVersion;
  const before = known ? earlier.metadata.annotations?.[annotations.ec2NodeClassHash] : undefined;
  const own = withAnnotations(nodeClass, {
    [annotations.ec2NodeClassHash]: (isSame ? before : undefined) ?? hashOf(nodeClass),
    [annotations.ec2NodeClassHashVersion]: ec2NodeClassHashVersion,
  });
  const { amiSelectorTerms, securityGroupSelectorTerms } = nodeClass.spec;
  const status = { ...earlier.status };
  if (canonicalJson(amiSelectorTerms) !== canonicalJson(earlier.spec.amiSelectorTerms)) {
    const found = status.amis ?? [];
    const ids = idsOf(amiSelectorTerms) ?? [unknownImage];
    status.amis = ids.map((id): ResolvedAmi => found.find((ami) => ami.id === id) ?? { id, requirements: [] });
  }
  if (canonicalJson(securityGroupSelectorTerms) !== canonicalJson(earlier.spec.securityGroupSelectorTerms)) {
    const ids = idsOf(securityGroupSelectorTerms);
    if (ids !== undefined && status.securityGroups !== undefined) status.securityGroups = ids.map((id) => ({ id }));
  }
  return { ...own, status };
}

/** The ids, if every term of the selector names one. */
function idsOf(terms: readonly { readonly id?: string | undefined }[]): readonly string[] | undefined {
  const ids = terms.flatMap(({ id }) => id ?? []);
  return ids.length === terms.length ? ids : undefined;
}
