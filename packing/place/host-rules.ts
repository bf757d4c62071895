import type { Pod } from '../../api/kubernetes.js';
import type { Volumes } from '../compile/volumes.js';
import { portsClash } from '../../core/host-ports.js';
import type { PodClass } from '../compile/classes.js';
import type { Group } from '../topology/groups.js';
import type { Site, TopologyCounts } from '../topology/topology-counts.js';
import type { Rules } from '../topology/rules.js';
import { canAttach, type NodeState } from './node-states.js';

/** A pod that is to be placed. */
export interface IncomingPod {
  readonly podClass: PodClass;
  readonly rules: Rules;
  /** The pod itself, because its volumes are not shared with others of its class. */
  readonly pod: Pod;
}

/** The state of an existing or new node that host-name rules, host ports and volumes need. */
export type Host = Pick<NodeState, 'attach' | 'ports' | 'host'> &
  Partial<Pick<Site, 'kind'>> & {
    /** Indices of DaemonSets whose pods will run there and are not counted yet. */
    readonly uncounted?: readonly number[] | undefined;
    /** Set for existing nodes: where kube-scheduler refused pods like it, and where pods of DaemonSets alone do not satisfy pod affinity (topology/daemon-pods). */
    readonly view?: NodeState['view'];
  };

export interface HostContext {
  readonly topologyCounts: TopologyCounts;
  readonly volumes: Volumes;
}

/** Whether the group selects the pods of these rules. */
export const selectsOwn = (rules: Rules, group: Group): boolean => rules.matched.includes(group);

/** Pods with volumes are placed one by one, while the node's CSI drivers can attach more. */
function volumeRoom({ attach }: Host, { shape }: PodClass, volumes: Volumes, pod: Pod): number {
  if (attach === undefined || shape.exemplar.spec.volumes === undefined) return Infinity;
  const own = volumes.attached(pod);
  if (own.length === 0) return Infinity;
  return canAttach(attach, own) ? 1 : 0;
}

function portRoom({ ports }: Host, { shape }: PodClass): number {
  if (shape.hostPorts.length === 0) return Infinity;
  return portsClash(ports, shape.hostPorts) ? 0 : 1;
}

/** Whether kube-scheduler refused such pods on this existing node (provisioning/refused-pods). */
const isRefusedOn = ({ view }: Host, { shape }: PodClass): boolean =>
  view !== undefined && shape.refused?.nodes.has(view.name) === true;

/**
 * How many more pods of the class the node may have by host-name rules, host ports, volumes and refusals, at most
 * `wanted`; pod affinity is not checked.
 */
export function hostRoom(
  node: Host,
  { podClass, rules, pod }: IncomingPod,
  context: HostContext,
  wanted: number,
): number {
  const { topologyCounts, volumes } = context;
  const { host } = node;
  if (isRefusedOn(node, podClass)) return 0;
  let room = wanted;
  room = Math.min(room, volumeRoom(node, podClass, volumes, pod), portRoom(node, podClass));
  if (!admitsDaemons(node, rules, topologyCounts)) return 0;
  for (const group of rules.hostSpread) {
    const self = selectsOwn(rules, group);
    const left = group.maxSkew + topologyCounts.least(group) - countAt(topologyCounts, group, node);
    if (left < (self ? 1 : 0)) return 0;
    if (self) room = Math.min(room, left);
  }
  for (const group of rules.hostAntiAffinity) {
    if (topologyCounts.count(group, host) > 0) return 0;
    if (selectsOwn(rules, group)) room = Math.min(room, 1);
  }
  for (const group of rules.matched) {
    if (group.kind === 'antiAffinity' && group.hostname && topologyCounts.owners(group, host) > 0) return 0;
  }
  return room;
}

/** How many pods on the node the rule selects, including DaemonSet pods that are still to come. */
function countAt(topologyCounts: TopologyCounts, group: Group, { host, uncounted = [] }: Host): number {
  const counted = topologyCounts.count(group, host);
  return uncounted.length === 0 ? counted : counted + (topologyCounts.daemonPods?.count(group, uncounted) ?? 0);
}

/**
 * Whether an existing node runs the DaemonSet pods that these pods need, and a new node will run none that exclude
 * them.
 */
function admitsDaemons(node: Host, rules: Rules, topologyCounts: TopologyCounts): boolean {
  const { daemonPods } = topologyCounts;
  const { uncounted = [], kind } = node;
  if (daemonPods === undefined) return true;
  if (
    kind !== undefined &&
    uncounted.length > 0 &&
    daemonPods.conflictWith(rules, kind.values, uncounted) !== undefined
  )
    return false;
  if (node.view === undefined) return true;
  return rules.byDaemons.every(
    (group) => daemonPods.count(group, uncounted) > 0 || topologyCounts.isNear(group, { host: node.host, kind: kind! }),
  );
}
