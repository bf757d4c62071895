import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node } from '../../api/kubernetes.js';
import { finalizers, labels } from '../../api/labels.js';
import type { LaunchedInstance } from '../../cloud/port.js';
import { conditionOf, isTrue, transitionOf } from '../../core/conditions.js';
import type { ConditionChange } from '../../core/conditions.js';
import type { ClaimRef } from '../../workflows/messages.js';
import type { ClaimView, LaunchActivities, NodeSync, RefusedWrite } from './contract.js';
import { conditionsWith, setConditions, quantitiesOf } from '../claim-status.js';
import type { ActivityDeps } from '../deps.js';
import { countDisrupted } from '../../cluster/disrupted-metrics.js';
import { endedWhileAwaited, noteEndedUnregistered } from '../ended-instance.js';
import { InitializationBatches } from './initialization-batches.js';
import { isUnregistered } from '../../cluster/cluster.js';
import { consistency } from '../../cluster/consistency.js';
import { labelsOf } from '../../cluster/node-labels.js';
import { openLabels, registration, whyNotInitialized, withOpenLabels } from './node-readiness.js';
import { nominatePlanned } from '../provisioning/nominate.js';
import { PodNominator } from '../provisioning/pod-nominator.js';
import { isTagged, tagInstance } from '../../cluster/tagging.js';
import { recordRegistration } from '../registration-health.js';
import { recordRefusal } from '../provisioning/refusals.js';
import { isRefusedWrite } from '../refusals.js';
import { withFailures } from '../to-failure.js';
import { getClaim, updateClaim, updateNode } from '../../cluster/writes.js';
import type { ClaimChange } from '../../cluster/writes.js';
import { lookUp } from '../../core/own.js';
import { instanceEnded, nodeNotFound } from '../../core/registration-health.js';
import { hasUnregisteredTaint } from '../../core/taints.js';
import { regarding } from '../../core/events.js';
import { messageOf } from '../../core/error-message.js';
import { nameOf, isDeleting } from '../../core/names.js';

/**
 * Activities of `launchNode` on the API server (docs/behaviour/registration.md). Each reads the live NodeClaim and
 * writes only if it has not changed since.
 */
export function createLaunchActivities(deps: ActivityDeps): LaunchActivities {
  const nominations = {
    nominator: new PodNominator(deps),
    batches: new InitializationBatches({ idleMs: 1000, maxMs: 5000 }),
  };
  return withFailures<LaunchActivities>({
    prepareClaim: ({ claim }) => unlessRefused(() => prepare(deps, claim)),
    viewClaim: async ({ claim }) => viewOf(await getClaim(deps.kube, claim)),
    recordLaunch: ({ claim, instance }) => unlessRefused(() => recordInstance(deps, claim, instance)),
    syncNode: async (input) => {
      const state = await sync(deps, input, nominations);
      if ('nodeName' in state) beginTagging(deps, input.claim, state);
      return state;
    },
    failClaim: (input) => fail(deps, input),
  });
}

/**
 * Returns a refusal of the API server instead of throwing it. The workflow limits the retries, because a refusal lasts
 * until a person changes something (launch/refused-writes).
 */
async function unlessRefused<T>(write: () => Promise<T>): Promise<T | RefusedWrite> {
  try {
    return await write();
  } catch (error) {
    if (!isRefusedWrite(error)) throw error;
    return { state: 'refused', message: error.message };
  }
}

async function prepare(deps: ActivityDeps, ref: ClaimRef): Promise<ClaimView> {
  const claim = await updateClaim(deps.kube, ref, (live) => {
    if (isDeleting(live)) return undefined;
    const present = live.metadata.finalizers ?? [];
    const hasConditions = live.status?.conditions?.some(({ type }) => type === 'Ready') ?? false;
    if (present.includes(finalizers.termination) && hasConditions) return undefined;
    return {
      metadata: { finalizers: [...new Set([...present, finalizers.termination])] },
      status: { conditions: conditionsWith(deps, live) },
    };
  });
  return viewOf(claim);
}

function viewOf(claim: NodeClaim | undefined): ClaimView {
  if (claim === undefined) return { state: 'gone' };
  const { providerID, conditions, nodeName } = claim.status ?? {};
  const instance = providerID === undefined || providerID === '' ? {} : { providerId: providerID };
  if (isDeleting(claim)) return { state: 'deleting', ...instance };
  const launchedAt = isTrue(conditions, 'Launched') ? transitionOf(conditions, 'Launched') : undefined;
  return {
    state: 'live',
    ...instance,
    registered: isTrue(conditions, 'Registered'),
    initialized: isTrue(conditions, 'Initialized'),
    ...(launchedAt === undefined ? {} : { launchedAt }),
    ...(nodeName === undefined ? {} : { nodeName }),
  };
}

/**
 * Writes the launched instance to the NodeClaim. Labels of the NodePool or user override those of the provider
 * (launch/labels).
 */
export async function recordInstance(
  deps: Pick<ActivityDeps, 'kube' | 'now'>,
  ref: ClaimRef,
  instance: LaunchedInstance,
  seen?: NodeClaim,
): Promise<undefined> {
  const decide = (claim: NodeClaim): ClaimChange => {
    const isRegistered = isTrue(claim.status?.conditions, 'Registered');
    return {
      metadata: {
        labels: { ...instance.labels, ...claim.metadata.labels },
        annotations: { ...claim.metadata.annotations, ...instance.annotations },
      },
      status: {
        providerID: instance.providerId,
        ...(instance.imageId === undefined ? {} : { imageID: instance.imageId }),
        capacity: quantitiesOf(instance.capacity),
        allocatable: quantitiesOf(instance.allocatable),
        conditions: conditionsWith(
          deps,
          claim,
          { type: 'Launched', status: 'True' },
          ...(isRegistered ? [] : [whyNoNode(undefined, false)]),
        ),
      },
    };
  };
  await updateClaim(deps.kube, ref, decide, seen);
  return undefined;
}

/** The reason for a node that waits for others before it takes pods. */
const waitsForOthers = {
  reason: 'OtherNodes',
  message: 'nodes that come up together take their pods together',
} as const;

/** The answer for a NodeClaim whose instance has ended. */
const awaitsNoNode = { state: 'waiting', reason: instanceEnded, registered: false, instanceEnded: true } as const;

interface Nominations {
  readonly nominator: PodNominator;
  /**
   * Nodes that are about to be initialized. Each initialized node makes kube-scheduler try all pending pods, and clear
   * the nominations of those whose nodes are not initialized yet. So nodes that come up at the same time are
   * initialized together.
   */
  readonly batches: InitializationBatches;
}

async function sync(
  deps: ActivityDeps,
  { claim: ref, live = false }: { readonly claim: ClaimRef; readonly live?: boolean },
  { nominator, batches }: Nominations,
): Promise<NodeSync> {
  const claim = await claimToSync(deps, ref, live);
  if (claim === undefined) return { state: 'gone' };
  const withoutInstance = stateWithoutInstance(claim);
  if (withoutInstance !== undefined) return withoutInstance;
  const nodes = await nodesOfInstance(deps, claim, live);
  const [node] = nodes;
  if (node === undefined || nodes.length > 1) return awaitNode(deps, ref, claim, node);
  const wasRegistered = isTrue(claim.status?.conditions, 'Registered');
  const wasInitialized = isTrue(claim.status?.conditions, 'Initialized');
  const registered = wasRegistered && !isUnregistered(node, claim);
  const againMs = wasInitialized ? 0 : await nominate(deps, claim, node, { registered, nominator, batches });
  if (againMs > 0) return { state: 'waiting', ...waitsForOthers, againMs };
  try {
    return await (registered ? initialise(deps, ref, claim, node) : registerAndInitialise(deps, ref, claim, node));
  } catch (error) {
    if (!(error instanceof NodeRefused)) throw error;
    return waitForNodeWrites(deps, ref, claim, error.message);
  }
}

/**
 * The NodeClaim from the watch cache if it has an instance, which a NodeClaim never loses; otherwise from the API
 * server. A cached version is safe, because writes check the version that was read.
 */
async function claimToSync(deps: ActivityDeps, ref: ClaimRef, live: boolean): Promise<NodeClaim | undefined> {
  const known = live ? undefined : deps.cache.get('NodeClaim', { name: ref.name });
  const isLaunched = known?.metadata.uid === ref.uid && (known.status?.providerID ?? '') !== '';
  return isLaunched ? known : getClaim(deps.kube, ref);
}

/** The instance has no Node, or more than one (`node`). */
async function awaitNode(
  deps: ActivityDeps,
  ref: ClaimRef,
  claim: NodeClaim,
  node: Node | undefined,
): Promise<Extract<NodeSync, { state: 'waiting' }>> {
  const registered = isTrue(claim.status?.conditions, 'Registered');
  const { reason, message, ...condition } = whyNoNode(node, registered);
  // The conditions of an initialized NodeClaim stay while its Node is created again.
  if (!isTrue(claim.status?.conditions, 'Initialized'))
    await setConditions(deps, ref, [{ ...condition, reason, message }], { seen: claim });
  const ended = node === undefined && !registered ? await endedWhileAwaited(deps, claim) : undefined;
  if (ended !== undefined) return { ...awaitsNoNode, message: ended.message };
  return { state: 'waiting', reason, message, registered };
}

/** The API server refused a write of the Node, as opposed to a write of the NodeClaim. */
class NodeRefused extends Error {}

const writeNode: typeof updateNode = async (...args) => {
  try {
    return await updateNode(...args);
  } catch (error) {
    throw isRefusedWrite(error) ? new NodeRefused(error.message) : error;
  }
};

/** A Node that cannot be written is awaited like a missing one, with the same timeout (launch/refused-writes). */
async function waitForNodeWrites(deps: ActivityDeps, ref: ClaimRef, claim: NodeClaim, why: string): Promise<NodeSync> {
  const registered = isTrue(claim.status?.conditions, 'Registered');
  const refused = { reason: 'NodeWriteRefused', message: `The API server refused a write of the Node: ${why}` };
  const type = registered ? 'Initialized' : 'Registered';
  // An initialized NodeClaim keeps its condition.
  if (!isTrue(claim.status?.conditions, type))
    await setConditions(deps, ref, [{ type, status: 'Unknown', ...refused }]);
  deps.log.warn({ nodeClaim: ref.name, error: why }, 'the API server refused a write of a Node');
  return { state: 'waiting', registered, ...refused };
}

/** The answer for a NodeClaim that is being deleted or has no instance; undefined otherwise. */
function stateWithoutInstance({ metadata, status }: NodeClaim): NodeSync | undefined {
  if (metadata.deletionTimestamp !== undefined) return { state: 'deleting' };
  return (status?.providerID ?? '') === '' ? { state: 'unlaunched' } : undefined;
}

/**
 * Nominates before the taint is removed, since pods are bound from then on, and again at each later sync for pods that
 * lost their nomination. Returns after how many milliseconds the node is initialized together with others.
 */
async function nominate(
  deps: ActivityDeps,
  claim: NodeClaim,
  node: Node,
  { registered, nominator, batches }: Nominations & { readonly registered: boolean },
): Promise<number> {
  const nominated = await nominatePlanned(deps, claim, nameOf(node), nominator);
  const { uid = '' } = claim.metadata;
  return !registered && (nominated > 0 || batches.isWaiting(uid)) ? batches.waitMs(uid, deps.now()) : 0;
}

/** The instance has no Node, or more than one. */
function whyNoNode(node: Node | undefined, wasRegistered: boolean) {
  return node === undefined
    ? ({
        type: wasRegistered ? 'Initialized' : 'Registered',
        status: 'Unknown',
        ...nodeNotFound,
      } as const)
    : ({
        type: 'Registered',
        status: 'False',
        ...{ reason: 'MultipleNodesFound', message: 'Invariant violated, matched multiple nodes' },
      } as const);
}

/** The unregistered taint stays until all labels are known, because pods may be spread over one of them. */
async function registerAndInitialise(
  deps: ActivityDeps,
  ref: ClaimRef,
  claim: NodeClaim,
  node: Node,
): Promise<NodeSync> {
  const complete = await withOpenLabels(deps, ref, claim);
  if (complete !== undefined) return register(deps, ref, complete, node);
  const message = `The cloud has not reported ${openLabels(deps, claim).join(', ')} of the instance yet`;
  const change = { reason: 'RegistrationHookPending', message };
  await setConditions(deps, ref, [{ type: 'Registered', status: 'Unknown', ...change }], { seen: claim });
  return { state: 'waiting', ...change };
}

async function nodesOfInstance(deps: ActivityDeps, { status }: NodeClaim, live: boolean): Promise<readonly Node[]> {
  const providerId = status?.providerID ?? '';
  const nodes = live ? await deps.kube.list('Node') : deps.cache.all('Node');
  return nodes.filter(({ spec }) => spec?.providerID === providerId);
}

/** Writes the Node once and the NodeClaim once, even if the node can be initialized at the same time. */
async function register(deps: ActivityDeps, ref: ClaimRef, claim: NodeClaim, found: Node): Promise<NodeSync> {
  const name = nameOf(found);
  if (!hasUnregisteredTaint(found) && found.metadata.labels?.[labels.registered] === undefined) {
    deps.events.publish({
      regarding: regarding('NodeClaim', claim.metadata),
      type: 'Warning',
      reason: 'UnregisteredTaintMissing',
      message: 'Missing karpenter.sh/unregistered taint which prevents registration-related race conditions',
    });
  }
  const decide = (live: Node): ReturnType<typeof registration> => {
    const { metadata, spec } = registration(claim, live);
    const isReady = whyNotInitialized(claim, { ...live, spec: { ...live.spec, ...spec } }) === undefined;
    const own = isReady ? { ...metadata.labels, ...initializedLabel } : metadata.labels;
    return { metadata: { ...metadata, labels: own }, spec };
  };
  const node = (await writeNode(deps.kube, name, decide, found)) ?? found;
  if (isTrue(claim.status?.conditions, 'Registered')) {
    deps.log.warn(
      { nodeClaim: ref.name, node: name },
      'registered a Node again that was created without the labels of its NodeClaim',
    );
    return initialise(deps, ref, claim, node);
  }
  const why = whyNotInitialized(claim, node);
  const state = { isFirst: false };
  const changes = [{ type: 'Registered', status: 'True' } as const, ...initialization(why, claim, node)];
  const registered = (live: NodeClaim): ClaimChange => {
    state.isFirst = !isTrue(live.status?.conditions, 'Registered');
    return { status: { conditions: conditionsWith(deps, live, ...changes), nodeName: name } };
  };
  await updateClaim(deps.kube, ref, registered, claim);
  // The cached NodeClaim may be older than another attempt, which has counted the registration already.
  if (state.isFirst) {
    await recordRegistration(deps, claim, { registered: true });
    const { nodePool, zone } = labelsOf(claim);
    deps.metrics.count('nodes_created_total', { nodepool: nodePool, zone });
  }
  return nodeUp(node, why);
}

const initializedLabel = { [labels.initialized]: 'true' };

type WhyNotInitialized = ReturnType<typeof whyNotInitialized>;

/** An initialized node shows at once whether it is what was launched (registration/consistency). */
const initialization = (why: WhyNotInitialized, claim: NodeClaim, node: Node): readonly ConditionChange[] =>
  why === undefined
    ? [{ type: 'Initialized', status: 'True' }, consistency(claim, node)]
    : [{ type: 'Initialized', status: 'Unknown', ...why }];

type NodeUp = Extract<NodeSync, { nodeName: string }>;

/**
 * The launch does not wait for the tags, since a node works without them. Failures are left to the garbage collection,
 * which tags what has no tags.
 */
function beginTagging(deps: ActivityDeps, claim: ClaimRef, { providerId, nodeName }: NodeUp): void {
  const known = deps.cache.get('NodeClaim', { name: claim.name });
  if (known !== undefined && isTagged(known)) return;
  tagInstance(deps, { claim, providerId, nodeName }).catch((error: unknown) => {
    deps.log.debug({ nodeClaim: claim.name, error: messageOf(error) }, 'could not tag an instance yet');
  });
}

/** The answer for a registered node. */
const nodeUp = (node: Node, why: WhyNotInitialized): NodeUp => ({
  state: why === undefined ? 'initialized' : 'registered',
  nodeName: nameOf(node),
  providerId: node.spec?.providerID ?? '',
  ...(why ?? { reason: 'Initialized', message: '' }),
});

async function initialise(deps: ActivityDeps, ref: ClaimRef, claim: NodeClaim, node: Node): Promise<NodeSync> {
  const wasInitialized = isTrue(claim.status?.conditions, 'Initialized');
  if (wasInitialized && node.metadata.labels?.[labels.initialized] !== undefined) return nodeUp(node, undefined);
  const why = whyNotInitialized(claim, node);
  if (why === undefined)
    await writeNode(deps.kube, nameOf(node), () => ({ metadata: { labels: initializedLabel } }), node);
  // A Node that was created again does not reset the condition of its NodeClaim.
  if (why === undefined || !wasInitialized)
    await setConditions(deps, ref, initialization(why, claim, node), { seen: claim });
  return nodeUp(node, why);
}

/**
 * Deletes a NodeClaim without capacity or without a node in time; its pods are planned again (launch/no-capacity,
 * launch/timeouts).
 */
async function fail(deps: ActivityDeps, input: Parameters<LaunchActivities['failClaim']>[0]): Promise<void> {
  const { claim: ref, reason, message, refused = false } = input;
  const claim = await getClaim(deps.kube, ref);
  if (claim === undefined) return;
  const event = lookUp(failureEvents, reason);
  if (event !== undefined) {
    deps.events.publish({
      regarding: regarding('NodeClaim', claim.metadata),
      type: 'Warning',
      reason: event,
      message: `NodeClaim ${ref.name} event: ${message.slice(0, 300)}`,
    });
  }
  if (timeouts.has(reason)) {
    await recordRegistration(deps, claim, { registered: false, at: deps.now(), ...pendingStep(claim) });
  }
  if (reason === 'instance_ended') await noteEndedUnregistered(deps, claim, message);
  // Excludes the NodePool for a while, so that another NodePool may get the pods.
  const pool = refused ? await deps.kube.get('NodePool', { name: labelsOf(claim).nodePool }) : undefined;
  if (pool !== undefined) await recordRefusal(deps, pool, message, { isLasting: true });
  const outcome = await deps.kube.delete('NodeClaim', { name: ref.name }, { uid: ref.uid });
  if (outcome === 'gone') return;
  deps.log.info({ nodeClaim: ref.name, reason, message }, 'deleted a NodeClaim that got no node');
  countDisrupted(deps, claim, reason);
}

/** Reasons that show that nodes of the NodePool do not come up (launch/timeouts). */
const timeouts: ReadonlySet<string> = new Set(['launch_timeout', 'registration_timeout']);

function pendingStep({ status }: NodeClaim): { reason: string; message: string } | undefined {
  const launched = conditionOf(status?.conditions, 'Launched');
  if (launched === undefined || launched.status === 'True') return undefined;
  return { reason: launched.reason ?? 'LaunchFailed', message: launched.message ?? '' };
}

const failureEvents: Readonly<Record<string, string>> = {
  insufficient_capacity: 'InsufficientCapacityError',
  nodeclass_not_ready: 'NodeClassNotReady',
};
