import { isDeepStrictEqual } from 'node:util';
import { capacityBuffers } from '../../api/autoscaling/capacity-buffer.js';
import { nodeClaims, type NodeClaim } from '../../api/karpenter/node-claim.js';
import { nodeOverlays } from '../../api/karpenter/node-overlay.js';
import { nodePools, type NodePool } from '../../api/karpenter/node-pool.js';
import type { KubernetesObject, Pod } from '../../api/kubernetes.js';
import type { OpenApiSchema } from '../../api/schema/openapi.js';
import type { Resource } from '../../api/schema/resource.js';
import { ec2NodeClasses } from '../../api/aws/ec2-node-class.js';
import { kwokNodeClasses } from '../../api/kwok/kwok-node-class.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import { probableKey } from '../../packing/requirements/typo.js';
import type { NodeClass } from '../../cloud/port.js';
import type { ClusterObjects } from '../../packing/types.js';
import { UsageError } from '../exit.js';
import { FieldError, misspeltFields } from './check.js';
import { isRecord, placeOf, readObjects, templateHint, textOf, type FoundObject } from './read-documents.js';
import { anyObject, builtInShapes, jobShape } from './shapes.js';
import { cutText } from '../../core/text.js';
import { hasOwn, lookUp } from '../../core/own.js';
import { groupOf } from '../../core/owners.js';
import { withResizedRequests } from '../../core/pod-resize.js';
import { nameOf } from '../../core/names.js';

interface ReadKind<List extends string = string> {
  readonly group: string;
  /** The list that it belongs to. */
  readonly list: List;
  readonly namespaced?: true;
  readonly resource?: Resource<KubernetesObject>;
}

/** The kinds that decisions read; other groups have kinds with these names (Service of Knative, Node of Longhorn). */
const readKinds: Readonly<Record<string, ReadKind<keyof ClusterObjects>>> = {
  Pod: { group: '', list: 'pods', namespaced: true },
  Node: { group: '', list: 'nodes' },
  NodeClaim: { group: 'karpenter.sh', list: 'nodeClaims', resource: nodeClaims },
  NodePool: { group: 'karpenter.sh', list: 'nodePools', resource: nodePools },
  DaemonSet: { group: 'apps', list: 'daemonSets', namespaced: true },
  Namespace: { group: '', list: 'namespaces' },
  Service: { group: '', list: 'services', namespaced: true },
  ReplicaSet: { group: 'apps', list: 'replicaSets', namespaced: true },
  StatefulSet: { group: 'apps', list: 'statefulSets', namespaced: true },
  ReplicationController: { group: '', list: 'replicationControllers', namespaced: true },
  PodDisruptionBudget: { group: 'policy', list: 'podDisruptionBudgets', namespaced: true },
  PersistentVolumeClaim: { group: '', list: 'persistentVolumeClaims', namespaced: true },
  PersistentVolume: { group: '', list: 'persistentVolumes' },
  StorageClass: { group: 'storage.k8s.io', list: 'storageClasses' },
  CSINode: { group: 'storage.k8s.io', list: 'csiNodes' },
  NodeOverlay: { group: 'karpenter.sh', list: 'nodeOverlays', resource: nodeOverlays },
  CapacityBuffer: {
    group: 'autoscaling.x-k8s.io',
    list: 'capacityBuffers',
    namespaced: true,
    resource: capacityBuffers,
  },
  Deployment: { group: 'apps', list: 'deployments', namespaced: true },
  PodTemplate: { group: '', list: 'podTemplates', namespaced: true },
  DisruptionPolicy: { group: 'stowage.dev', list: 'disruptionPolicies', resource: disruptionPolicies },
};

/** The kinds that only a forecast reads. */
const forecastKinds: Readonly<Record<string, ReadKind>> = {
  EC2NodeClass: { group: 'karpenter.k8s.aws', list: 'nodeClasses', resource: ec2NodeClasses },
  KWOKNodeClass: { group: 'karpenter.kwok.sh', list: 'nodeClasses', resource: kwokNodeClasses },
  Job: { group: 'batch', list: 'jobs', namespaced: true },
};

/** Node class kinds that plans from files support. */
const servedClasses: readonly string[] = ['karpenter.k8s.aws EC2NodeClass', 'karpenter.kwok.sh KWOKNodeClass'];

/**
 * Reads and validates the objects of all files. Kinds that decisions do not read are ignored; pools and claims of other
 * autoscalers are left out as in a live cluster, with a message to `warn`. Throws `UsageError` naming file, object and
 * field for the first invalid or duplicate object. `nodeClasses`, if given, gets the node classes.
 */
export function loadObjects(
  files: readonly string[],
  warn: (line: string) => void,
  nodeClasses?: NodeClass[],
): ClusterObjects {
  const lists: Record<string, KubernetesObject[]> = { pods: [], nodePools: [] };
  const seen = new Map<string, FoundObject>();
  const reported = new Set<string>();
  for (const found of files.flatMap(readObjects)) {
    const kind = kindOf(found);
    const read = lookUp(readKinds, kind);
    const group = groupRead(found, kind, read);
    if (nodeClasses !== undefined && isNodeClass(found.value)) nodeClasses.push(stored(found.value));
    if (read === undefined || (group !== undefined && group !== read.group)) continue;
    const object = check(kind, read, found);
    if (read.resource === undefined) warnMisspelt(kind, found, { reported, warn });
    if (isRepeated(object, found, seen) || isOthers(object, warn)) continue;
    (lists[read.list] ??= []).push(object);
  }
  return lists as unknown as ClusterObjects;
}

/** One object of a file that would be applied. */
export interface ReadObject {
  readonly found: FoundObject;
  /** The list that it belongs to; undefined for kinds that no decision reads. */
  readonly list?: string;
  readonly object: KubernetesObject;
}

/**
 * An object as the API server would store it. Throws `UsageError` for what it would refuse; `InvalidObject` names the
 * fields.
 */
export function readApplied(found: FoundObject): ReadObject {
  const kind = kindOf(found);
  const read = lookUp(readKinds, kind) ?? lookUp(forecastKinds, kind);
  const group = groupRead(found, kind, read);
  if (read === undefined || (group ?? read.group) !== read.group) return { found, object: shaped(kind, found) };
  if (group === undefined) throw refusal(kind, found, [{ field: 'apiVersion', message: 'apiVersion: found nothing' }]);
  const object = read.resource === undefined ? shaped(kind, found) : parse(read.resource, kind, found, found.value);
  const { spec } = object as { readonly spec?: { readonly template?: unknown } };
  if (templated.has(kind) && spec?.template === undefined)
    throw refusal(kind, found, [new FieldError('spec.template', 'a value', undefined)]);
  if (read.namespaced === true) object.metadata.namespace ??= 'default';
  return { found, list: read.list, object };
}

const templated: ReadonlySet<string> = new Set(['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job']);

/** With the defaults that the API server sets; one of another version stays as it is. */
function stored(nodeClass: NodeClass): NodeClass {
  const parsed = (nodeClass.kind === 'EC2NodeClass' ? ec2NodeClasses : kwokNodeClasses).parse(nodeClass);
  return parsed.ok ? parsed.value : nodeClass;
}

function isNodeClass(value: unknown): value is NodeClass {
  if (!isRecord(value) || !isRecord(value['metadata']) || !isRecord(value['spec'])) return false;
  const { apiVersion, kind } = value;
  return servedClasses.some((served) => {
    const [group, own] = served.split(' ');
    return typeof apiVersion === 'string' && groupOf(apiVersion) === group && kind === own;
  });
}

/** The group of the object; undefined without one. Throws `UsageError` for Karpenter objects before v1. */
function groupRead(found: FoundObject, kind: string, read: ReadKind | undefined): string | undefined {
  const { apiVersion } = found.value as Record<string, unknown>;
  if (typeof apiVersion !== 'string') return undefined;
  const group = groupOf(apiVersion);
  const isKarpenters = group === 'karpenter.sh' || group === 'karpenter.k8s.aws';
  if (isKarpenters && /\/v1(alpha|beta)\d+$/.test(apiVersion) && apiVersion !== read?.resource?.apiVersion)
    throw new UsageError(
      `${where(found)} ${kindAndName(kind, found.value)} is of ${apiVersion}: stowage convert makes it v1`,
    );
  return group;
}

export function isOthers(object: KubernetesObject, warn: (line: string) => void): boolean {
  if (object.kind !== 'NodePool' && object.kind !== 'NodeClaim') return false;
  const { spec } = object as NodePool | NodeClaim;
  const { group, kind } = 'template' in spec ? spec.template.spec.nodeClassRef : spec.nodeClassRef;
  if (servedClasses.includes(`${group} ${kind}`)) return false;
  warn(
    `${kindAndName(object.kind, object)} is left out, as another autoscaler's: its node class is a ${kind} of ${group}` +
      `${group === 'eks.amazonaws.com' ? ' (EKS Auto Mode)' : ''}, and EC2NodeClass of karpenter.k8s.aws is served`,
  );
  return true;
}

function kindOf(found: FoundObject): string {
  if (!isRecord(found.value)) throw new UsageError(`${placeOf(found)}: expected a Kubernetes object`);
  const kind = found.value['kind'];
  if (typeof kind !== 'string' || kind === '')
    throw new UsageError(`${placeOf(found)}: kind: expected the object's kind, found nothing`);
  return kind;
}

function check(kind: string, { resource, namespaced }: ReadKind, found: FoundObject): KubernetesObject {
  const object =
    resource === undefined
      ? shaped(kind, found)
      : parse(resource, kind, found, withNodeClass(found.value as Record<string, unknown>, kind));
  if (namespaced === true) object.metadata.namespace ??= 'default';
  return kind === 'Pod' ? withResizedRequests(object as Pod) : object;
}

/**
 * Built-in kinds have many more fields than are read here, so unknown fields are allowed; those that resemble a known
 * one are reported once for each kind and field.
 */
function warnMisspelt(
  kind: string,
  found: FoundObject,
  { reported, warn }: { readonly reported: Set<string>; readonly warn: (line: string) => void },
): void {
  for (const [field, meant] of misspeltFields(found.value, lookUp(builtInShapes, kind) ?? anyObject)) {
    const key = `${kind} ${field.replace(/\[\d+\]/g, '')}`;
    if (reported.has(key)) continue;
    reported.add(key);
    warn(
      `${where(found)} ${kindAndName(kind, found.value)}: unknown field "${field}" is ignored (did you mean ${meant}?)`,
    );
  }
}

function shaped(kind: string, found: FoundObject): KubernetesObject {
  try {
    const own = kind === 'Job' ? jobShape : lookUp(builtInShapes, kind);
    (own ?? anyObject)(found.value, '');
  } catch (error) {
    if (error instanceof FieldError) throw refusal(kind, found, [error]);
    throw error;
  }
  return found.value as KubernetesObject;
}

function parse(
  resource: Resource<KubernetesObject>,
  kind: string,
  found: FoundObject,
  value: unknown,
): KubernetesObject {
  const object = value as Record<string, unknown>;
  const parsed = resource.parse(object);
  const unknown =
    parsed.ok && keepsAll(object, { ...parsed.value, metadata: knownMetadata(parsed.value) })
      ? []
      : unknownFields(object, resource);
  if (parsed.ok && unknown.length === 0) return shaped(kind, { ...found, value: parsed.value });
  const issues = parsed.ok ? [] : parsed.error.map(({ path, message }) => ({ field: path, message }));
  throw refusal(kind, found, [...unknown, ...issues]);
}

interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** An object that the API server would refuse. */
export class InvalidObject extends UsageError {
  constructor(
    message: string,
    readonly problems: readonly FieldProblem[],
  ) {
    super(message);
  }
}

function refusal(kind: string, found: FoundObject, problems: readonly FieldProblem[]): InvalidObject {
  const [first, ...more] = problems.map(({ message }) => message);
  const others = more.length > 0 ? ` (and ${more.length} more: ${more.join('; ')})` : '';
  const said = `${kindAndName(kind, found.value)}: ${first ?? 'invalid'}${others}`;
  const hint = templateHint(said);
  return new InvalidObject(`${where(found)} ${said}${hint === undefined ? '' : `: this ${hint}`}`, problems);
}

/** Whether parsing dropped no field of `given`; status is ignored, since controllers write it. */
function keepsAll(given: unknown, kept: unknown): boolean {
  if (Array.isArray(given)) return given.every((each, i) => keepsAll(each, (kept as readonly unknown[])[i]));
  if (!isRecord(given) || !isRecord(kept)) return true;
  return Object.keys(given).every(
    (name) => name === 'status' || (hasOwn(kept, name) && keepsAll(lookUp(given, name), lookUp(kept, name))),
  );
}

const metadataFields = Object.fromEntries(
  (
    'name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp ' +
    'deletionGracePeriodSeconds labels annotations ownerReferences finalizers managedFields'
  )
    .split(' ')
    .map((name): [string, OpenApiSchema] => [name, {}]),
);

function knownMetadata({ metadata }: KubernetesObject): object {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => hasOwn(metadataFields, name)));
}

/** Unknown fields, as kubectl would report them. */
function unknownFields(object: object, resource: Resource<KubernetesObject>): FieldProblem[] {
  const { properties } = resource.crd().spec.versions[0]!.schema.openAPIV3Schema;
  const problems: FieldProblem[] = [];
  const walk = (value: unknown, schema: OpenApiSchema, path: string): void => {
    if (Array.isArray(value)) value.forEach((each, i) => schema.items && walk(each, schema.items, `${path}[${i}]`));
    if (!isRecord(value)) return;
    for (const [name, inner] of Object.entries(value)) {
      const at = path === '' ? name : `${path}.${name}`;
      const known = lookUp(schema.properties, name);
      if (known !== undefined) walk(inner, known, at);
      else if (schema.properties !== undefined) {
        const meant = probableKey(name, Object.keys(schema.properties));
        const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`;
        problems.push({ field: at, message: `unknown field "${at}"${hint}` });
      }
    }
  };
  walk(object, { properties: { ...properties, metadata: { properties: metadataFields }, status: {} } }, '');
  return problems;
}

const offlineNodeClass = { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' };

/** Offline, every pool uses the given catalogue, so a pool may omit its node class and requirements. */
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

/** Whether an equal object was read before. Two different objects with one name are rejected. */
function isRepeated(object: KubernetesObject, found: FoundObject, seen: Map<string, FoundObject>): boolean {
  const key = `${object.kind} ${textOf(object.metadata.namespace ?? '')}/${textOf(nameOf(object))}`;
  const earlier = seen.get(key);
  if (earlier === undefined) {
    seen.set(key, found);
    return false;
  }
  if (isDeepStrictEqual(earlier.value, found.value)) return true;
  throw new UsageError(
    `${where(found)} ${kindAndName(object.kind, object)}: differs from the object of that name at ${placeOf(earlier)}`,
  );
}

function where({ file, place }: FoundObject): string {
  return place === '' ? `${file}:` : `${file}: ${place}`;
}

/** Kubernetes names have at most 253 characters, but files may contain others. */
const longestName = 600;

export function kindAndName(kind: string, object: unknown): string {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {};
  const { name, namespace } = metadata;
  if (typeof name !== 'string') return kind;
  return cutText(typeof namespace === 'string' ? `${kind} ${namespace}/${name}` : `${kind} ${name}`, longestName);
}
