import type { Container, ContainerStatus, Pod, PodSpec, ResourceList } from '../api/kubernetes.js';
import { QuantityError, parseResource } from './quantities.js';
import { lookUp } from './own.js';
import { podLevelRequests } from './pod-level-requests.js';

/** Requests of a container, or of a pod as a whole. */
type Resized = Pick<Container, 'resources'>;

/**
 * The pod as kube-scheduler counts it while it or its containers are resized in place (scheduling/pod-requests): the
 * maximum of the spec's requests, the allocated and the effective resources; without the spec if the kubelet finds it
 * infeasible. Returns the same object if nothing changes.
 */
export function withResizedRequests(pod: Pod): Pod {
  const { status = {}, spec } = pod;
  const infeasible =
    status.conditions?.some(({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible') === true;
  const resized = (own: readonly Container[], statuses: readonly ContainerStatus[] = []): Container[] =>
    own.map((each) =>
      withStatus(
        each,
        statuses.find(({ name }) => name === each.name),
        infeasible,
      ),
    );
  const { initContainers: first = [] } = spec;
  const containers = resized(spec.containers, status.containerStatuses);
  const initContainers = resized(first, status.initContainerStatuses);
  // Without pod-level requests the pod's requests are the sum of its containers', also where its status has others.
  const { resources } = spec.resources?.requests === undefined ? spec : withStatus(spec, status, infeasible);
  const isChanged =
    resources !== spec.resources ||
    containers.some((each, i) => each !== spec.containers[i]) ||
    initContainers.some((each, i) => each !== first[i]);
  if (!isChanged) return pod;
  const changed = { containers, ...(spec.initContainers && { initContainers }), ...(resources && { resources }) };
  return { ...pod, spec: { ...spec, ...changed } };
}

/**
 * The pod as its owner will create it again from `template`: the maximum of both. Returns the same object if it is at
 * least as large.
 */
export function atLeast(pod: Pod, template: PodSpec): Pod {
  const whole = (own: readonly Container[], other: readonly Container[] = []): Container[] =>
    own.map((each) =>
      withMore(
        each,
        other.find(({ name }) => name === each.name),
      ),
    );
  const { containers: own, initContainers: first = [] } = pod.spec;
  const spec = withMore(pod.spec, template, podLevelRequests);
  const containers = whole(own, template.containers);
  const initContainers = whole(first, template.initContainers);
  const isLarger =
    spec !== pod.spec ||
    containers.some((each, i) => each !== own[i]) ||
    initContainers.some((each, i) => each !== first[i]);
  return isLarger ? { ...pod, spec: { ...spec, containers, ...(pod.spec.initContainers && { initContainers }) } } : pod;
}

function withMore<T extends { resources?: Container['resources'] }>(
  own: T,
  other: T | undefined,
  requestsOf: (of: T) => ResourceList = ({ resources }) => ({ ...resources?.limits, ...resources?.requests }),
): T {
  if (other?.resources === undefined) return own;
  const live = requestsOf(own);
  const requests = most([live, requestsOf(other)]);
  return isSame(live, requests) ? own : { ...own, resources: { ...own.resources, requests } };
}

function withStatus<T extends Resized>(
  own: T,
  status: Pick<ContainerStatus, 'resources' | 'allocatedResources'> | undefined,
  infeasible: boolean,
): T {
  if (status?.resources === undefined) return own;
  const asked = own.resources?.requests ?? {};
  const actual = [status.resources.requests ?? {}, status.allocatedResources ?? {}];
  const requests = most(infeasible ? actual : [asked, ...actual]);
  return isSame(asked, requests) ? own : { ...own, resources: { ...own.resources, requests } };
}

/** The maximum of each resource. */
function most(lists: readonly ResourceList[]): ResourceList {
  const largest: Record<string, string> = {};
  for (const list of lists)
    for (const [name, quantity] of Object.entries(list)) {
      const known = lookUp(largest, name);
      if (known === undefined || (known !== quantity && isMore(name, quantity, known))) largest[name] = quantity;
    }
  return largest;
}

/** Invalid quantities never count as more; packing reports them. */
function isMore(name: string, quantity: string, than: string): boolean {
  try {
    return parseResource(name, quantity) > parseResource(name, than);
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

const isSame = (a: ResourceList, b: ResourceList): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([name, quantity]) => lookUp(b, name) === quantity);
