import type { ActivityDeps } from '../deps.js';
import { withFailures } from '../to-failure.js';
import type { PodExplanation } from '../../workflows/messages.js';
import type { NodeExplanationActivities, PodExplanationActivities } from './contract.js';
import { whyPaused } from '../../cluster/pauses.js';
import { type DisruptionWait, waitOf } from '../../cluster/disruption-wait.js';
import { cutText, verb } from '../../core/text.js';
import { timeText } from '../../core/time.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { NodeVerdict, Pause, RunningDisruption } from '../../workflows/messages.js';
import type { DisruptionView } from '../disruption-context/contract.js';
import { whyNotTaken } from '../consolidation/find-consolidation.js';
import { disruptionContext, iso, pausableOf } from '../disruption-context/disruption-context.js';
import { disruptionBlockers, waitOfDrifted } from '../disruption-context/disruption-blockers.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { awaitingReconciliation, claimLifecycle, conditionOf } from '../../core/conditions.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { pinnedValue } from '../../core/launch-options.js';
import { controllerOf } from '../../core/owners.js';
import { isNodeBound, isTerminal } from '../../core/pods.js';
import { podsWithRelaxedPreferences } from '../../packing/output/relaxed-pods.js';
import { placesOf, whyNoPlace } from '../../packing/places.js';
import type { Plan } from '../../packing/types.js';
import { managedPools } from '../../cluster/cluster.js';
import { preferencesHonoured } from '../provisioning/ignored-preferences.js';
import { packingInput } from '../../cluster/packing-input.js';
import { refusalsInForce, refusalText } from '../../cluster/refused-pods.js';
import { awaitedNode, lacksNode } from '../../cluster/awaited-nodes.js';
import { fullName } from '../../core/names.js';
import type { NamespacedName } from '../../core/refs.js';

const defaultScheduler = 'default-scheduler';
const mostBlockers = 10;
/** The most groups of instance types that are listed for a NodePool. */
const mostGroups = 5;

/** Explains the state of a pod, by a new plan for the current cluster; writes nothing. */
export async function explainPod(deps: ActivityDeps, { namespace, name }: NamespacedName): Promise<PodExplanation> {
  const pod = deps.cache.get('Pod', { namespace, name });
  if (pod === undefined) return { state: 'unknown', why: `pod ${namespace}/${name} does not exist`, details: [] };
  if (isTerminal(pod)) return { state: 'ended', why: `it has ended: ${pod.status?.phase ?? ''}`, details: [] };
  const { nodeName } = pod.spec;
  if (nodeName !== undefined && nodeName !== '') {
    return { state: 'bound', node: nodeName, why: `it runs on node ${nodeName}`, details: [] };
  }
  const awaited = awaitedNode(deps, pod);
  if (awaited?.own === true) {
    return { state: 'planned', node: awaited.node, why: comingText(deps, awaited.node), details: [] };
  }
  if (isNodeBound(pod)) return { state: 'waiting', why: whyNodeBound(pod), details: await saidOf(deps, pod) };
  if (!lacksNode(deps, pod)) return { state: 'waiting', why: whyNotOurs(deps, pod), details: [] };
  const refusal = refusalsInForce(deps)(pod);
  if (refusal !== undefined) return { state: 'unschedulable', why: refusalText(refusal), details: [] };
  await deps.offerings.refresh();
  const input = await packingInput(deps, managedPools(deps));
  const key = fullName(pod);
  const plan = await deps.packer.plan({
    ...input,
    settings: { ...input.settings, explainTypes: true },
    about: new Set([key]),
  });
  const out = [...input.catalogues.values()].flatMap(outOfCapacity);
  const details = [
    ...(await saidOf(deps, pod)),
    ...preferencesIgnored(plan, key),
    ...preferencesRelaxed(plan, key),
    ...blockersOf(plan, key),
    ...typesStopped(plan, key),
    ...out,
  ];
  return { ...placeIn(plan, key), details: [...new Set(details)] };
}

/** The last message of the pod's scheduler, from the API server, because the cache keeps no messages. */
async function saidOf({ kube }: Pick<ActivityDeps, 'kube'>, { metadata }: Pod): Promise<string[]> {
  const live = await kube.get('Pod', { namespace: metadata.namespace ?? 'default', name: metadata.name ?? '' });
  const message = conditionOf(live?.status?.conditions, 'PodScheduled')?.message ?? '';
  return message === '' ? [] : [`its scheduler says: ${message}`];
}

/**
 * `node` is the NodeClaim's name while there is no Node, and the NodeClaim has no instance until its launch succeeds.
 */
function comingText({ cache }: Pick<ActivityDeps, 'cache'>, node: string): string {
  const claim = cache.get('NodeClaim', { name: node });
  const isLaunched = claim === undefined || (claim.status?.providerID ?? '') !== '';
  const pending = claim === undefined ? undefined : pendingMessage(claim);
  if (isLaunched) return `${node} was launched for it${pending === undefined ? '' : `, and waits: ${pending}`}`;
  const why = pending === undefined ? 'has no instance yet' : `its launch fails: ${pending}`;
  return `${node} is to be launched for it, and ${why}: stowage why nodeclaim/${node}`;
}

/** The message of the first lifecycle condition of the NodeClaim that is not True. */
function pendingMessage({ status }: NodeClaim): string | undefined {
  const step = claimLifecycle
    .map((type) => conditionOf(status?.conditions, type))
    .find((condition) => condition !== undefined && condition.status !== 'True');
  return step?.reason === awaitingReconciliation || step?.message === '' ? undefined : step?.message;
}

function whyNotOurs(deps: ActivityDeps, pod: Pod): string {
  const { spec, metadata } = pod;
  if (metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  const awaited = awaitedNode(deps, pod);
  if (awaited !== undefined) return `kube-scheduler makes room for it on ${awaited.node}`;
  if ((spec.schedulingGates ?? []).length > 0) return 'its scheduling gates hold it back';
  const { schedulerName = defaultScheduler } = spec;
  const scheduler = schedulerName === defaultScheduler ? 'kube-scheduler' : `its scheduler, ${schedulerName},`;
  return `${scheduler} has not found it unschedulable (yet)`;
}

/** The DaemonSet controller pins each of its pods to a node by name. */
function whyNodeBound(pod: Pod): string {
  const { nodeSelectorTerms = [] } =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? {};
  const fields = nodeSelectorTerms.flatMap(({ matchFields = [] }) => matchFields);
  const node = fields.find(({ key, operator }) => key === 'metadata.name' && operator === 'In')?.values?.[0];
  const owner = controllerOf(pod);
  const whose = owner === undefined ? 'it' : `it belongs to ${owner.kind} ${owner.name} and`;
  return `${whose} can run ${node === undefined ? 'on its own node' : `on node ${node}`} only: no node is launched for it`;
}

function placeIn(plan: Plan, key: string): Omit<PodExplanation, 'details'> {
  const place = placesOf(plan).get(key);
  switch (place?.state) {
    case 'existing':
      return { state: 'planned', node: place.node, why: `it fits on ${place.node}, which exists or is being launched` };
    case 'launched': {
      const { nodePool, why } = place.claim;
      return { state: 'planned', why: `a node of NodePool ${nodePool} is planned for it: ${why}` };
    }
    case 'ignored':
      return { state: 'waiting', why: whyNoPlace(place)! };
    case 'unschedulable':
    case 'deferred':
      return { state: 'unschedulable', why: whyNoPlace(place)! };
    case undefined:
      return { state: 'waiting', why: 'planning does not count it among the pods that lack a node' };
  }
}

function preferencesIgnored(plan: Plan, key: string): string[] {
  return (plan.ignoredPreferences ?? [])
    .filter(({ pod }) => pod === key)
    .map(
      ({ honoured, ignored }) =>
        `${ignored} of its ${honoured + ignored} preferences are ignored: ${preferencesHonoured(honoured)}`,
    );
}

function preferencesRelaxed(plan: Plan, key: string): string[] {
  return podsWithRelaxedPreferences(plan)
    .filter(({ pod }) => pod === key)
    .map(({ preferences, relaxed }) => {
      const which = preferences === 1 ? 'its preference' : `${relaxed} of its ${preferences} preferences`;
      return `${which} ${verb(relaxed, 'is', 'are')} relaxed, so that it has a node`;
    });
}

function blockersOf(plan: Plan, key: string): string[] {
  const stuck = plan.unschedulable.find(({ pod }) => pod === key);
  return (stuck?.blockers ?? [])
    .slice(0, mostBlockers)
    .map(({ nodePool, message }) => (nodePool === undefined ? message : `${nodePool}: ${message}`));
}

/** What excludes the instance types of each NodePool, largest groups first. */
function typesStopped(plan: Plan, key: string): string[] {
  const place = plan.unschedulable.find(({ pod }) => pod === key)?.explanation;
  const nodePools = place === undefined ? [] : (plan.explanations?.[place]?.nodePools ?? []);
  return nodePools
    .slice(0, mostBlockers)
    .flatMap(({ nodePool, typeGroups }) =>
      typeGroups.slice(0, mostGroups).map(({ group, message }) => `${nodePool}: ${group}: ${message}`),
    );
}

/** By zone and capacity type: how many types of a catalogue are unavailable for lack of capacity, and until when. */
function outOfCapacity(types: readonly InstanceType[]): string[] {
  const places = new Map<string, { out: Offering[]; all: number }>();
  for (const { offerings } of types) {
    for (const offering of offerings) {
      const zone = pinnedValue(offering.requirements, labels.zone) ?? '';
      const capacityType = pinnedValue(offering.requirements, labels.capacityType) ?? '';
      const key = `${capacityType} in zone ${zone}`;
      const place = places.get(key) ?? { out: [], all: 0 };
      place.all += 1;
      if (offering.unavailableUntil !== undefined) place.out.push(offering);
      places.set(key, place);
    }
  }
  return [...places]
    .filter(([, { out }]) => out.length > 0)
    .map(([place, { out, all }]) => {
      const until = Math.min(...out.map(({ unavailableUntil = 0 }) => unavailableUntil));
      const how = out.length === all ? `no ${place} has capacity` : `${out.length} of ${all} types lack ${place}`;
      return `${how} (${out[0]?.unavailableReason ?? ''}); tried again at ${timeText(until)}`;
    })
    .sort();
}

/**
 * Whether a node may be consolidated now and if not why, as `findDisruptions` would judge it
 * (candidates/disruptable-nodes).
 */
export async function explainNode(
  deps: ActivityDeps,
  { node, view }: { readonly node: string; readonly view: DisruptionView },
): Promise<NodeVerdict> {
  const context = await disruptionContext(deps, view);
  const at = iso(context.now);
  const own = context.views.find((each) => pausableOf(each).node === node);
  if (own === undefined) return { node, verdict: 'unknown', why: 'no NodeClaim belongs to a node of that name', at };
  const running = context.running.find(({ candidates }) => candidates.some((one) => one.node === node));
  if (running !== undefined) return { node, verdict: 'going', why: runningText(running, own, context.pauses), at };
  const wait = waitOf(own.claim);
  if (wait !== undefined && !context.questions.some(({ workflowId }) => workflowId === wait.workflow))
    return { node, verdict: 'going', why: waitText(wait), at };
  const why = disruptionBlockers(own, context, context.running);
  const turn = waitOfDrifted(why);
  if (turn !== undefined) return { node, verdict: 'may go', why: turn, at };
  if (why.length > 0)
    return {
      node,
      verdict: 'stays',
      why: cutText(why.map((each) => cutText(each, mostOfPart)).join('; '), mostOfWhy),
      at,
    };
  const costs = await whyNotTaken(deps, context, node);
  if (costs !== undefined) return { node, verdict: 'stays', why: costs, at };
  return {
    node,
    verdict: 'may go',
    why: 'nothing blocks it, and removing it saves something: the next search decides, and what saves most goes first',
    at,
  };
}

const waitText = ({ reason, workflow, why, since }: DisruptionWait): string =>
  `${reason}: ${workflow} waits since ${timeText(since)}: ${why}`;

/** A pause stops a running disruption before its next irreversible step. */
function runningText({ reason, workflowId }: RunningDisruption, own: NodeView, pauses: readonly Pause[]): string {
  const paused = whyPaused(pauses, reason, pausableOf(own));
  return `${reason}: ${workflowId}${paused === undefined ? '' : `; ${paused}`}`;
}

/** Limits, because reasons may contain pod names and texts of people, of any length. */
const mostOfPart = 1000;
const mostOfWhy = 4000;

/** `stowage why` for nodes. */
export function createNodeExplanationActivities(deps: ActivityDeps): NodeExplanationActivities {
  return withFailures<NodeExplanationActivities>({ explainNode: (input) => explainNode(deps, input) });
}

/** `stowage why` for pods, which plans and so belongs to the packing queue. */
export function createPodExplanationActivities(deps: ActivityDeps): PodExplanationActivities {
  return withFailures<PodExplanationActivities>({ explainPod: (input) => explainPod(deps, input) });
}
