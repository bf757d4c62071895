import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { PersistentVolume, Pod, PodVolume } from '../../api/kubernetes.js';
import { annotations, finalizers, labels } from '../../api/labels.js';
import { DomainError } from '../../core/failures.js';
import { digestOf, hashText } from '../../core/hash.js';
import { normaliseKey } from '../../core/labels.js';
import { volumeClaimName, isDeleting, nameOf } from '../../core/names.js';
import { parseResources, type Resources } from '../../core/quantities.js';
import { countedCapacity, nodeOf } from '../../cluster/cluster.js';
import { nodePoolHash, nodePoolHashVersion } from '../../disruption/drift/template-hash.js';
import { isStatic, nodeLimit } from '../../disruption/static-capacity/static-capacity.js';
import type { NewObject } from '../../kube/port.js';
import type { RestingPool, ClaimPlan, LaunchStart } from '../../workflows/messages.js';
import type { ClaimActivities, ClaimsCreated, CreateClaimsInput, CreatedClaim, RefusedClaim } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { inBatches } from '../../core/at-once.js';
import { quantitiesOf } from '../claim-status.js';
import { plannedPodsText } from '../../cluster/planned-pods.js';
import { isRefusal } from '../refusals.js';
import { forgetRefusals, recordRefusal } from './refusals.js';
import { withFailures } from '../to-failure.js';
import { itemFailure } from '../for-each-item.js';
import { lookUp } from '../../core/own.js';
import { counted } from '../../core/text.js';
import { nominatedText, regarding } from '../../core/events.js';

const concurrency = 10;

/**
 * Creates the NodeClaims of a plan (node-claims/written-from-a-plan). Names derive from plan id, index and content of
 * the plan, so that nothing is created twice, and another plan with the same id does not get these NodeClaims.
 */
export function createClaimActivities(deps: ActivityDeps): ClaimActivities {
  return withFailures<ClaimActivities>({ createClaims: (input) => createClaims(deps, input) });
}

type Refused = RefusedClaim & { readonly byApiServer?: 'an answer' | 'silence' };
type Outcome = CreatedClaim | Refused;
interface Item {
  readonly plan: ClaimPlan;
  readonly index: number;
}

/**
 * Creates the NodeClaims and starts their launches, each with a separate outcome (provisioning/refused-claims). A refusal is recorded on its
 * NodePool, which is excluded from plans for a while, if possible only for the pods that are the cause. Only an outage
 * fails the activity.
 */
async function createClaims(deps: ActivityDeps, input: CreateClaimsInput): Promise<ClaimsCreated> {
  const pools = new Map((await deps.kube.list('NodePool')).map((pool) => [nameOf(pool), pool]));
  const planned = new Set(input.claims.map(({ nodePool }) => nodePool));
  const areLimited = [...pools.values()].some(
    (pool) => planned.has(nameOf(pool)) && (isStatic(pool) || pool.spec.limits !== undefined),
  );
  // Listed only if needed: for a large cluster the list has megabytes.
  const usage = new Usage(areLimited ? await deps.kube.list('NodeClaim') : [], (claim) =>
    countedCapacity(claim, nodeOf(deps.cache, claim)),
  );
  const outcomes: Outcome[] = [];
  const outages: unknown[] = [];
  /** NodePools with an unanswered request: their other NodeClaims are not tried in this attempt. */
  const silent = new Map<string, string>();
  // Not after all of them: a launch waits for no other NodeClaim of its plan.
  const startLaunch = (claim: CreatedClaim): Promise<void> =>
    deps.entities.startLaunch(launchOf(deps.cluster, input, claim)).catch((error: unknown) => void outages.push(error));
  const attempt = async (item: Item): Promise<void> => {
    const { index, plan } = item;
    const known = silent.get(plan.nodePool);
    if (known !== undefined) return void outcomes.push({ index, reason: known, byApiServer: 'silence' });
    try {
      const outcome = await createOne(deps, input, item, { pools, usage });
      outcomes.push(outcome);
      if ('uid' in outcome) await startLaunch(outcome);
    } catch (error) {
      const reason = itemFailure(error);
      if (reason === undefined) return void outages.push(error);
      if (!isRefusal(error)) silent.set(plan.nodePool, reason);
      outcomes.push({ index, reason, byApiServer: isRefusal(error) ? 'an answer' : 'silence' });
    }
  };
  const items = input.claims.map((plan, index) => ({ plan, index }));
  await inBatches(items, attempt, { atOnce: concurrency, enough: () => outages.length > 0 });
  const resting = await recordOutcomes(deps, input, outcomes, pools);
  // The next attempt finds the NodeClaims that were created.
  if (outages.length > 0) throw outages[0];
  return creationResult(deps, outcomes, resting);
}

async function createOne(
  deps: ActivityDeps,
  input: CreateClaimsInput,
  { plan, index }: Item,
  { pools, usage }: { readonly pools: ReadonlyMap<string, NodePool>; readonly usage: Usage },
): Promise<Outcome> {
  const pool = pools.get(plan.nodePool);
  if (pool === undefined) return { index, reason: `NodePool ${plan.nodePool} is gone` };
  const refusal = usage.refuses(pool, claimName(input, plan, index));
  if (refusal !== undefined) return { index, reason: refusal };
  return create(deps, input, { plan, pool, index });
}

/**
 * The launch of a NodeClaim that was created from `claims`. It signals its outcome to the workflows that wait for this
 * node.
 *
 * @testOnly
 */
export function launchOf(
  cluster: string,
  { claims, reason, waiters = [] }: CreateClaimsInput,
  { name, uid, nodePool, index, isNew = false }: CreatedClaim,
): LaunchStart {
  const [notify, ...alsoNotify] = waiters[index] ?? [];
  const { podCount, cheapest, why } = claims[index]!;
  return {
    input: {
      cluster,
      claim: { name, uid },
      nodePool,
      reason,
      isFirst: isNew,
      ...(notify === undefined ? {} : { notify }),
      ...(alsoNotify.length === 0 ? {} : { alsoNotify }),
    },
    summary: `${name}: ${podCount === 0 ? `replica of ${nodePool}` : counted(podCount, 'pod')}, ${cheapest.instanceType}`,
    details: why,
  };
}

/** Records the outcome on each NodePool once. Returns the NodePools with refusals. */
async function recordOutcomes(
  deps: ActivityDeps,
  { claims }: CreateClaimsInput,
  outcomes: readonly Outcome[],
  pools: ReadonlyMap<string, NodePool>,
): Promise<RestingPool[]> {
  const resting: RestingPool[] = [];
  for (const [name, pool] of pools) {
    const own = outcomes.filter(({ index }) => claims[index]?.nodePool === name);
    const refused = own.filter((outcome): outcome is Refused => 'byApiServer' in outcome);
    const created = own.filter((outcome) => 'uid' in outcome);
    const [first] = refused;
    if (first !== undefined) {
      const pods = causesOf(deps, refused, claims);
      resting.push(await recordRefusal(deps, pool, first.reason, { pods }));
    } else if (created.length > 0) {
      await forgetRefusals(
        deps,
        pool,
        created.flatMap(({ index }) => claims[index]?.pods ?? []),
      );
    }
  }
  return resting;
}

/**
 * The pods whose requirements may have caused the refusals of a NodePool's NodeClaims: for each NodeClaim, those that
 * chose a label which the NodePool leaves open, or else all with requirements for nodes. Undefined if a NodeClaim has
 * no such pods, or its pods are unknown: the cause is then the NodePool itself.
 */
function causesOf(
  deps: ActivityDeps,
  refused: readonly Refused[],
  claims: CreateClaimsInput['claims'],
): string[] | undefined {
  const causes = refused.map(({ index, byApiServer }) => {
    const { pods = [], podCount = 0, labels: chosen = {} } = claims[index] ?? {};
    if (byApiServer === 'silence' || pods.length < podCount) return [];
    const asking = pods.map((pod) => ({ pod, keys: nodeKeysOf(deps, pod) })).filter(({ keys }) => keys.length > 0);
    const choosing = asking.filter(({ keys }) => keys.some((key) => lookUp(chosen, key) !== undefined));
    return (choosing.length > 0 ? choosing : asking).map(({ pod }) => pod);
  });
  return causes.some((pods) => pods.length === 0) ? undefined : causes.flat();
}

/**
 * The label keys of nodes that the pod, its volumes, or its spread and affinity over domains name, required or
 * preferred.
 */
function nodeKeysOf({ cache }: ActivityDeps, key: string): readonly string[] {
  const [namespace = '', name = ''] = key.split('/');
  const pod = cache.get('Pod', { namespace, name });
  if (pod === undefined) return [];
  const { nodeSelector, affinity, topologySpreadConstraints = [], volumes = [] } = pod.spec;
  const { requiredDuringSchedulingIgnoredDuringExecution: required, preferredDuringSchedulingIgnoredDuringExecution } =
    affinity?.nodeAffinity ?? {};
  const terms = [
    ...(required?.nodeSelectorTerms ?? []),
    ...(preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ preference }) => preference),
  ];
  const keys = terms.flatMap(({ matchExpressions = [] }) => matchExpressions.map(({ key }) => key));
  const near = [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap((each) => [
    ...(each?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(each?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ]);
  const domains = [...topologySpreadConstraints, ...near].map(({ topologyKey }) => normaliseKey(topologyKey));
  return [
    ...Object.keys(nodeSelector ?? {}),
    ...keys,
    ...domains.filter((domain) => domain !== labels.hostname),
    ...volumes.flatMap((volume) => volumeKeysOf(cache, pod, volume)),
  ];
}

/** The label keys of nodes that the volume requires: those of its PersistentVolume, or else of its StorageClass. */
function volumeKeysOf(cache: ActivityDeps['cache'], pod: Pod, volume: PodVolume): readonly string[] {
  const { namespace = '' } = pod.metadata;
  const claim = volumeClaimName(pod, volume);
  const bound = claim === undefined ? undefined : cache.get('PersistentVolumeClaim', { namespace, name: claim })?.spec;
  const { volumeName = '', storageClassName = '' } = bound ?? volume.ephemeral?.volumeClaimTemplate.spec ?? {};
  const named =
    volumeName === ''
      ? (cache.get('StorageClass', { name: storageClassName })?.allowedTopologies ?? []).flatMap(
          ({ matchLabelExpressions = [] }) => matchLabelExpressions,
        )
      : expressionsOf(cache.get('PersistentVolume', { name: volumeName }));
  return named.map(({ key }) => normaliseKey(key));
}

const expressionsOf = (volume: PersistentVolume | undefined): readonly { readonly key: string }[] =>
  (volume?.spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).flatMap(
    ({ matchExpressions = [] }) => matchExpressions,
  );

function creationResult(
  deps: ActivityDeps,
  outcomes: readonly Outcome[],
  resting: readonly RestingPool[],
): ClaimsCreated {
  const inOrder = [...outcomes].sort((a, b) => a.index - b.index);
  const created = inOrder.filter((outcome) => 'uid' in outcome);
  const refused = inOrder
    .filter((outcome): outcome is Refused => 'reason' in outcome)
    .map(({ index, reason }) => ({ index, reason }));
  for (const { index, reason } of refused) deps.log.info({ index, reason }, 'a planned NodeClaim was not created');
  return { created, refused, resting };
}

async function create(
  deps: ActivityDeps,
  input: CreateClaimsInput,
  { plan, pool, index }: { plan: ClaimPlan; pool: NodePool; index: number },
): Promise<Outcome> {
  const key = keyOf(input, plan, index);
  const name = claimName(input, plan, index);
  const wanted = claimOf(plan, pool, input.typeLists, { name, key });
  const { outcome, object } = await deps.kube.create('NodeClaim', wanted);
  if (outcome === 'exists' && object.metadata.annotations?.[annotations.plan] !== key) {
    throw new DomainError('Invalid', `NodeClaim ${name} exists and belongs to another plan`);
  }
  // The request was repeated after a hold: a NodeClaim that is being deleted meanwhile does not count.
  if (isDeleting(object)) {
    return { index, reason: `NodeClaim ${name}, which an earlier attempt created, is being deleted` };
  }
  if (outcome === 'created') announce(deps, input, plan, object);
  return {
    name,
    uid: object.metadata.uid ?? '',
    resourceVersion: object.metadata.resourceVersion ?? '',
    nodePool: plan.nodePool,
    index,
    ...(outcome === 'created' ? { isNew: true } : {}),
  };
}

/**
 * Includes a digest, because a workflow that was reset or restored from a backup uses the numbers of its plans again.
 */
function keyOf({ planId, typeLists }: CreateClaimsInput, plan: ClaimPlan, index: number): string {
  const digest = digestOf({ ...plan, types: typeLists[plan.types] }).slice(0, 8);
  return `${planId}/${index}-${digest}`;
}

function claimName(input: CreateClaimsInput, plan: ClaimPlan, index: number): string {
  // Hashed twice: keys that differ only in the last digit would otherwise give similar names.
  return `${plan.nodePool}-${hashText(hashText(keyOf(input, plan, index))).slice(0, 10)}`;
}

/**
 * The NodeClaim of a plan: the NodePool's template narrowed by what packing decided (node-claims/written-from-a-plan).
 */
export function claimOf(
  plan: ClaimPlan,
  pool: NodePool,
  typeLists: readonly (readonly string[])[],
  { name, key }: { name: string; key: string },
): NewObject<NodeClaim> {
  const { metadata: template, spec } = pool.spec.template;
  const { group, kind, name: className } = spec.nodeClassRef;
  const requirements = plan.requirements.filter((each) => each.key !== labels.instanceType);
  return {
    metadata: {
      name,
      labels: {
        ...template?.labels,
        ...plan.labels,
        [labels.nodePool]: plan.nodePool,
        [`${group}/${kind.toLowerCase()}`]: className,
      },
      annotations: {
        ...template?.annotations,
        ...plan.annotations,
        [annotations.nodePoolHash]: nodePoolHash(pool.spec.template),
        [annotations.nodePoolHashVersion]: nodePoolHashVersion,
        [annotations.plan]: key,
        ...podsNamed(plan),
      },
      finalizers: [finalizers.termination],
      ownerReferences: [
        {
          apiVersion: 'karpenter.sh/v1',
          kind: 'NodePool',
          name: plan.nodePool,
          uid: pool.metadata.uid ?? '',
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      ...(spec.taints === undefined ? {} : { taints: spec.taints }),
      ...(spec.startupTaints === undefined ? {} : { startupTaints: spec.startupTaints }),
      requirements: [...requirements, typesOf(plan, typeLists)] as NodeClaim['spec']['requirements'],
      resources: { requests: quantitiesOf(plan.requests) },
      nodeClassRef: spec.nodeClassRef,
      ...(spec.terminationGracePeriod === undefined ? {} : { terminationGracePeriod: spec.terminationGracePeriod }),
      expireAfter: spec.expireAfter,
    },
  };
}

/** The annotations that name the pods of the NodeClaim. */
function podsNamed({ pods, nominated = [] }: ClaimPlan): Record<string, string> {
  return {
    ...(pods.length > 0 && { [annotations.plannedPods]: plannedPodsText(pods) }),
    ...(nominated.length > 0 && { [annotations.podsToNominate]: plannedPodsText(nominated) }),
  };
}

/** The instance types of the claim, and how many of them there must be to choose from. */
function typesOf(
  { types, requirements }: Pick<ClaimPlan, 'types' | 'requirements'>,
  typeLists: readonly (readonly string[])[],
): NodeClaim['spec']['requirements'][number] {
  const values = [...(typeLists[types] ?? [])];
  const least = requirements.find(({ key }) => key === labels.instanceType)?.minValues;
  // The API server refuses a larger minValues than there are values.
  const minValues = least === undefined ? {} : { minValues: Math.min(least, values.length) };
  return { key: labels.instanceType, operator: 'In', values, ...minValues };
}

function announce(deps: ActivityDeps, { reason }: CreateClaimsInput, plan: ClaimPlan, claim: NodeClaim): void {
  const name = nameOf(claim);
  const relaxed = claim.metadata.annotations?.[annotations.minValuesRelaxed] === 'true';
  const own = { reason, nodepool: plan.nodePool, min_values_relaxed: String(relaxed) };
  deps.metrics.count('nodeclaims_created_total', own);
  deps.log.info(
    { nodeClaim: name, nodePool: plan.nodePool, pods: plan.podCount, instanceType: plan.cheapest.instanceType },
    'created a NodeClaim',
  );
  for (const pod of plan.pods) {
    const [namespace = '', podName = ''] = pod.split('/');
    const uid = deps.cache.get('Pod', { namespace, name: podName })?.metadata.uid;
    // Virtual pods of a CapacityBuffer do not exist in the API server.
    if (uid === undefined) continue;
    deps.events.publish({
      regarding: regarding('Pod', { name: podName, namespace, uid }),
      type: 'Normal',
      reason: 'Nominated',
      message: nominatedText('nodeclaim', name),
    });
  }
}

/**
 * The current usage of NodePools from the API server, because the plan may be based on older state
 * (limits/checked-at-creation).
 */
class Usage {
  private readonly used = new Map<string, Record<string, number>>();
  /** Names of a pool's claims, those that are being deleted included. */
  private readonly names = new Map<string, Set<string>>();

  constructor(claims: readonly NodeClaim[], capacity: (claim: NodeClaim) => Resources) {
    for (const claim of claims) {
      const { metadata } = claim;
      const pool = metadata.labels?.[labels.nodePool] ?? '';
      const names = this.names.get(pool) ?? new Set();
      this.names.set(pool, names.add(metadata.name ?? ''));
      if (metadata.deletionTimestamp !== undefined) continue;
      const sum = this.used.get(pool) ?? { nodes: 0 };
      sum.nodes = (sum.nodes ?? 0) + 1;
      for (const [name, amount] of Object.entries(capacity(claim))) {
        sum[name] = (lookUp(sum, name) ?? 0) + amount;
      }
      this.used.set(pool, sum);
    }
  }

  /** Why the NodeClaim must not be created. One that exists already is not refused. */
  refuses(pool: NodePool, name: string): string | undefined {
    return isStatic(pool) ? this.refusesStatic(pool, name) : this.exceeded(pool);
  }

  /**
   * `limits.nodes` of a static NodePool is never exceeded, not even by nodes that are being deleted
   * (static-capacity/node-limit).
   */
  private refusesStatic(pool: NodePool, name: string): string | undefined {
    const nodePool = nameOf(pool);
    const names = this.names.get(nodePool) ?? new Set();
    this.names.set(nodePool, names);
    if (names.has(name)) return undefined;
    if (names.size >= nodeLimit(pool)) return `limits.nodes of NodePool ${nodePool} leaves no room`;
    names.add(name);
    return undefined;
  }

  private exceeded(pool: NodePool): string | undefined {
    const used = this.used.get(nameOf(pool)) ?? {};
    for (const [name, limit] of Object.entries(parseResources(pool.spec.limits))) {
      if ((lookUp(used, name) ?? 0) > limit) return `${name} of NodePool ${nameOf(pool)} exceeds its limit`;
    }
    return undefined;
  }
}
