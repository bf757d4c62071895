import type { Container, Pod, ResourceRequirements, Toleration } from '../../api/kubernetes.js';

/*
 * Two texts tell pods apart: what they request, and everything else that scheduling looks at. They are built by hand because
 * they are the only work done for every single pod.
 */

/** Text of what the pod requests. */
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
  if (list !== undefined) for (const name in list) text += `${name}=${list[name]!},`;
  return text;
}

/**
 * Text of everything else: namespace, the labels that some selector reads, and the fields of the spec that constrain.
 * `volumes` is the text of the pod's volumes, `allLabels` counts every label instead.
 */
export function shapeKey(pod: Pod, labelKeys: readonly string[], volumes: string): string {
  const { metadata, spec } = pod;
  let key = metadata.namespace ?? 'default';
  const labels = metadata.labels;
  if (labels !== undefined) for (const name of labelKeys) key += `|${labels[name] ?? '\0'}`;
  const { nodeSelector, tolerations, affinity, topologySpreadConstraints, resourceClaims } = spec;
  if (nodeSelector !== undefined) key += `N${listText(nodeSelector)}`;
  if (tolerations !== undefined) for (const toleration of tolerations) key += tolerationText(toleration);
  if (affinity !== undefined) key += JSON.stringify(affinity);
  if (topologySpreadConstraints !== undefined) key += JSON.stringify(topologySpreadConstraints);
  if (resourceClaims !== undefined && resourceClaims.length > 0) key += 'D';
  return key + portsText(pod) + volumes;
}

function tolerationText({ key, operator, value, effect }: Toleration): string {
  return `T${key ?? ''} ${operator ?? ''} ${value ?? ''} ${effect ?? ''}`;
}

function portsText(pod: Pod): string {
  let text = '';
  for (const { protocol, hostIP, hostPort } of hostPorts(pod)) text += `H${protocol}/${hostIP}/${hostPort}`;
  return text;
}

export interface HostPort {
  readonly protocol: string;
  readonly hostIP: string;
  readonly hostPort: number;
}

const none: readonly HostPort[] = [];

/** The host ports of a pod (section 2.4). */
export function hostPorts({ spec }: Pick<Pod, 'spec'>): readonly HostPort[] {
  let found: HostPort[] | undefined;
  for (const container of spec.containers) {
    if (container.ports === undefined) continue;
    for (const { hostPort, hostIP, protocol } of container.ports) {
      if (hostPort === undefined || hostPort === 0) continue;
      found ??= [];
      found.push({ protocol: protocol ?? 'TCP', hostIP: hostIP ?? '', hostPort });
    }
  }
  return found ?? none;
}

const isAnyAddress = (ip: string): boolean => ip === '' || ip === '0.0.0.0' || ip === '::';

/** Whether two sets of host ports cannot be on one node. */
export function portsClash(left: readonly HostPort[], right: readonly HostPort[]): boolean {
  return left.some((a) =>
    right.some(
      (b) =>
        a.hostPort === b.hostPort &&
        a.protocol === b.protocol &&
        (a.hostIP === b.hostIP || isAnyAddress(a.hostIP) || isAnyAddress(b.hostIP)),
    ),
  );
}
