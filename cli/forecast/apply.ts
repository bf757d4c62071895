import { ec2NodeClasses } from '../../api/aws/ec2-node-class.js';
import { nodePoolIssues } from '../../api/karpenter/node-pool-rules.js';
import { type NodePool, nodePools } from '../../api/karpenter/node-pool.js';
import type { KubernetesObject, Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { disruptionPolicyIssues } from '../../api/stowage/disruption-policy-rules.js';
import type { NodeClass } from '../../cloud/port.js';
import { timestamp, withCondition } from '../../core/conditions.js';
import { canonicalJson } from '../../core/hash.js';
import { selects } from '../../core/labels.js';
import { isDeleting, nameOf, namespaceOf } from '../../core/names.js';
import { hasOwn, lookUp } from '../../core/own.js';
import { isTerminal } from '../../core/pods.js';
import { compareText, cutText } from '../../core/text.js';
import { budgetProblems } from '../../disruption/budgets/budget-problems.js';
import { policyProblems } from '../../disruption/budgets/policy-problems.js';
import { effectivePolicyOf } from '../../disruption/policies/effective-policy.js';
import type { ClusterObjects } from '../../packing/types.js';
import type { Applied } from './forecast.js';
import { classKey } from './node-drift.js';
import type { AppliedObject, ChangedObject, RefusedObject, ForecastSnapshot } from './types.js';
import { type AppliedWorkload, podsOfWorkload, scheduledBy, withWorkload, workloadLists } from './workloads.js';

/** An object to remove, as `--without` names it. */
export interface RemovedObject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** An object of a list; a cache keeps some without their kind. */
type Listed = Omit<KubernetesObject, 'kind' | 'apiVersion'> & { readonly kind?: string };
type Lists = Map<string, readonly Listed[]>;
type Fields = ChangedObject['fields'];

/** Kinds without a namespace, of those that snapshots have. */
const clusterScoped = new Set(
  (
    'Node NodeClaim NodePool Namespace PersistentVolume StorageClass CSINode NodeOverlay DisruptionPolicy ' +
    'EC2NodeClass KWOKNodeClass'
  ).split(' '),
);

/** The snapshot after objects are applied and others removed; what the API server would refuse is left out. */
export function applied(
  given: ForecastSnapshot,
  objects: readonly AppliedObject[],
  removed: readonly RemovedObject[],
): { readonly before: ForecastSnapshot; readonly after: ForecastSnapshot } & Pick<
  Applied,
  'objects' | 'refused' | 'notes'
> {
  const before = withReadiness(given);
  const listed = Object.entries(before.input.objects) as [string, readonly Listed[]][];
  const lists: Lists = new Map([...listed, ['nodeClasses', before.nodeClasses]]);
  const changes: ChangedObject[] = [];
  const refused: RefusedObject[] = [];
  const sorted = [...objects].sort((a, b) => compareText(objectTitle(a.object), objectTitle(b.object)));
  for (const each of sorted) {
    const existing = find(lists, each);
    const problems = existing === undefined ? [] : updateProblems(each, existing);
    refused.push(...problems);
    if (problems.length > 0) continue;
    const fields = apply(lists, each, existing, before.input.now);
    if (existing === undefined && (!workloadLists.has(each.list) || fields.length > 0))
      changes.push({ change: 'added', object: objectTitle(each.object), fields });
    else if (fields.length > 0) changes.push({ change: 'changed', object: objectTitle(each.object), fields });
  }
  for (const each of removed)
    changes.push({ change: 'removed', object: remove(lists, each, before.input.now), fields: [] });
  const nodeClasses = lists.get('nodeClasses') as readonly NodeClass[];
  const after = withReadiness({
    ...before,
    nodeClasses,
    input: { ...before.input, objects: objectsIn(lists) },
  });
  return {
    before,
    after: { ...after, input: { ...after.input, catalogues: cataloguesOf(before, after) } },
    objects: changes.sort((a, b) => compareText(a.object, b.object)),
    refused,
    notes: [...problemsOf(after).filter((each) => !problemsOf(before).includes(each)), ...guesses(before, after)],
  };
}

function objectsIn(lists: Lists): ClusterObjects {
  const own = [...lists].filter(([list]) => list !== 'nodeClasses' && list !== 'jobs');
  return Object.fromEntries(own) as unknown as ClusterObjects;
}

export const objectTitle = (object: KubernetesObject): string =>
  object.metadata.namespace === undefined || clusterScoped.has(object.kind)
    ? `${object.kind} ${nameOf(object)}`
    : `${object.kind} ${object.metadata.namespace}/${nameOf(object)}`;

const isSame = (a: Listed, kind: string, b: Listed): boolean =>
  (a.kind ?? kind) === kind &&
  nameOf(a) === nameOf(b) &&
  (clusterScoped.has(kind) || namespaceOf(a) === namespaceOf(b));

/** The existing object; a cache may lack the kind in objects of a list. */
const find = (lists: Lists, { list, object }: AppliedObject): Listed | undefined =>
  lists.get(list)?.find((each) => isSame(each, object.kind, object));

function updateProblems({ list, object, at }: AppliedObject, existing: Listed): RefusedObject[] {
  const resource = list === 'nodePools' ? nodePools : object.kind === 'EC2NodeClass' ? ec2NodeClasses : undefined;
  return (resource?.updateIssues(object, existing) ?? []).map(({ path, message }) => ({
    ...{ at, object: objectTitle(object), field: path, why: message },
  }));
}

/** Applies one object, and returns what changes. */
function apply(lists: Lists, { list, object }: AppliedObject, existing: Listed | undefined, now: number): Fields {
  const status = (existing as { readonly status?: unknown } | undefined)?.status;
  const merged = {
    ...existing,
    ...object,
    ...(list === 'pods' && existing === undefined ? {} : { status }),
    metadata: metadataOf(object, existing, now),
  };
  const all = lists.get(list) ?? [];
  if (workloadLists.has(list)) {
    const found = withWorkload(merged as AppliedWorkload, existing as AppliedWorkload | undefined, objectsIn(lists));
    lists.set('pods', found.pods);
    lists.set('persistentVolumeClaims', [...(lists.get('persistentVolumeClaims') ?? []), ...found.claims]);
    lists.set(list, [...all.filter((each) => each !== existing), merged]);
    const isNewDaemon = list === 'daemonSets' && existing === undefined;
    return isNewDaemon ? [{ field: 'pods', from: '0', to: 'one on each node' }] : [...found.fields];
  }
  const fields = existing === undefined ? [] : changesOf(list, existing, merged);
  if (existing !== undefined && fields.length === 0) return fields;
  const made =
    list === 'podDisruptionBudgets'
      ? withAllowed(merged as PodDisruptionBudget, lists.get('pods') as readonly Pod[])
      : merged;
  lists.set(list, [...all.filter((each) => each !== existing), made]);
  return fields;
}

/** Controllers write annotations that no file has. */
function metadataOf(
  { metadata }: KubernetesObject,
  existing: Listed | undefined,
  now: number,
): KubernetesObject['metadata'] {
  const before = existing?.metadata ?? { creationTimestamp: timestamp(now) };
  return { ...before, ...metadata, annotations: { ...before.annotations, ...metadata.annotations } };
}

/** Lists of custom resources: a file has all their fields, with defaults. Of other kinds, fields that it lacks stay. */
const wholeLists = new Set([
  'nodePools',
  'nodeClasses',
  'nodeOverlays',
  'disruptionPolicies',
  'capacityBuffers',
  'nodeClaims',
]);
const stampedByOthers = new Set(['kind', 'apiVersion', 'metadata', 'status']);

function changesOf(list: string, existing: Listed, merged: KubernetesObject): Fields {
  if (list === 'pods') {
    const [a, b] = [existing as Pod, merged as Pod];
    return scheduledBy(a, a) === scheduledBy(b, b) ? [] : [{ field: 'spec', from: '', to: 'what it needs' }];
  }
  const contentOf = (object: Listed): object => ({
    ...Object.fromEntries(Object.entries(object).filter(([key]) => !stampedByOthers.has(key))),
    metadata: { labels: object.metadata.labels ?? {} },
  });
  return differences(contentOf(existing), contentOf(merged), { isWhole: wholeLists.has(list), path: '' });
}

function differences(from: unknown, to: unknown, { isWhole, path }: { isWhole: boolean; path: string }): Fields {
  if (canonicalJson(from) === canonicalJson(to)) return [];
  if (isObject(from) && isObject(to)) {
    const keys = [...new Set([...(isWhole ? Object.keys(from) : []), ...Object.keys(to)])].sort(compareText);
    return keys.flatMap((key) => differences(lookUp(from, key), lookUp(to, key), { isWhole, path: joined(path, key) }));
  }
  const lists = Array.isArray(from) && Array.isArray(to) ? ([from, to] as const) : undefined;
  if (lists !== undefined && lists[0].length === lists[1].length && lists[0].every(isObject))
    return lists[0].flatMap((each, i) => differences(each, lists[1][i], { isWhole, path: `${path}[${i}]` }));
  return [{ field: path, from: shown(from), to: shown(to) }];
}

const joined = (path: string, key: string): string =>
  /^[A-Za-z_]\w*$/.test(key) ? (path === '' ? key : `${path}.${key}`) : `${path}[${key}]`;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const longestValue = 120;

const shown = (value: unknown): string =>
  value === undefined ? '' : cutText(typeof value === 'string' ? value : JSON.stringify(value), longestValue);

/** A budget with the status that the disruption controller would give it for these pods. */
function withAllowed(budget: PodDisruptionBudget, pods: readonly Pod[]): PodDisruptionBudget {
  const own = pods.filter(
    (pod) =>
      namespaceOf(pod) === namespaceOf(budget) &&
      !isTerminal(pod) &&
      !isDeleting(pod) &&
      selects(budget.spec.selector, pod.metadata.labels),
  );
  // Pods of files may lack conditions: one on a node is taken to be ready.
  const healthy = own.filter(({ spec, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    return (spec.nodeName ?? '') !== '' && (ready === undefined || ready.status === 'True');
  }).length;
  const { minAvailable, maxUnavailable } = budget.spec;
  const amount = (text: number | string): number =>
    String(text).endsWith('%') ? Math.ceil((Number.parseInt(String(text)) * own.length) / 100) : Number(text);
  const desired =
    maxUnavailable === undefined ? amount(minAvailable ?? 1) : Math.max(0, own.length - amount(maxUnavailable));
  const status = {
    ...{ disruptionsAllowed: Math.max(0, healthy - desired), currentHealthy: healthy },
    ...{ desiredHealthy: desired, expectedPods: own.length },
  };
  return { ...budget, status };
}

/** Removes an object with what it owns, and returns its title. */
function remove(lists: Lists, { kind, namespace, name }: RemovedObject, now: number): string {
  const named = (each: Listed, list: string): boolean =>
    nameOf(each) === name &&
    (each.kind ?? listKinds.get(list)) === kind &&
    (namespace === undefined || clusterScoped.has(kind) || namespaceOf(each) === namespace);
  const found = [...lists].flatMap(([list, all]) =>
    all.filter((each) => named(each, list)).map((object) => ({ list, object })),
  );
  const [first, second] = found;
  if (first === undefined) throw new RemovalError(`there is no ${kind} ${name} among the objects`);
  if (second !== undefined)
    throw new RemovalError(`several namespaces have a ${kind} ${name}: name it KIND/NAMESPACE/NAME`);
  const { list, object } = first;
  const title = objectTitle({ apiVersion: '', ...object, kind });
  const change = (of: string, to: (all: readonly Listed[]) => readonly Listed[]): void =>
    void lists.set(of, to(lists.get(of) ?? []));
  if (workloadLists.has(list)) {
    const own = new Set<Listed>(podsOfWorkload({ apiVersion: '', ...object, kind }, objectsIn(lists)));
    change('pods', (all) => all.filter((each) => !own.has(each)));
  }
  const isDeleted = (each: Listed): boolean =>
    kind === 'NodePool' ? lookUp(each.metadata.labels, labels.nodePool) === name : each === object;
  const deletionTimestamp = timestamp(now);
  if (kind === 'NodePool' || kind === 'NodeClaim' || kind === 'Node')
    change(kind === 'Node' ? 'nodes' : 'nodeClaims', (all) =>
      all.map((each) => (isDeleted(each) ? { ...each, metadata: { ...each.metadata, deletionTimestamp } } : each)),
    );
  // Nodes and their claims have finalizers.
  if (kind !== 'NodeClaim' && kind !== 'Node') change(list, (all) => all.filter((each) => each !== object));
  return title;
}

/** `--without` names nothing, or not one object. */
export class RemovalError extends Error {
  override readonly name = 'UsageError';
}

/** Kinds of lists whose objects a cache keeps without their kind. */
const listKinds: ReadonlyMap<string, string> = new Map([
  ['pods', 'Pod'],
  ['nodes', 'Node'],
  ['nodeClaims', 'NodeClaim'],
  ['nodePools', 'NodePool'],
  ['daemonSets', 'DaemonSet'],
  ['deployments', 'Deployment'],
  ['statefulSets', 'StatefulSet'],
  ['replicaSets', 'ReplicaSet'],
  ['podDisruptionBudgets', 'PodDisruptionBudget'],
  ['disruptionPolicies', 'DisruptionPolicy'],
  ['nodeOverlays', 'NodeOverlay'],
]);

const classNotFound = 'NodeClassNotFound';

/** NodePools whose node class does not exist are not Ready, if the snapshot tells which exist. */
function withReadiness(snapshot: ForecastSnapshot): ForecastSnapshot {
  if (snapshot.nodeClasses.length === 0) return snapshot;
  const { input, nodeClasses } = snapshot;
  const known = new Set(nodeClasses.map((each) => classKey({ kind: each.kind, name: nameOf(each) })));
  const pools = input.objects.nodePools.map((pool): NodePool => {
    const { kind, name } = pool.spec.template.spec.nodeClassRef;
    const missing = pool.status?.conditions?.some(({ reason }) => reason === classNotFound) === true;
    if (known.has(classKey({ kind, name })))
      return missing ? { ...pool, status: { ...pool.status, conditions: [] } } : pool;
    const why = { status: 'False' as const, reason: classNotFound, message: `its ${kind} ${name} does not exist` };
    const conditions = ['NodeClassReady', 'Ready'].reduce(
      (all, type) => withCondition(all, { type, ...why }, { now: input.now }),
      pool.status?.conditions,
    );
    return { ...pool, status: { ...pool.status, conditions } };
  });
  return { ...snapshot, input: { ...input, objects: { ...input.objects, nodePools: pools } } };
}

/** A new NodePool launches what others of its node class do. */
function cataloguesOf(before: ForecastSnapshot, after: ForecastSnapshot): ForecastSnapshot['input']['catalogues'] {
  const { catalogues } = before.input;
  const any = catalogues.values().next().value ?? [];
  const byClass = new Map(
    before.input.objects.nodePools.flatMap((pool) => {
      const own = catalogues.get(nameOf(pool));
      return own === undefined ? [] : [[classKey(pool.spec.template.spec.nodeClassRef), own] as const];
    }),
  );
  const added = after.input.objects.nodePools
    .filter((pool) => !catalogues.has(nameOf(pool)))
    .map((pool) => [nameOf(pool), byClass.get(classKey(pool.spec.template.spec.nodeClassRef)) ?? any] as const);
  return new Map([...catalogues, ...added]);
}

/** What has no effect or stops everything, as conditions in a live cluster would show. */
function problemsOf({ input: { objects, now } }: ForecastSnapshot): readonly string[] {
  const { disruptionPolicies = [] } = objects;
  const ruledBy = (name: string): readonly NodePool[] =>
    objects.nodePools.filter((pool) => effectivePolicyOf(pool, disruptionPolicies).policy === name);
  return [
    ...objects.nodePools.flatMap((pool) =>
      [...nodePoolIssues(pool).map(({ message }) => message), ...budgetProblems(pool, now)].map(
        (problem) => `NodePool ${nameOf(pool)}: ${problem}`,
      ),
    ),
    ...disruptionPolicies.flatMap((policy) =>
      [
        ...disruptionPolicyIssues(policy).map(({ message }) => message),
        ...policyProblems(policy, ruledBy(nameOf(policy)), now),
      ].map((problem) => `DisruptionPolicy ${nameOf(policy)}: ${problem}`),
    ),
  ];
}

/** What only the account or a cluster could tell. */
function guesses(before: ForecastSnapshot, after: ForecastSnapshot): readonly string[] {
  const earlier = new Map(before.nodeClasses.map((each) => [nameOf(each), each]));
  const selectors = ['amiSelectorTerms', 'securityGroupSelectorTerms', 'subnetSelectorTerms'] as const;
  const changed = after.nodeClasses.flatMap((each) => {
    const [old, young] = [earlier.get(nameOf(each))?.spec, each.spec] as Record<string, unknown>[];
    if (old === undefined || young === undefined) return [];
    return selectors
      .filter((key) => canonicalJson(lookUp(old, key)) !== canonicalJson(lookUp(young, key)))
      .filter((key) => !((lookUp(young, key) ?? []) as readonly object[]).every((term) => hasOwn(term, 'id')))
      .map((key) =>
        key === 'amiSelectorTerms'
          ? `EC2NodeClass ${nameOf(each)}: what the new ${key} find is known to the account alone; every node is taken to have another image`
          : `EC2NodeClass ${nameOf(each)}: what the new ${key} find is known to the account alone; drift by it is not forecast`,
      );
  });
  const statics = after.input.objects.nodePools
    .filter(({ spec }) => spec.replicas !== undefined)
    .filter((pool) => {
      const old = before.input.objects.nodePools.find((one) => nameOf(one) === nameOf(pool));
      return old?.spec.replicas !== pool.spec.replicas;
    });
  return [
    ...changed,
    ...statics.map((pool) => `NodePool ${nameOf(pool)}: the nodes that replicas adds or removes are not forecast`),
  ];
}
