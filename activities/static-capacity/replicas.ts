import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import {
  isStatic,
  nodeLimit,
  replacementsIn,
  staticCounts,
  type StaticCounts,
  staticPlan,
  type StaticPlan,
} from '../../disruption/static-capacity/static-capacity.js';
import { blankClaim } from '../provisioning/blank-claim.js';
import { claimPlans } from '../provisioning/claim-plans.js';
import { isManaged, nodeOf } from '../../cluster/cluster.js';
import type { ActivityDeps } from '../deps.js';
import { identityOf } from '../../cluster/node-labels.js';
import type { ReplicasActivities, ReplicasView } from './contract.js';
import { withFailures } from '../to-failure.js';
import { counted, verb } from '../../core/text.js';
import { isDeleting, nameOf } from '../../core/names.js';

/** The most NodeClaims of one call, to bound its payload. */
const createdAtOnce = 25;
const removedAtOnce = 50;

type Input = Parameters<ReplicasActivities['viewReplicas']>[0];

/** Activities of `keepReplicas` (static-capacity/keeps-replicas). */
export function createReplicasActivities(deps: ActivityDeps): ReplicasActivities {
  return withFailures<ReplicasActivities>({ viewReplicas: (input) => view(deps, input) });
}

async function view(deps: ActivityDeps, input: Input): Promise<ReplicasView> {
  const pool = await deps.kube.get('NodePool', { name: input.nodePool });
  const why = whyNotKept(deps, pool, input.poolUid);
  if (pool === undefined || why !== undefined) return { state: 'gone', why: why ?? 'the NodePool is gone' };
  const counts = await countsOf(deps, pool, input.deleting);
  const plan = staticPlan(pool, counts, deps.now());
  return {
    state: 'live',
    replicas: pool.spec.replicas ?? 0,
    running: counts.running.length + counts.unreplaced.length,
    pending: counts.unreplaced.length + counts.replaced.length,
    deleting: counts.deleting
      .map(({ claim }) => claim.metadata.uid ?? '')
      .filter((uid) => input.deleting.includes(uid)),
    remove: plan.remove.slice(0, removedAtOnce).map(({ claim }) => identityOf(claim)),
    ...(await additions(deps, pool, plan, counts)),
  };
}

/** The NodeClaims of a static NodePool from the API server; `deleting` are UIDs of those being terminated. */
export async function countsOf(deps: ActivityDeps, pool: NodePool, deleting: readonly string[]): Promise<StaticCounts> {
  const claims = await deps.kube.list('NodeClaim', { labelSelector: `${labels.nodePool}=${nameOf(pool)}` });
  return staticCounts(
    claims.map((claim) => viewOf(deps, pool, claim)),
    { deleting: new Set(deleting), claimed: new Set(), isReplaced: replacementsIn(deps.cluster, claims) },
  );
}

function whyNotKept(deps: ActivityDeps, pool: NodePool | undefined, uid: string): string | undefined {
  if (pool?.metadata.uid !== uid) return 'the NodePool is gone';
  if (isDeleting(pool)) return 'the NodePool is being deleted';
  if (!isStatic(pool)) return 'the NodePool is not static';
  if (!isManaged(deps, pool.spec.template.spec.nodeClassRef)) return 'its node class is of another provider';
  return deps.gates.StaticCapacity ? undefined : 'feature gate StaticCapacity is off';
}

function viewOf(deps: ActivityDeps, pool: NodePool, claim: NodeClaim): NodeView {
  const node = nodeOf(deps.cache, claim);
  const pods = node === undefined ? [] : deps.cache.podsOnNode(nameOf(node));
  return { claim, node, pool, pods, pricePerHour: 0 };
}

type Additions = Pick<Extract<ReplicasView, { state: 'live' }>, 'create' | 'typeLists' | 'held'>;

async function additions(
  deps: ActivityDeps,
  pool: NodePool,
  { create, heldByLimit }: StaticPlan,
  { total }: StaticCounts,
): Promise<Additions> {
  const held =
    heldByLimit === 0
      ? {}
      : {
          held: `limits.nodes of ${nodeLimit(pool)}: ${counted(total, 'node')} ${verb(total, 'is', 'are')} there, ${heldByLimit} more ${verb(heldByLimit, 'is', 'are')} wanted`,
        };
  if (create === 0) return { create: [], typeLists: [], ...held };
  if (!isTrue(pool.status?.conditions, 'Ready')) {
    return { create: [], typeLists: [], held: 'the NodePool to be Ready' };
  }
  const blank = await blankClaim(deps, pool);
  if ('reason' in blank) return { create: [], typeLists: [], held: `an instance type to launch: ${blank.reason}` };
  const { claims, typeLists } = claimPlans(
    Array.from({ length: Math.min(create, createdAtOnce) }, () => blank),
    0,
  );
  return { create: claims, typeLists, ...held };
}
