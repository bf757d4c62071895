import type {
  Affinity,
  Container,
  LabelSelector,
  Pod,
  PodAffinityTerm,
  ResourceRequirements,
  Toleration,
  TopologySpreadConstraint,
} from '../../api/kubernetes.js';
import { hostPorts } from '../../core/host-ports.js';
import { lookUp } from '../../core/own.js';
import { hasSameLabels, labelText } from './label-text.js';

/**
 * Two keys identify equal pods: one of their requests, and one of all other fields that scheduling reads. They are
 * built by hand, because this is the only work done for every single pod.
 */

/** The key of the pod's requests. */
export function demandKey(pod: Pod): string {
  const { containers, initContainers, overhead, resources } = pod.spec;
  let key = '';
  for (const container of containers) key += resourcesText(container.resources);
  if (initContainers !== undefined) for (const container of initContainers) key += initText(container);
  if (overhead !== undefined) key += `O${listText(overhead)}`;
  if (resources !== undefined) key += `P${resourcesText(resources)}`;
  return key;
}

function initText(container: Container): string {
  return `${container.restartPolicy === 'Always' ? 'S' : 'I'}${resourcesText(container.resources)}`;
}

function resourcesText(resources: ResourceRequirements | undefined): string {
  if (resources === undefined) return ';';
  const { requests, limits } = resources;
  if (limits === undefined) return `${listText(requests)};`;
  return `${listText(requests)}/${listText(limits)};`;
}

function listText(list: Readonly<Record<string, string>> | undefined): string {
  let text = '';
  if (list !== undefined) for (const name in list) text += `${name}=${lookUp(list, name)!},`;
  return text;
}

/**
 * The key of everything else: namespace, the labels that selectors refer to, and the constraints in the spec. `volumes` is the
 * key of the pod's volumes.
 */
export function shapeKey(pod: Pod, labelKeys: readonly string[], volumes: string): string {
  const { metadata, spec } = pod;
  let key = metadata.namespace ?? 'default';
  const labels = metadata.labels;
  if (labels !== undefined) key += labelText(labels, labelKeys);
  const { nodeSelector, tolerations, affinity, topologySpreadConstraints, resourceClaims } = spec;
  if (nodeSelector !== undefined) key += `N${listText(nodeSelector)}`;
  if (tolerations !== undefined) for (const toleration of tolerations) key += tolerationText(toleration);
  if (affinity !== undefined) key += affinityText(affinity);
  if (topologySpreadConstraints !== undefined) for (const each of topologySpreadConstraints) key += spreadText(each);
  if (resourceClaims !== undefined && resourceClaims.length > 0) key += 'D';
  return key + portsText(pod) + volumes;
}

function affinityText({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity): string {
  let text = '';
  if (nodeAffinity !== undefined) text += JSON.stringify(nodeAffinity);
  if (podAffinity !== undefined) text += `A${podAffinityText(podAffinity)}`;
  if (podAntiAffinity !== undefined) text += `X${podAffinityText(podAntiAffinity)}`;
  return text;
}

function podAffinityText(affinity: NonNullable<Affinity['podAffinity']>): string {
  let text = '';
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution;
  if (required !== undefined) for (const term of required) text += termText(term);
  const preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution;
  if (preferred !== undefined) {
    for (const { weight, podAffinityTerm } of preferred) text += `W${weight}${termText(podAffinityTerm)}`;
  }
  return text;
}

function termText(term: PodAffinityTerm): string {
  const { topologyKey, labelSelector, namespaces, namespaceSelector, matchLabelKeys, mismatchLabelKeys } = term;
  const text = `K${topologyKey}${selectorText(labelSelector)}`;
  const rare = namespaces ?? namespaceSelector ?? matchLabelKeys ?? mismatchLabelKeys;
  return rare === undefined
    ? text
    : text + JSON.stringify([namespaces, namespaceSelector, matchLabelKeys, mismatchLabelKeys]);
}

function spreadText(spread: TopologySpreadConstraint): string {
  const { maxSkew, topologyKey, whenUnsatisfiable, labelSelector } = spread;
  const { minDomains, nodeAffinityPolicy, nodeTaintsPolicy, matchLabelKeys } = spread;
  const text = `S${maxSkew} ${topologyKey} ${whenUnsatisfiable}${selectorText(labelSelector)}`;
  const rare = minDomains ?? nodeAffinityPolicy ?? nodeTaintsPolicy ?? matchLabelKeys;
  return rare === undefined
    ? text
    : text + JSON.stringify([minDomains, nodeAffinityPolicy, nodeTaintsPolicy, matchLabelKeys]);
}

/** A key that is equal for equal selectors with labels in the same order. */
export function selectorText(selector: LabelSelector | undefined): string {
  if (selector === undefined) return '-';
  const { matchLabels, matchExpressions } = selector;
  const text = `{${listText(matchLabels)}}`;
  return matchExpressions === undefined ? text : text + JSON.stringify(matchExpressions);
}

/** The requests of a pod with one container and only CPU and memory, as most pods have; otherwise undefined. */
export function plainRequests({ spec }: Pod): { readonly cpu: string; readonly memory: string } | undefined {
  const { containers, initContainers, overhead, resources } = spec;
  if (containers.length !== 1 || (initContainers ?? overhead ?? resources) !== undefined) return undefined;
  const own = containers[0]!.resources;
  if (own?.requests === undefined || own.limits !== undefined) return undefined;
  let cpu: string | undefined;
  let memory: string | undefined;
  for (const name in own.requests) {
    if (name === 'cpu') cpu = own.requests[name];
    else if (name === 'memory') memory = own.requests[name];
    else return undefined;
  }
  return cpu === undefined || memory === undefined ? undefined : { cpu, memory };
}

/** Whether two pods have the same `demandKey`, without building it: most pods equal the previous one. */
export function isSameDemand({ spec: a }: Pod, { spec: b }: Pod): boolean {
  const { length } = a.containers;
  if (b.containers.length !== length) return false;
  for (let c = 0; c < length; c++) if (!isEqual(a.containers[c]!.resources, b.containers[c]!.resources)) return false;
  return (
    isEqual(a.initContainers, b.initContainers) && isEqual(a.overhead, b.overhead) && isEqual(a.resources, b.resources)
  );
}

/** Whether two pods have the same `shapeKey`, ignoring volumes. May return false for equal ones. */
export function isSameShape(a: Pod, b: Pod, labelKeys: readonly string[]): boolean {
  if (a.metadata.namespace !== b.metadata.namespace) return false;
  if (!hasSameLabels(a.metadata.labels, b.metadata.labels, labelKeys)) return false;
  const { spec } = a;
  const { spec: other } = b;
  return (
    isEqual(spec.topologySpreadConstraints, other.topologySpreadConstraints) &&
    isEqual(spec.affinity, other.affinity) &&
    isEqual(spec.nodeSelector, other.nodeSelector) &&
    isEqual(spec.tolerations, other.tolerations) &&
    isEqual(spec.resourceClaims, other.resourceClaims) &&
    spec.hostNetwork === other.hostNetwork &&
    hasSamePorts(spec.containers, other.containers) &&
    hasSamePorts(spec.initContainers ?? none, other.initContainers ?? none)
  );
}

const none: readonly never[] = [];

/** Whether containers have the same ports and restart policies, because ports of sidecars count. */
function hasSamePorts(a: readonly Container[], b: readonly Container[]): boolean {
  if (a.length !== b.length) return false;
  for (let c = 0; c < a.length; c++) {
    if (a[c]!.restartPolicy !== b[c]!.restartPolicy || !isEqual(a[c]!.ports, b[c]!.ports)) return false;
  }
  return true;
}

/** Whether two JSON values are equal; a missing member equals undefined. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!isEqual(a[i], b[i])) return false;
    return true;
  }
  return hasEqualMembers(a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>);
}

function hasEqualMembers(left: Readonly<Record<string, unknown>>, right: Readonly<Record<string, unknown>>): boolean {
  for (const key in left) if (!isEqual(lookUp(left, key), lookUp(right, key))) return false;
  for (const key in right) if (lookUp(left, key) === undefined && lookUp(right, key) !== undefined) return false;
  return true;
}

function tolerationText({ key, operator, value, effect }: Toleration): string {
  return `T${key ?? ''} ${operator ?? ''} ${value ?? ''} ${effect ?? ''}`;
}

function portsText(pod: Pod): string {
  let text = '';
  for (const { protocol, hostIP, hostPort } of hostPorts(pod)) text += `H${protocol}/${hostIP}/${hostPort}`;
  return text;
}
