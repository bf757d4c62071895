import type { DaemonSet, NodeSelector, Pod, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { ownerOf } from '../../core/owners.js';
import { QuantityError } from '../../core/quantities.js';
import type { ClusterObjects } from '../types.js';
import type { Dimensions } from './dimensions.js';
import type { Constraint, KeySpace } from './key-space.js';
import { requiredTerms } from './node-terms.js';
import { hostPorts, type HostPort } from '../../core/host-ports.js';
import { podRequests, type QuantityReader } from './pod-requests.js';
import { namespaceOf, fullName } from '../../core/names.js';

/** A DaemonSet as overhead of the nodes that it runs on (scheduling/daemon-overhead). */
export interface Daemon {
  readonly index: number;
  readonly name: string;
  readonly namespace: string;
  /** The labels of its pods. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** The spec of its pods. */
  readonly spec: PodSpec;
  readonly amounts: ReadonlyMap<string, number>;
  readonly hostPorts: readonly HostPort[];
  /** Required node terms; one of them must be satisfied. */
  readonly alternatives: readonly Constraint[];
}

/** Reads the DaemonSets, sorted by name. A DaemonSet whose quantities do not parse is left out. */
export function readDaemons(
  { daemonSets, pods }: Pick<ClusterObjects, 'daemonSets' | 'pods'>,
  space: KeySpace,
  dimensions: Dimensions,
  quantities: QuantityReader,
): Daemon[] {
  if (daemonSets === undefined || daemonSets.length === 0) return [];
  const samples = newestPods(pods);
  const named = daemonSets.map((object) => ({ object, name: fullName(object) }));
  named.sort((a, b) => compareText(a.name, b.name));
  const daemons: Daemon[] = [];
  for (const { object, name } of named) {
    const sample = samples.get(name);
    const spec = specOf(object, sample);
    if ((spec.resourceClaims?.length ?? 0) > 0) continue; // Rule `scheduling/daemons-with-claims`.
    const amounts = amountsOf(spec, quantities);
    if (amounts === undefined) continue;
    dimensions.register(amounts);
    const alternatives = requiredTerms(spec).map((term) => space.intern(term));
    const index = daemons.length;
    daemons.push({
      ...{ index, name, namespace: namespaceOf(object), labels: (sample ?? object.spec.template).metadata?.labels },
      ...{ spec, amounts, hostPorts: hostPorts({ spec }), alternatives },
    });
  }
  return daemons;
}

/** The newest pod of each DaemonSet, by the name of the DaemonSet. */
function newestPods(pods: readonly Pod[]): Map<string, Pod> {
  const newest = new Map<string, Pod>();
  for (const pod of pods) {
    const owner = ownerOf(pod, 'DaemonSet.apps');
    if (owner === undefined) continue;
    const name = `${namespaceOf(pod)}/${owner.name}`;
    const known = newest.get(name);
    if (known === undefined || isNewer(pod, known)) newest.set(name, pod);
  }
  return newest;
}

function isNewer({ metadata: a }: Pod, { metadata: b }: Pod): boolean {
  const created = compareText(a.creationTimestamp ?? '', b.creationTimestamp ?? '');
  return created > 0 || (created === 0 && compareText(a.name ?? '', b.name ?? '') < 0);
}

/**
 * The spec of a pod of the DaemonSet. Taken from a running pod, because LimitRanges, RuntimeClasses, vertical
 * autoscaling and webhooks change the template's spec. The node affinity by which the DaemonSet controller ties that
 * pod to its host is removed.
 */
function specOf({ spec: { template } }: DaemonSet, sample: Pod | undefined): PodSpec {
  if (sample === undefined) return template.spec;
  const { affinity, ...spec } = sample.spec;
  const { nodeAffinity, ...others } = affinity ?? {};
  const required =
    template.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ??
    withoutHosts(nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution);
  const own = required === undefined ? {} : { requiredDuringSchedulingIgnoredDuringExecution: required };
  return { ...spec, affinity: { ...others, nodeAffinity: own } };
}

/** The terms without requirements on the host name; no terms if that leaves one that every node satisfies. */
function withoutHosts(selector: NodeSelector | undefined): NodeSelector | undefined {
  const terms = (selector?.nodeSelectorTerms ?? []).map(({ matchExpressions = [] }) => ({
    matchExpressions: matchExpressions.filter(({ key }) => key !== labels.hostname),
  }));
  return terms.some(({ matchExpressions }) => matchExpressions.length === 0) ? undefined : { nodeSelectorTerms: terms };
}

function amountsOf(spec: PodSpec, quantities: QuantityReader): ReadonlyMap<string, number> | undefined {
  try {
    return podRequests(spec, quantities);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}
