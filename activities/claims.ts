import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations, finalizers, labels } from '../api/labels.js';
import { DomainError } from '../core/failures.js';
import { hashText } from '../core/hash.js';
import { parseResources } from '../core/resources.js';
import { nodePoolHash, nodePoolHashVersion } from '../disruption/node-pool-hash.js';
import type { NewObject } from '../kube/port.js';
import type { ClaimActivities, ClaimPlan, CreateClaimsInput, CreatedClaim } from './contract.js';
import type { ActivityDeps } from './deps.js';
import { written } from './launch.js';
import { withFailures } from './to-failure.js';

const concurrency = 10;

/** Creates the NodeClaims of a plan (section 2.10). Names derive from plan id and index, so nothing is created twice. */
export function createClaimActivities(deps: ActivityDeps): ClaimActivities {
  return withFailures<ClaimActivities>({ createClaims: (input) => createClaims(deps, input) });
}

type Outcome = CreatedClaim | { readonly index: number; readonly reason: string };

async function createClaims(
  deps: ActivityDeps,
  input: CreateClaimsInput,
): Promise<{ created: CreatedClaim[]; refused: { index: number; reason: string }[] }> {
  const pools = new Map((await deps.kube.list('NodePool')).map((pool) => [pool.metadata.name ?? '', pool]));
  const usage = new Usage(await deps.kube.list('NodeClaim'));
  const outcomes: Outcome[] = [];
  for (let start = 0; start < input.claims.length; start += concurrency) {
    const chunk = input.claims.slice(start, start + concurrency);
    outcomes.push(
      ...(await Promise.all(
        chunk.map(async (plan, offset): Promise<Outcome> => {
          const index = start + offset;
          const pool = pools.get(plan.nodePool);
          const refusal = pool === undefined ? `NodePool ${plan.nodePool} is gone` : usage.exceeded(pool);
          if (pool === undefined || refusal !== undefined) return { index, reason: refusal ?? '' };
          return create(deps, input, { plan, pool, index });
        }),
      )),
    );
  }
  const created = outcomes.filter((outcome) => 'uid' in outcome);
  const refused = outcomes.filter((outcome) => 'reason' in outcome);
  for (const { index, reason } of refused) deps.log.info({ index, reason }, 'a planned NodeClaim was not created');
  return { created, refused };
}

async function create(
  deps: ActivityDeps,
  input: CreateClaimsInput,
  { plan, pool, index }: { plan: ClaimPlan; pool: NodePool; index: number },
): Promise<CreatedClaim> {
  const key = `${input.planId}/${index}`;
  // Hashed twice: keys that differ in their last digit alone give names that look alike otherwise.
  const name = `${plan.nodePool}-${hashText(hashText(key)).slice(0, 10)}`;
  const { outcome, object } = await deps.kube.create('NodeClaim', claimOf(plan, pool, input.typeLists, { name, key }));
  if (outcome === 'exists' && object.metadata.annotations?.[annotations.plan] !== key) {
    throw new DomainError('Invalid', `NodeClaim ${name} exists and is none of this plan`);
  }
  if (outcome === 'created') announce(deps, input, plan, object);
  return {
    name,
    uid: object.metadata.uid ?? '',
    resourceVersion: object.metadata.resourceVersion ?? '',
    nodePool: plan.nodePool,
    index,
  };
}

/** The claim that a plan asks for: the pool's template narrowed by what packing decided (section 2.10). */
export function claimOf(
  plan: ClaimPlan,
  pool: NodePool,
  typeLists: readonly (readonly string[])[],
  { name, key }: { name: string; key: string },
): NewObject<NodeClaim> {
  const { metadata: template, spec } = pool.spec.template;
  const { group, kind, name: className } = spec.nodeClassRef;
  const typeRequirement = { key: labels.instanceType, operator: 'In', values: [...(typeLists[plan.types] ?? [])] };
  const requirements = plan.requirements.filter(
    ({ key: own, operator }) => !(own === labels.instanceType && operator === 'In'),
  );
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
        [annotations.nodePoolHash]: nodePoolHash(pool),
        [annotations.nodePoolHashVersion]: nodePoolHashVersion,
        [annotations.plan]: key,
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
      requirements: [...requirements, typeRequirement] as NodeClaim['spec']['requirements'],
      resources: { requests: written(plan.requests) },
      nodeClassRef: spec.nodeClassRef,
      ...(spec.terminationGracePeriod === undefined ? {} : { terminationGracePeriod: spec.terminationGracePeriod }),
      expireAfter: spec.expireAfter,
    },
  };
}

function announce(deps: ActivityDeps, { reason }: CreateClaimsInput, plan: ClaimPlan, claim: NodeClaim): void {
  const name = claim.metadata.name ?? '';
  deps.metrics.count('nodeclaims_created_total', { reason, nodepool: plan.nodePool, min_values_relaxed: 'false' });
  deps.log.info(
    { nodeClaim: name, nodePool: plan.nodePool, pods: plan.podCount, instanceType: plan.cheapest.instanceType },
    'created a NodeClaim',
  );
  for (const pod of plan.pods) {
    const [namespace = '', podName = ''] = pod.split('/');
    const uid = deps.cache.get('Pod', { namespace, name: podName })?.metadata.uid;
    // Pods that stand for a CapacityBuffer exist in the plan alone.
    if (uid === undefined) continue;
    deps.events.publish({
      regarding: { apiVersion: 'v1', kind: 'Pod', name: podName, namespace, uid },
      type: 'Normal',
      reason: 'Nominated',
      message: `Pod should schedule on: nodeclaim/${name}`,
    });
  }
}

/** What pools use now, from the live claims: planning may have run on an older state (section 2.5). */
class Usage {
  private readonly used = new Map<string, Record<string, number>>();

  constructor(claims: readonly NodeClaim[]) {
    for (const { metadata, status } of claims) {
      if (metadata.deletionTimestamp !== undefined) continue;
      const pool = metadata.labels?.[labels.nodePool] ?? '';
      const sum = this.used.get(pool) ?? { nodes: 0 };
      sum.nodes = (sum.nodes ?? 0) + 1;
      for (const [name, amount] of Object.entries(parseResources(status?.capacity))) {
        sum[name] = (sum[name] ?? 0) + amount;
      }
      this.used.set(pool, sum);
    }
  }

  exceeded(pool: NodePool): string | undefined {
    const used = this.used.get(pool.metadata.name ?? '') ?? {};
    for (const [name, limit] of Object.entries(parseResources(pool.spec.limits))) {
      if ((used[name] ?? 0) > limit) return `${name} of NodePool ${pool.metadata.name ?? ''} exceeds its limit`;
    }
    return undefined;
  }
}
