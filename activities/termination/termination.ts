import { activePauses, whyPaused } from '../../cluster/pauses.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node } from '../../api/kubernetes.js';
import { annotations, finalizers, labels } from '../../api/labels.js';
import { conditionOf, isTrue, timestamp } from '../../core/conditions.js';
import { parseDuration, parseNillableDuration } from '../../core/durations.js';
import { DomainError } from '../../core/failures.js';
import { graceOf, isDrainable } from '../../core/pods.js';
import { policyOf } from '../../disruption/policies/effective-policy.js';
import type { ClaimRef } from '../../workflows/messages.js';
import { nodeOf, nodesOfInstance, poolOf } from '../../cluster/cluster.js';
import type { FinishActivities, TerminationActivities, TerminationStart } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { currentAttempt } from '../attempt.js';
import { countDisrupted } from '../../cluster/disrupted-metrics.js';
import { identityOf } from '../../cluster/node-labels.js';
import { reportConditions } from '../claim-status.js';
import { isRefusedWrite } from '../refusals.js';
import { withFailures } from '../to-failure.js';
import { deleteLaunchedClaim, getClaim, updateClaim, updateNode, type ClaimChange } from '../../cluster/writes.js';
import { instanceIsGone } from './instance-watch.js';
import { cordonHeldNode, heldNode, markNodes } from './mark-nodes.js';
import { stampedDeadline } from './stamped-deadline.js';
import { regarding } from '../../core/events.js';
import { isDeleting, nameOf } from '../../core/names.js';

type BeginInput = Parameters<TerminationActivities['beginTermination']>[0];

/** Activities of `terminateNode` on the API server (termination/steps). */
export function createTerminationActivities(deps: ActivityDeps): TerminationActivities & FinishActivities {
  return withFailures<TerminationActivities & FinishActivities>({
    beginTermination: (input) => begin(deps, input),
    setDeadline: async ({ claim, deadline }) => {
      await annotateDeadline(deps, claim, deadline);
    },
    finishTermination: (input) => finish(deps, input),
  });
}

async function begin(deps: ActivityDeps, input: BeginInput): Promise<TerminationStart> {
  const { claim: ref } = input;
  let claim = await getClaim(deps.kube, ref);
  if (claim === undefined) return { state: 'gone' };
  if (!isDeleting(claim)) {
    // The cluster was restored from a backup from before the deletion. If the node is still to be removed, for example
    // because its Node is being deleted, another termination is started with `deleteClaim`.
    if (!input.deleteClaim) return { state: 'gone' };
    const why = await whyKept(deps, input.unlessPaused);
    if (why !== undefined) return { state: 'paused', why };
    const refused = await whyNotDeleted(() => deleteClaim(deps, claim!, input.reason), input.unlessRefused);
    if (refused !== undefined) return { state: 'refused', why: refused };
    claim = await getClaim(deps.kube, ref);
    if (claim === undefined) return { state: 'gone' };
  }
  const deadline = deadlineOf(claim, input.deadline);
  if (deadline !== undefined) await annotateDeadline(deps, ref, deadline, claim);
  const node = await deletingNode(deps, claim, input.instanceEndsAt !== undefined);
  if (deadline !== undefined) announce(deps, claim, node, deadline);
  const instanceGone = node !== undefined && (await instanceIsGone(deps, nameOf(node)));
  return { ...started(deps, claim, node, deadline), ...(instanceGone ? { instanceGone } : {}) };
}

/** The pause that applies to the node, in words. */
async function whyKept(deps: ActivityDeps, node: BeginInput['unlessPaused']): Promise<string | undefined> {
  return node === undefined ? undefined : whyPaused(await activePauses(deps), node.reason, node);
}

/** After this number of attempts a refusal counts as lasting: a webhook may be unavailable for a moment. */
const attemptsRefused = 3;

/**
 * Why the API server refuses the deletion, for a disruption that `mayBeLeft`. For others the refusal is thrown, so that
 * the activity is tried again.
 */
async function whyNotDeleted(work: () => Promise<void>, mayBeLeft = false): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    const mayPass = (currentAttempt()?.number ?? 1) <= attemptsRefused;
    if (!mayBeLeft || mayPass || !isRefusedWrite(error)) throw error;
    return `the API server refuses it: ${error.message}`;
  }
}

function started(
  deps: ActivityDeps,
  claim: NodeClaim,
  node: Node | undefined,
  deadline: number | undefined,
): TerminationStart {
  const providerId = claim.status?.providerID;
  return {
    state: 'terminating',
    ...(providerId === undefined || providerId === '' ? {} : { providerId }),
    ...(node === undefined ? {} : { nodeName: nameOf(node) }),
    ...(isTrue(claim.status?.conditions, 'Initialized') ? {} : { mayBeLaunching: true }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(node === undefined ? {} : drainFacts(deps, claim, node)),
  };
}

/** Facts for the drain: the longest grace period of the pods, and the steps if the drain is stuck. */
function drainFacts(
  deps: ActivityDeps,
  claim: NodeClaim,
  node: Node,
): Pick<Extract<TerminationStart, { state: 'terminating' }>, 'longestGraceMs' | 'escalation'> {
  const pods = deps.cache.podsOnNode(nameOf(node)).filter((pod) => isDrainable(pod, deps.now()));
  const policy = policyOf(poolOf(deps.cache, claim), deps.cache.all('DisruptionPolicy'));
  const escalation = policy?.spec.drainEscalation?.map(({ after, action }) => ({
    afterMs: parseDuration(after, 'drainEscalation.after'),
    action,
  }));
  return {
    ...(pods.length === 0 ? {} : { longestGraceMs: Math.max(...pods.map(graceOf)) }),
    ...(escalation === undefined || escalation.length === 0 ? {} : { escalation }),
  };
}

/** Publishes on NodeClaim and Node when the protection of pods ends (events/protection-ends). */
function announce(deps: ActivityDeps, claim: NodeClaim, node: Node | undefined, deadline: number): void {
  const name = node?.metadata.name;
  const event = {
    type: 'Warning',
    reason: 'TerminationGracePeriodExpiring',
    message: `All pods will be deleted by ${timestamp(deadline)}`,
  } as const;
  deps.events.publish({ ...event, regarding: regarding('NodeClaim', claim.metadata) });
  if (name !== undefined) deps.events.publish({ ...event, regarding: regarding('Node', { name }) });
}

async function deleteClaim(deps: ActivityDeps, claim: NodeClaim, reason: string): Promise<void> {
  const { name, uid } = identityOf(claim);
  if ((await deleteLaunchedClaim(deps.kube, { name, uid })) === 'gone') return;
  deps.log.info({ nodeClaim: name, reason }, 'deleting a NodeClaim');
  // If a person deletes the Node, that is the disruption, and Stowage only follows (termination/deleted-node).
  if (reason !== 'deleted') countDisrupted(deps, claim, reason);
}

/** The earliest of the requested deadline, the annotation and terminationGracePeriod. */
function deadlineOf(claim: NodeClaim, asked: number | undefined): number | undefined {
  const grace = parseNillableDuration(claim.spec.terminationGracePeriod, 'terminationGracePeriod');
  const deadline = Math.min(
    asked ?? Number.POSITIVE_INFINITY,
    stampedDeadline(claim),
    Date.parse(claim.metadata.deletionTimestamp ?? '') + grace,
  );
  return Number.isFinite(deadline) ? deadline : undefined;
}

/** Never overwritten by a later time. */
async function annotateDeadline(deps: ActivityDeps, ref: ClaimRef, deadline: number, seen?: NodeClaim): Promise<void> {
  const decide = (claim: NodeClaim): ClaimChange | undefined => {
    if (stampedDeadline(claim) <= deadline) return undefined;
    return { metadata: { annotations: { [annotations.terminationTimestamp]: timestamp(deadline) } } };
  };
  await updateClaim(deps.kube, ref, decide, seen);
}

/**
 * Taints the registered Node and any other of its instance, excludes them from load balancers and deletes them;
 * unregistered Nodes stay unchanged. Returns the first.
 */
async function deletingNode(deps: ActivityDeps, claim: NodeClaim, isUrgent: boolean): Promise<Node | undefined> {
  const { conditions, nodeName, providerID } = claim.status ?? {};
  if (!isTrue(conditions, 'Registered')) return undefined;
  const registered = nodeName ?? nodeOf(deps.cache, claim)?.metadata.name;
  if (registered === undefined) return undefined;
  const otherwise = async (name: string, refusal: Error): Promise<Node | undefined> => {
    if (await instanceIsGone(deps, name)) return heldNode(deps, name, refusal);
    if (!isUrgent) throw refusal;
    const cordoned = await cordonHeldNode(deps, name, refusal);
    const message = `The node is cordoned and drained, because the API server refuses its taint: ${refusal.message}`;
    const subject = regarding('Node', { name });
    deps.events.publish({ regarding: subject, type: 'Warning', reason: 'FailedDraining', message });
    return cordoned;
  };
  const nodes = await markNodes(deps, nodesOfInstance(deps.cache, registered, providerID), providerID, otherwise);
  const [node] = nodes;
  if (node === undefined) return undefined;
  if (conditionOf(conditions, 'Drained') === undefined) {
    const message = 'the node is being drained';
    const draining = { type: 'Drained', status: 'Unknown', reason: 'Draining', message } as const;
    await reportConditions(deps, identityOf(claim), [draining]);
  }
  return node;
}

/** Intervals of the attempts until an instance is gone, which usually takes a minute. */
const endsWithin = [10_000, 25_000, 30_000];
const laterIntervals = { from: 140, ms: 60_000 };

async function endInstance(deps: ActivityDeps, claim: ClaimRef, providerId: string): Promise<void> {
  const state = await deps.cloud.terminate(providerId, launchedAt(deps, claim));
  deps.log.info({ providerId, state }, 'terminating an instance');
  if (state === 'gone') return;
  await reportConditions(deps, claim, [{ type: 'InstanceTerminating', status: 'True' }]);
  const attempt = currentAttempt()?.number ?? 1;
  const againMs = attempt < laterIntervals.from ? (endsWithin[attempt - 1] ?? endsWithin.at(-1)) : laterIntervals.ms;
  throw new DomainError('Waiting', `instance ${providerId} is ending`, { againMs });
}

/** When the NodeClaim got its instance, milliseconds of the epoch; undefined if unknown. */
function launchedAt({ cache }: ActivityDeps, { name }: ClaimRef): number | undefined {
  const at = conditionOf(cache.get('NodeClaim', { name })?.status?.conditions, 'Launched')?.lastTransitionTime;
  return at === undefined ? undefined : Date.parse(at);
}

async function finish(
  deps: ActivityDeps,
  { claim: ref, providerId, nodeName, reason }: Parameters<FinishActivities['finishTermination']>[0],
): Promise<void> {
  if (providerId !== undefined) await endInstance(deps, ref, providerId);
  const claim = await getClaim(deps.kube, ref);
  const nodepool = claim?.metadata.labels?.[labels.nodePool] ?? '';
  const held = nodeName === undefined ? [] : await releaseAll(deps, { nodeName, providerId, claim }, nodepool);
  if (claim === undefined) return;
  if (held.length > 0) {
    await holdFor(deps, ref, held);
    return;
  }
  const released = ({ metadata }: NodeClaim): ClaimChange | undefined =>
    metadata.finalizers?.includes(finalizers.termination) === true
      ? { metadata: { finalizers: metadata.finalizers.filter((name) => name !== finalizers.termination) } }
      : undefined;
  await updateClaim(deps.kube, ref, released, claim);
  deps.log.info({ nodeClaim: ref.name, reason }, 'terminated a node');
  deps.metrics.count('nodeclaims_terminated_total', {
    nodepool,
    capacity_type: claim.metadata.labels?.[labels.capacityType] ?? '',
    zone: claim.metadata.labels?.[labels.zone] ?? '',
  });
  observeAge(deps, 'nodeclaims_termination_duration_seconds', nodepool, claim.metadata.deletionTimestamp);
  const since = terminatingSince(claim);
  observeAge(deps, 'nodeclaims_instance_termination_duration_seconds', nodepool, since);
}

/**
 * The NodeClaim stays until its Nodes are gone: owners of other finalizers may read it until then
 * (termination/node-first).
 */
async function holdFor(deps: ActivityDeps, ref: ClaimRef, held: readonly string[]): Promise<void> {
  const message = `the instance is gone, and others' finalizers hold ${held.join(', ')}`;
  await reportConditions(deps, ref, [{ type: 'InstanceTerminating', status: 'True', message }]);
  deps.log.info({ nodeClaim: ref.name, held }, 'a NodeClaim waits for its Node, which others hold');
}

/** Releases every Node of the instance; returns those that others still hold. */
async function releaseAll(
  deps: ActivityDeps,
  { nodeName, providerId, claim }: { nodeName: string; providerId: string | undefined; claim: NodeClaim | undefined },
  nodepool: string,
): Promise<readonly string[]> {
  const instance = providerId ?? claim?.status?.providerID;
  const held: string[] = [];
  for (const name of nodesOfInstance(deps.cache, nodeName, instance))
    held.push(...(await release(deps, { name, instance }, nodepool)));
  return held;
}

/**
 * Removes Stowage's finalizer from a Node that is being deleted; returns the Node with the finalizers that still block
 * it. A Node of another instance with the name stays unchanged: its pods may not be drained yet.
 */
async function release(
  deps: ActivityDeps,
  { name, instance }: { readonly name: string; readonly instance: string | undefined },
  nodepool: string,
): Promise<readonly string[]> {
  const seen = { isOurs: false };
  const node = await updateNode(deps.kube, name, ({ metadata, spec }) => {
    if (instance !== undefined && spec?.providerID !== instance) return undefined;
    const isOurs = metadata.finalizers?.includes(finalizers.termination) === true;
    seen.isOurs = isOurs;
    return metadata.deletionTimestamp !== undefined && isOurs
      ? { metadata: { finalizers: metadata.finalizers?.filter((one) => one !== finalizers.termination) } }
      : undefined;
  });
  if (node?.metadata.deletionTimestamp === undefined) return [];
  if (instance !== undefined && node.spec?.providerID !== instance) return [];
  // A Node that other finalizers block is counted only once.
  if (seen.isOurs) countTerminated(deps, node, nodepool);
  const others = node.metadata.finalizers ?? [];
  return others.length === 0 ? [] : [`${name} (${others.join(', ')})`];
}

function countTerminated(deps: ActivityDeps, node: Node, nodepool: string): void {
  const zone = node.metadata.labels?.[labels.zone] ?? '';
  deps.metrics.count('nodes_terminated_total', { nodepool, zone });
  observeAge(deps, 'nodes_termination_duration_seconds', nodepool, node.metadata.deletionTimestamp);
  observeAge(deps, 'nodes_lifetime_duration_seconds', nodepool, node.metadata.creationTimestamp);
}

/** When the cloud began to end the instance; undefined when it was gone before. */
function terminatingSince({ status }: NodeClaim): string | undefined {
  const terminating = conditionOf(status?.conditions, 'InstanceTerminating');
  return terminating?.status === 'True' ? terminating.lastTransitionTime : undefined;
}

function observeAge(
  deps: ActivityDeps,
  name: Parameters<ActivityDeps['metrics']['observe']>[0],
  nodepool: string,
  since: string | undefined,
): void {
  if (since !== undefined) deps.metrics.observe(name, { nodepool }, (deps.now() - Date.parse(since)) / 1000);
}
