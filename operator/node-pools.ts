import { messageOf } from '../core/error-message.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { nodePoolIssues } from '../api/karpenter/node-pool-rules.js';
import type { Condition } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import { isManaged, managedClaims, nodeClassOf } from '../cluster/cluster.js';
import { labelsOf } from '../cluster/node-labels.js';
import { registrationSubject } from '../cluster/registration-subject.js';
import { updateObject } from '../cluster/writes.js';
import { claimRefusalsOn, refusalsOn } from '../core/refusals.js';
import {
  conditionOf,
  nodePoolReadiness,
  withCondition,
  withoutCondition,
  withReady,
  type ConditionChange,
} from '../core/conditions.js';
import { registrationHealth } from '../core/registration-health.js';
import { gateIsOff } from '../core/feature-gates.js';
import { isStatic } from '../disruption/static-capacity/static-capacity.js';
import { budgetProblems } from '../disruption/budgets/budget-problems.js';
import { mayDrift, templateDrift } from '../disruption/drift/drift.js';
import { nodePoolHash, nodePoolHashVersion } from '../disruption/drift/template-hash.js';
import type { InstanceType } from '../core/instance-type.js';
import { whyNoInstanceType, type NoInstanceType } from '../packing/output/pool-types.js';
import { inSpan } from './in-span.js';
import type { OperatorContext } from './context.js';
import { settleInTurn } from '../core/at-once.js';
import { reportingRefusals } from './refused-writes.js';
import { WorkQueue, type Requeue } from './work-queue.js';
import { lookUp } from '../core/own.js';
import { regarding } from '../core/events.js';
import { listedNames } from '../core/text.js';
import { timeText } from '../core/time.js';
import { usage } from './pool-usage.js';
import { countedAfterMs, updatesOf } from './up-to-date.js';
import { nameOf, isDeleting } from '../core/names.js';

/** Interval of checks for changes without an event: instance types, and expired refusals. Milliseconds. */
const everyMs = 60_000;

/** Writes status and hashes of NodePools (node-pools/status): on changes, and resources within five seconds of them. */
export function watchNodePools(context: OperatorContext): () => void {
  const { cache, log, stuck } = context;
  const reconciling = reportingRefusals(context, 'NodePool', (name) => reconcile(context, name));
  const queue = new WorkQueue('writing the status of a NodePool', reconciling, log);
  const all = (): Promise<Requeue> => {
    cache.all('NodePool').forEach(({ metadata }) => queue.add(metadata.name ?? ''));
    return Promise.resolve({ afterMs: everyMs });
  };
  const counts = new WorkQueue('counting the nodes of NodePools', all, log);
  const count = (): void => counts.addAfter('all', countedAfterMs);
  const look = (): void => counts.add('all');
  const stops = [
    cache.on('NodePool', ({ object, previous }) => {
      if (previous === undefined || withoutCounts(previous) !== withoutCounts(object)) queue.add(nameOf(object));
    }),
    cache.on(context.cloud.nodeClassKind.kind as 'EC2NodeClass', look),
    cache.on('Node', count),
    cache.on('NodeClaim', count),
    ...(stuck === undefined ? [] : [stuck.onPlanning(look)]),
  ];
  look();
  return () => {
    for (const stop of stops) stop();
    for (const each of [queue, counts]) each.stop();
  };
}

/** What is not written each time that nodes are counted: otherwise a count would cause the next. */
const withoutCounts = ({ metadata, status }: NodePool): string =>
  JSON.stringify([metadata.generation, metadata.labels, metadata.annotations, status?.conditions]);

async function reconcile(context: OperatorContext, name: string): Promise<undefined> {
  const pool = context.cache.get('NodePool', { name });
  if (pool === undefined || !isManaged(context, pool.spec.template.spec.nodeClassRef)) return undefined;
  // One write may be refused: without its status the NodePool would never be Ready.
  await settleInTurn([writeAnnotations, writeStatus], (write) => write(context, pool));
  return undefined;
}

async function writeAnnotations({ kube, now }: OperatorContext, pool: NodePool): Promise<void> {
  if (annotationsDue(pool, now()) === undefined) return;
  const decide = (live: NodePool): { metadata: object } | undefined => {
    const due = annotationsDue(live, now());
    return due === undefined ? undefined : { metadata: { annotations: due } };
  };
  await updateObject(kube, 'NodePool', nameOf(pool), decide, { seen: pool });
}

async function writeStatus(context: OperatorContext, pool: NodePool): Promise<void> {
  const { name = '' } = pool.metadata;
  const noTypes = await missingTypes(context, pool);
  publishNoTypes(context, pool, noTypes);
  const wanted = statusOf(context, pool, noTypes);
  const change = (live: NodePool): { readonly status: object } | undefined => {
    const status = wanted(live);
    const isSame = JSON.stringify(comparable({ status })) === JSON.stringify(comparable(live));
    return isSame ? undefined : { status: removing(live, status) };
  };
  if (change(pool) === undefined) return;
  const updated = await updateObject(context.kube, 'NodePool', name, change, { subresource: 'status', seen: pool });
  for (const type of [budgetsEffective, replicasKept, typesAvailable]) publishProblem(context, type, pool, updated);
  const ready = conditionOf(updated?.status?.conditions, 'Ready');
  if (ready !== undefined && ready.status !== conditionOf(pool.status?.conditions, 'Ready')?.status) {
    context.log.info({ nodePool: name, ready: ready.status, message: ready.message }, 'a NodePool changed');
    if (ready.status === 'True') await planPending(context);
  }
}

/**
 * Changes of its annotations: the hash, and removal of an expired refusal. A successful creation of a NodeClaim removes
 * it too, but that write may fail.
 */
function annotationsDue(pool: NodePool, now: number): Record<string, string | null> | undefined {
  const own = pool.metadata.annotations ?? {};
  const hashes = {
    [annotations.nodePoolHash]: nodePoolHash(pool.spec.template),
    [annotations.nodePoolHashVersion]: nodePoolHashVersion,
  };
  const isPast = own[annotations.refusals] !== undefined && refusalsOn(pool, now).length === 0;
  if (!isPast && Object.entries(hashes).every(([key, value]) => lookUp(own, key) === value)) return undefined;
  return { ...hashes, ...(isPast ? { [annotations.refusals]: null } : {}) };
}

/** Pods that were pending because this pool was missing are planned at once. */
async function planPending({ cache, starter, now }: OperatorContext): Promise<void> {
  if (cache.all('Pod').some(({ spec }) => (spec.nodeName ?? '') === '')) {
    await inSpan('a NodePool changed', now(), () => starter.podsPending());
  }
}

type Status = Pick<
  NonNullable<NodePool['status']>,
  'resources' | 'nodes' | 'nodeClassObservedGeneration' | 'updates' | 'conditions'
>;

/** Without `updates`, which Karpenter's manifest does not have: the message of a condition has the same figures. */
function comparable({ status }: Pick<NodePool, 'status'>): Status {
  return {
    resources: status?.resources,
    nodes: status?.nodes,
    ...(status?.nodeClassObservedGeneration === undefined
      ? {}
      : { nodeClassObservedGeneration: status.nodeClassObservedGeneration }),
    conditions: status?.conditions,
  };
}

/** A merge patch removes a resource only by null. */
function removing(live: NodePool, wanted: Status): object {
  const gone = Object.keys(live.status?.resources ?? {}).filter((name) => lookUp(wanted.resources, name) === undefined);
  return { ...wanted, resources: { ...wanted.resources, ...Object.fromEntries(gone.map((name) => [name, null])) } };
}

function statusOf(
  context: OperatorContext,
  pool: NodePool,
  noTypes: NoInstanceType | undefined,
): (live: NodePool) => Status {
  const { resources, nodes } = usage(context, nameOf(pool));
  const nodeClass = nodeClassOf(context, pool.spec.template.spec.nodeClassRef);
  const claims = managedClaims(context).filter((claim) => labelsOf(claim).nodePool === nameOf(pool));
  return (live) => {
    const at = { now: context.now(), generation: live.metadata.generation };
    let conditions: Condition[] = live.status?.conditions ?? [];
    // Karpenter too sets no registration condition on a pool without its node class.
    const registrations = nodeClass === undefined ? [] : [registrationHealthOf(context, live)];
    for (const change of [validation(live), nodeClassReady(context, live), ...registrations]) {
      conditions = withCondition(conditions, change, at);
    }
    conditions = withBudgetProblems(conditions, live, at);
    conditions = withRefusal(conditions, live, at);
    conditions = withPlanning(conditions, context, at);
    conditions = withReplicasKept(conditions, { gates: context.gates, pool: live }, at);
    conditions = withTypesAvailable(conditions, noTypes?.why, at);
    const { updates, condition } = updatesOf(context, claims, isOlderThan(live));
    conditions = withCondition(conditions, condition, at);
    const generation = nodeClass?.metadata.generation;
    return {
      resources: inOrderOf(live.status?.resources, resources),
      nodes,
      ...(generation === undefined ? {} : { nodeClassObservedGeneration: generation }),
      updates,
      conditions: withReady(conditions, nodePoolReadiness, at),
    };
  };
}

/** Whether a NodeClaim is of an older template, before its condition Drifted says so. */
function isOlderThan({ metadata, ...pool }: NodePool): (claim: NodeClaim) => boolean {
  const hash = nodePoolHash(pool.spec.template);
  const own = {
    ...metadata.annotations,
    [annotations.nodePoolHash]: hash,
    [annotations.nodePoolHashVersion]: nodePoolHashVersion,
  };
  const stamped = { ...pool, metadata: { ...metadata, annotations: own } };
  return (claim) => mayDrift(claim) && templateDrift(claim, stamped) !== undefined;
}

const budgetsEffective = 'BudgetsEffective';

/** Only on pools with contradictory budgets: Karpenter applies them as they are, and so does Stowage. */
function withBudgetProblems(
  conditions: readonly Condition[],
  pool: NodePool,
  at: { readonly now: number; readonly generation: number | undefined },
): Condition[] {
  const known = problemsKnown.get(pool.spec);
  const problems = known ?? budgetProblems(pool, at.now);
  problemsKnown.set(pool.spec, problems);
  if (problems.length === 0) return withoutCondition(conditions, budgetsEffective);
  const message = problems.join('; ');
  return withCondition(
    conditions,
    { type: budgetsEffective, status: 'False', reason: 'BudgetWithoutEffect', message },
    at,
  );
}

const replicasKept = 'ReplicasKept';

/** Only on static pools while their feature gate is off (settings/feature-gates). */
function withReplicasKept(
  conditions: readonly Condition[],
  { gates, pool }: Pick<OperatorContext, 'gates'> & { readonly pool: NodePool },
  at: { readonly now: number; readonly generation: number | undefined },
): Condition[] {
  if (gates.StaticCapacity || !isStatic(pool)) return withoutCondition(conditions, replicasKept);
  const effect = `spec.replicas: found ${pool.spec.replicas ?? 0}, and no node is kept`;
  return withCondition(conditions, { type: replicasKept, ...gateIsOff('StaticCapacity', effect) }, at);
}

const claimsAccepted = 'NodeClaimsAccepted';

/** Only on pools whose NodeClaim the API server refused, until one is created. */
function withRefusal(
  conditions: readonly Condition[],
  pool: NodePool,
  at: { readonly now: number; readonly generation: number | undefined },
): Condition[] {
  const refusals = claimRefusalsOn(pool, at.now);
  const ofAll = refusals.find(({ shape }) => shape === '');
  const refusal = ofAll ?? refusals.at(-1);
  if (refusal === undefined) return withoutCondition(conditions, claimsAccepted);
  const { message, until } = refusal;
  const whose = ofAll === undefined ? ` for ${listedNames(refusals.map(({ pod }) => pod))}` : '';
  return withCondition(
    conditions,
    {
      type: claimsAccepted,
      status: 'False',
      reason: ofAll === undefined ? 'NodeClaimRefusedForPods' : 'NodeClaimRefused',
      message: `${message} (no NodeClaim is created${whose} before ${timeText(until)})`,
    },
    at,
  );
}

const podsPlanned = 'PodsPlanned';

/** On pools while planning is stuck for a reason unrelated to the pool. */
function withPlanning(
  conditions: readonly Condition[],
  { stuck }: Pick<OperatorContext, 'stuck'>,
  at: { readonly now: number; readonly generation: number | undefined },
): Condition[] {
  const found = stuck?.planning;
  if (found === undefined) return withoutCondition(conditions, podsPlanned);
  const message = `${found.subject}: ${found.why}`;
  return withCondition(conditions, { type: podsPlanned, status: 'False', reason: 'PlanningStuck', message }, at);
}

const problemsKnown = new WeakMap<NodePool['spec'], readonly string[]>();

/** Publishes an event for a new condition or a new message. */
function publishProblem(
  { events }: OperatorContext,
  type: string,
  before: NodePool,
  after: NodePool | undefined,
): void {
  const { reason, message } = conditionOf(after?.status?.conditions, type) ?? {};
  if (message === undefined || message === conditionOf(before.status?.conditions, type)?.message) return;
  const { name = '', uid } = before.metadata;
  events.publish({
    regarding: regarding('NodePool', { name, uid }),
    type: 'Warning',
    reason: reason ?? '',
    message,
  });
}

const typesAvailable = 'InstanceTypesAvailable';

/**
 * Only on pools that no instance type matches (node-pools/instance-types-available). Ready is unchanged, as in
 * Karpenter, since the catalogue may get a matching type.
 */
function withTypesAvailable(
  conditions: readonly Condition[],
  message: string | undefined,
  at: { readonly now: number; readonly generation: number | undefined },
): Condition[] {
  if (message === undefined) return withoutCondition(conditions, typesAvailable);
  const change = { type: typesAvailable, status: 'False' as const, reason: 'NoInstanceTypeSuits', message };
  return withCondition(conditions, change, at);
}

/** The exact text of Karpenter, on which alerts depend. The condition has details. */
function publishNoTypes({ events }: OperatorContext, { metadata }: NodePool, found: NoInstanceType | undefined): void {
  if (found === undefined) return;
  const { name = '', uid } = metadata;
  const message = 'NodePool requirements filtered out all compatible available instance types';
  events.publish({
    regarding: regarding('NodePool', { name, uid }),
    type: 'Warning',
    reason: 'NoCompatibleInstanceTypes',
    message: found.byMinValues ? `${message} due to minValues incompatibility` : message,
    dedupeBy: [name, 'NoCompatibleInstanceTypes', String(found.byMinValues)],
    dedupeMs: 600_000,
  });
}

interface CheckedTypes {
  readonly types: readonly InstanceType[];
  readonly why: NoInstanceType | undefined;
}

/** By template: thousands of offerings are checked again only if they or the template changed. */
const checkedTypes = new WeakMap<NodePool['spec'], CheckedTypes>();

/** Why no instance type matches; if the catalogue cannot be read, the last result. */
async function missingTypes(
  { cloud, log, packing, ...context }: OperatorContext,
  pool: NodePool,
): Promise<NoInstanceType | undefined> {
  const { spec } = pool;
  const nodeClass = nodeClassOf({ cloud, ...context }, spec.template.spec.nodeClassRef);
  const before = checkedTypes.get(spec);
  if (nodeClass === undefined) return undefined;
  try {
    const types = await cloud.instanceTypes(pool, nodeClass);
    if (before?.types === types) return before.why;
    const { wellKnownLabels } = cloud;
    const why = whyNoInstanceType(pool, types, { wellKnownLabels, minValuesPolicy: packing.minValuesPolicy });
    checkedTypes.set(spec, { types, why });
    return why;
  } catch (error) {
    log.debug({ nodePool: pool.metadata.name, error: messageOf(error) }, 'cannot find out which instance types suit');
    return before?.why;
  }
}

/** Keeps the previous order of keys, so that equal resources compare as equal. */
function inOrderOf(
  before: Readonly<Record<string, string>> | undefined,
  now: Readonly<Record<string, string>>,
): Record<string, string> {
  const kept = Object.keys(before ?? {}).filter((name) => lookUp(now, name) !== undefined);
  const added = Object.keys(now).filter((name) => lookUp(before, name) === undefined);
  return Object.fromEntries([...kept, ...added].map((name) => [name, lookUp(now, name) ?? '0']));
}

function validation(pool: NodePool): ConditionChange {
  const type = 'ValidationSucceeded';
  const broken = nodePoolIssues(pool).filter(({ severity }) => severity !== 'warning');
  if (broken.length === 0) return { type, status: 'True' };
  const message = broken.map(({ message: text }) => text).join('; ');
  return { type, status: 'False', reason: 'NodePoolValidationFailed', message };
}

function registrationHealthOf(context: OperatorContext, pool: NodePool): ConditionChange {
  return registrationHealth(pool.metadata.annotations?.[annotations.registrations], registrationSubject(context, pool));
}

function nodeClassReady(context: OperatorContext, pool: NodePool): ConditionChange {
  const type = 'NodeClassReady';
  const ref = pool.spec.template.spec.nodeClassRef;
  const nodeClass = nodeClassOf(context, ref);
  const name = `${ref.kind} ${ref.name}`;
  if (nodeClass === undefined) {
    const message = `spec.template.spec.nodeClassRef: ${name} does not exist`;
    return { type, status: 'False', reason: 'NodeClassNotFound', message };
  }
  if (isDeleting(nodeClass)) {
    return { type, status: 'False', reason: 'NodeClassTerminating', message: `${name} is being deleted` };
  }
  const ready = conditionOf((nodeClass.status as { conditions?: Condition[] } | undefined)?.conditions, 'Ready');
  if (ready?.status === 'True') return { type, status: 'True' };
  if (ready === undefined || ready.status === 'Unknown') {
    const message = `${name} has not been evaluated`;
    return { type, status: 'Unknown', reason: 'NodeClassReadinessUnknown', message };
  }
  return { type, status: 'False', reason: ready.reason ?? 'NodeClassNotReady', message: ready.message ?? '' };
}
