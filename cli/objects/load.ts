import { isDeepStrictEqual } from 'node:util';
import { capacityBuffers } from '../../api/autoscaling/capacity-buffer.js';
import { nodeClaims } from '../../api/karpenter/node-claim.js';
import { nodeOverlays } from '../../api/karpenter/node-overlay.js';
import { nodePools } from '../../api/karpenter/node-pool.js';
import type { KubernetesObject, Pod } from '../../api/kubernetes.js';
import type { Parsed } from '../../api/schema/resource.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import type { ClusterObjects } from '../../packing/types.js';
import { UsageError } from '../exit.js';
import { FieldError } from './check.js';
import { isRecord, readObjects, textOf, type FoundObject } from './read-documents.js';
import { builtInShapes } from './shapes.js';
import { cutText } from '../../core/cut-text.js';
import { lookUp } from '../../core/own.js';
import { withResizedRequests } from '../../core/pod-resize.js';

/** Which list of `ClusterObjects` a kind goes to. */
const listOfKind: Readonly<Record<string, keyof ClusterObjects>> = {
  Pod: 'pods',
  Node: 'nodes',
  NodeClaim: 'nodeClaims',
  NodePool: 'nodePools',
  DaemonSet: 'daemonSets',
  Namespace: 'namespaces',
  Service: 'services',
  ReplicaSet: 'replicaSets',
  StatefulSet: 'statefulSets',
  ReplicationController: 'replicationControllers',
  PodDisruptionBudget: 'podDisruptionBudgets',
  PersistentVolumeClaim: 'persistentVolumeClaims',
  PersistentVolume: 'persistentVolumes',
  StorageClass: 'storageClasses',
  CSINode: 'csiNodes',
  NodeOverlay: 'nodeOverlays',
  CapacityBuffer: 'capacityBuffers',
  Deployment: 'deployments',
  PodTemplate: 'podTemplates',
  DisruptionPolicy: 'disruptionPolicies',
};

const parsers: Readonly<Record<string, { parse(object: unknown): Parsed<KubernetesObject> }>> = {
  NodePool: nodePools,
  NodeClaim: nodeClaims,
  NodeOverlay: nodeOverlays,
  CapacityBuffer: capacityBuffers,
  DisruptionPolicy: disruptionPolicies,
};

const namespaced: ReadonlySet<string> = new Set([
  'Pod',
  'DaemonSet',
  'Service',
  'ReplicaSet',
  'StatefulSet',
  'ReplicationController',
  'PodDisruptionBudget',
  'PersistentVolumeClaim',
  'CapacityBuffer',
  'Deployment',
  'PodTemplate',
]);

/**
 * Reads and checks the objects of all files. Kinds that packing does not read are passed over. Throws `UsageError`
 * naming file, object and field at the first object that breaks a rule, or that stands in the files twice.
 */
export function loadObjects(files: readonly string[]): ClusterObjects {
  const lists: Record<string, KubernetesObject[]> = { pods: [], nodePools: [] };
  const seen = new Map<string, FoundObject>();
  for (const found of files.flatMap(readObjects)) {
    const kind = kindOf(found);
    const list = lookUp(listOfKind, kind);
    if (list === undefined) continue;
    const object = check(kind, found);
    if (isRepeated(object, found, seen)) continue;
    (lists[list] ??= []).push(object);
  }
  return lists as unknown as ClusterObjects;
}

function kindOf(found: FoundObject): string {
  if (!isRecord(found.value)) throw new UsageError(`${placeOf(found)}: expected a Kubernetes object`);
  const kind = found.value['kind'];
  if (typeof kind !== 'string' || kind === '')
    throw new UsageError(`${placeOf(found)}: kind: expected the object's kind, found nothing`);
  return kind;
}

function check(kind: string, found: FoundObject): KubernetesObject {
  const parser = lookUp(parsers, kind);
  if (parser !== undefined) return parse(parser, kind, found);
  try {
    lookUp(builtInShapes, kind)?.(found.value, '');
  } catch (error) {
    if (error instanceof FieldError)
      throw new UsageError(`${where(found)} ${nameOf(kind, found.value)}: ${error.message}`);
    throw error;
  }
  const object = found.value as KubernetesObject;
  if (namespaced.has(kind)) object.metadata.namespace ??= 'default';
  return kind === 'Pod' ? withResizedRequests(object as Pod) : object;
}

function parse(
  parser: { parse(object: unknown): Parsed<KubernetesObject> },
  kind: string,
  found: FoundObject,
): KubernetesObject {
  const object = withNodeClass(found.value as Record<string, unknown>, kind);
  const parsed = parser.parse(object);
  if (!parsed.ok) {
    const problems = parsed.error.map((issue) => issue.message);
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more: ${problems.slice(1).join('; ')})` : '';
    throw new UsageError(`${where(found)} ${nameOf(kind, found.value)}: ${problems[0] ?? 'invalid'}${more}`);
  }
  if (namespaced.has(kind)) parsed.value.metadata.namespace ??= 'default';
  return parsed.value;
}

const offlineNodeClass = { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' };

/** Offline every pool buys from the one catalogue given, so a pool may leave out its node class and requirements. */
function withNodeClass(object: Record<string, unknown>, kind: string): Record<string, unknown> {
  const spec = object['spec'];
  if (!isRecord(spec)) return object;
  if (kind === 'NodeClaim') return { ...object, spec: { nodeClassRef: offlineNodeClass, requirements: [], ...spec } };
  if (kind !== 'NodePool') return object;
  const template = isRecord(spec['template']) ? spec['template'] : {};
  const templateSpec = isRecord(template['spec']) ? template['spec'] : {};
  const completed = { nodeClassRef: offlineNodeClass, requirements: [], ...templateSpec };
  return { ...object, spec: { ...spec, template: { ...template, spec: completed } } };
}

/** Whether an equal object was read before. Two different objects of one name are refused. */
function isRepeated(object: KubernetesObject, found: FoundObject, seen: Map<string, FoundObject>): boolean {
  const key = `${object.kind} ${textOf(object.metadata.namespace ?? '')}/${textOf(object.metadata.name ?? '')}`;
  const earlier = seen.get(key);
  if (earlier === undefined) {
    seen.set(key, found);
    return false;
  }
  if (isDeepStrictEqual(earlier.value, found.value)) return true;
  throw new UsageError(
    `${where(found)} ${nameOf(object.kind, object)}: differs from the object of that name at ${placeOf(earlier)}`,
  );
}

function where({ file, place }: FoundObject): string {
  return place === '' ? `${file}:` : `${file}: ${place}`;
}

/** The same for the end of a sentence. */
function placeOf({ file, place }: FoundObject): string {
  return place === '' ? file : `${file}: ${place}`;
}

/** Kubernetes has names of 253 characters, and files have others. */
const longestName = 600;

function nameOf(kind: string, object: unknown): string {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {};
  const { name, namespace } = metadata;
  if (typeof name !== 'string') return kind;
  return cutText(typeof namespace === 'string' ? `${kind} ${namespace}/${name}` : `${kind} ${name}`, longestName);
}
