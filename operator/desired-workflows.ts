import { messageOf } from '../core/error-message.js';
import type { Entity } from '../activities/entities-contract.js';
import { isUnregistered } from '../cluster/cluster.js';
import { interruptionNoteOf } from '../cluster/interruption-note.js';
import { identityOf, labelsOf } from '../cluster/node-labels.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations, finalizers } from '../api/labels.js';
import { isTrue } from '../core/conditions.js';
import { parseNillableDuration } from '../core/durations.js';
import { parseWorkflowId, workflowIds } from '../core/ids.js';
import { expirationTerms } from '../disruption/expiration/expiration-times.js';
import { conditionToRepair, repairStartsIn } from '../disruption/repair/repair.js';
import type {
  DisruptInput,
  HandleInterruptionInput,
  LaunchNodeInput,
  ProvisionInput,
  RepairNodeInput,
  ExpireNodeInput,
  TerminateNodeInput,
} from '../workflows/messages.js';
import type { WorkflowStart, ObservedCluster } from './observed-cluster.js';
import { desiredForPool } from './desired-for-pool.js';
import { isDeleting } from '../core/names.js';

/**
 * The workflow that creates a NodeClaim starts its launch, and knows which workflow waits for it. The reconciler waits
 * this long before it starts the launch itself, since all claims of a plan are created first. For a claim created by
 * hand, without the finalizer that a plan's claims have, only the reconciler starts it.
 */
const launchGraceMs = { planned: 60_000, byHand: 5000 };

interface DesiredWorkflows {
  /** In the order of starting. */
  readonly starts: readonly WorkflowStart[];
  /** Objects whose workflows cannot be determined; others are not affected. */
  readonly unreadable: readonly { readonly object: string; readonly error: string }[];
}

/** All workflows that have to run for the current cluster. */
export function desiredWorkflows(observed: ObservedCluster): DesiredWorkflows {
  const starts = [entityStart(observed.cluster, 'provision'), entityStart(observed.cluster, 'disrupt')];
  const unreadable: DesiredWorkflows['unreadable'][number][] = [];
  const add = <T extends NodeClaim | NodePool>(
    kind: string,
    objects: readonly T[],
    desiredFor: (observed: ObservedCluster, object: T) => readonly WorkflowStart[],
  ): void => {
    for (const object of objects) {
      try {
        starts.push(...desiredFor(observed, object));
      } catch (error) {
        unreadable.push({ object: `${kind} ${identityOf(object).name}`, error: messageOf(error) });
      }
    }
  };
  // Terminations and pools first, so that they do not wait for many launches.
  const isGoing = (claim: NodeClaim): boolean => deletedOf(observed, claim) !== undefined;
  add('NodeClaim', observed.claims.filter(isGoing), desiredForClaim);
  add('NodePool', observed.pools, desiredForPool);
  add(
    'NodeClaim',
    observed.claims.filter((claim) => !isGoing(claim)),
    desiredForClaim,
  );
  return { starts, unreadable };
}

/** An entity workflow of the cluster: there is one of each kind, and it always runs. */
export function entityStart(cluster: string, entity: Entity): WorkflowStart {
  const input: ProvisionInput & DisruptInput = { cluster };
  return {
    workflowId: workflowIds[entity](cluster),
    type: entity,
    input,
    summary: entity === 'provision' ? 'pending pods become nodes' : 'removes nodes that are not needed',
    afterCompletion: 'startAgain',
  };
}

/**
 * A claim is launched until it is initialized, and again if its Node is created again. It is terminated once it or its
 * node is deleted.
 */
export function desiredForClaim(observed: ObservedCluster, claim: NodeClaim): readonly WorkflowStart[] {
  const deleted = deletedOf(observed, claim);
  if (deleted !== undefined) return terminationOf(observed, claim, deleted);
  const isInitialized = isTrue(claim.status?.conditions, 'Initialized');
  const node = observed.nodeOf(claim);
  const isUp = isInitialized && (node === undefined || !isUnregistered(node, claim));
  return [
    ...interruptionOf(observed, claim),
    ...(isInitialized ? expirationOf(observed, claim) : []),
    ...(isUp ? [] : launchOf(observed, claim)),
    ...repairOf(observed, claim),
  ];
}

/** Time until the claim's launch should be checked, milliseconds; undefined if waiting changes nothing. */
export function launchDueIn({ now }: Pick<ObservedCluster, 'now'>, { metadata }: NodeClaim): number | undefined {
  const graceMs = launchGraceMs[metadata.finalizers?.includes(finalizers.termination) === true ? 'planned' : 'byHand'];
  const rest = Date.parse(metadata.creationTimestamp ?? '') + graceMs - now;
  return rest > 0 ? Math.min(rest, graceMs) : undefined;
}

function launchOf(observed: ObservedCluster, claim: NodeClaim): readonly WorkflowStart[] {
  if (launchDueIn(observed, claim) !== undefined) return [];
  const { cluster } = observed;
  const { name, uid } = identityOf(claim);
  const input: LaunchNodeInput = { cluster, claim: { name, uid }, nodePool: labelsOf(claim).nodePool };
  return [
    {
      workflowId: workflowIds.launch(cluster, uid),
      type: 'launchNode',
      input,
      summary: name,
      afterCompletion: 'startAgain',
    },
  ];
}

type Deleted = 'NodeClaim' | 'Node';

/**
 * The deleted object of the two, which determines the other: deleting a Node deletes its claim too
 * (termination/deleted-node).
 */
function deletedOf(observed: Pick<ObservedCluster, 'nodeOf'>, claim: NodeClaim): Deleted | undefined {
  if (isDeleting(claim)) return 'NodeClaim';
  return observed.nodeOf(claim)?.metadata.deletionTimestamp === undefined ? undefined : 'Node';
}

/**
 * Whether the termination only waits for finalizers of other controllers on the Node of a terminated instance
 * (termination/node-first).
 */
function awaitsItsNode(observed: Pick<ObservedCluster, 'nodeOf'>, claim: NodeClaim): boolean {
  const { deletionTimestamp, finalizers: held = [] } = observed.nodeOf(claim)?.metadata ?? {};
  if (deletionTimestamp === undefined || held.length === 0 || held.includes(finalizers.termination)) return false;
  return isTrue(claim.status?.conditions, 'InstanceTerminating');
}

function terminationOf(observed: ObservedCluster, claim: NodeClaim, deleted: Deleted): readonly WorkflowStart[] {
  const { cluster } = observed;
  const deleteClaim = deleted === 'Node';
  if (!deleteClaim && awaitsItsNode(observed, claim)) return [];
  if (!deleteClaim && claim.metadata.finalizers?.includes(finalizers.termination) !== true) return [];
  const { name, uid } = identityOf(claim);
  const { nodePool } = labelsOf(claim);
  const reason = 'deleted';
  const input: TerminateNodeInput = { cluster, claim: { name, uid }, nodePool, reason, deleteClaim };
  return [
    {
      workflowId: workflowIds.terminate(cluster, uid),
      type: 'terminateNode',
      input,
      summary: `${name}: ${reason}`,
      afterCompletion: 'startAgain',
    },
  ];
}

/**
 * Rule `interruption/restarted`: the queue message is deleted once its workflow has it, but the claim records the
 * notice and its time. The node stays no longer than that workflow would have allowed.
 */
function interruptionOf({ cluster }: ObservedCluster, claim: NodeClaim): readonly WorkflowStart[] {
  const note = interruptionNoteOf(claim);
  const instanceId = claim.status?.providerID?.split('/').at(-1) ?? '';
  if (note === undefined || instanceId === '') return [];
  const notice = { ...note, instanceId, messageId: `${identityOf(claim).uid} ${note.kind}` };
  const input: HandleInterruptionInput = { cluster, instanceId, notices: [notice] };
  return [
    {
      workflowId: workflowIds.interrupt(cluster, instanceId),
      type: 'handleInterruption',
      input,
      summary: `${instanceId}: ${note.kind}`,
      afterCompletion: 'startAgain',
    },
  ];
}

/** Starts once it is due; a claim whose expiration was declined has an annotation. */
function expirationOf(observed: ObservedCluster, claim: NodeClaim): readonly WorkflowStart[] {
  const after = parseNillableDuration(claim.spec.expireAfter, 'expireAfter');
  if (!Number.isFinite(after) || claim.metadata.annotations?.[annotations.expirationDeclined] !== undefined) return [];
  const { cluster, now, pools, policies } = observed;
  const createdAt = Date.parse(claim.metadata.creationTimestamp ?? '');
  // Most claims: nothing begins in the first half of a life (expiration/begins-early).
  if (now < createdAt + after / 2) return [];
  const { nodePool } = labelsOf(claim);
  const pool = pools.find(({ metadata }) => metadata.name === nodePool);
  const expiresAt = createdAt + after;
  if (expirationTerms(pool, policies, claim, expiresAt).beginAt > now) return [];
  const { name, uid } = identityOf(claim);
  const input: ExpireNodeInput = { cluster, claim: { name, uid }, nodePool, expiresAt };
  return [
    {
      workflowId: workflowIds.expire(cluster, uid),
      type: 'expireNode',
      input,
      summary: `${name}: expiration`,
      afterCompletion: 'startAgain',
    },
  ];
}

/** The result of a repair is valid until the node's condition changes; then the operator's watch starts it again. */
function repairOf(observed: ObservedCluster, claim: NodeClaim): readonly WorkflowStart[] {
  const { cluster, gates, repairPolicies } = observed;
  if (!gates.NodeRepair || !isTrue(claim.status?.conditions, 'Registered')) return [];
  const declined = claim.metadata.annotations?.[annotations.repairDeclined];
  const found = conditionToRepair(observed.nodeOf(claim), repairPolicies, declined);
  if (found === undefined || repairStartsIn(found, observed.now) > 0) return [];
  const { name, uid } = identityOf(claim);
  const input: RepairNodeInput = { cluster, claim: { name, uid }, nodePool: labelsOf(claim).nodePool };
  return [
    {
      workflowId: workflowIds.repair(cluster, uid),
      type: 'repairNode',
      input,
      summary: `${name}: unhealthy`,
      afterCompletion: 'keepCompleted',
    },
  ];
}

/**
 * Running workflows whose NodeClaim or NodePool no longer exists. They end once they are signalled or cancelled. Terminations are
 * excluded: they terminate the instance of a claim that was removed by force.
 */
export function withoutObject(observed: ObservedCluster, running: Iterable<string>): readonly string[] {
  const uids = new Set([...observed.claims, ...observed.pools].map((object) => identityOf(object).uid));
  return [...running].filter((id) => {
    const { kind, subject } = parseWorkflowId(id) ?? {};
    return kind !== undefined && endWithObject.has(kind) && !uids.has(subject?.[0] ?? '');
  });
}

const endWithObject: ReadonlySet<string> = new Set(['launch', 'expire', 'repair', 'replace', 'replicas', 'drift']);

/** Whether a node has the disruption taint of a workflow that no longer runs. */
export function taintedByClosed({ claims }: ObservedCluster, running: ReadonlySet<string>): boolean {
  return claims.some(({ metadata }) => {
    const owner = metadata.annotations?.[annotations.disruptionOwner];
    return owner !== undefined && metadata.deletionTimestamp === undefined && !running.has(owner);
  });
}
