import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { isBufferPod } from '../../core/pods.js';
import { offeringLabelsOf, type NodeState, type PodClass, type Trial } from '../../packing/trial.js';
import type { ExaminedNode } from './eligibility.js';
import { addLoad, isCountedWaiting, isOnlyEmpty, type FleetNode } from './fleet.js';

/** The nodes of the trial with their running pods on them. */
export function fleetOf(trial: Trial, examined: readonly ExaminedNode[]): FleetNode[] {
  const byName = new Map(examined.map((each) => [each.name, each]));
  return trial.nodes.map((state) => {
    const known = byName.get(state.view.name)!;
    const { loads, stuck } = movingPods(trial, known);
    trial.occupy(state, stuck);
    trial.placer.settleOn(state, loads);
    return fleetNode(state, known, loads, known.why === undefined && stuck.length === 0);
  });
}

/** The pods of a node that may be removed: those that need another node then, and those that can be placed nowhere. */
function movingPods(trial: Trial, { why, movable }: ExaminedNode): { loads: Map<PodClass, Pod[]>; stuck: Pod[] } {
  const loads = new Map<PodClass, Pod[]>();
  const stuck: Pod[] = [];
  for (const pod of why === undefined ? movable : []) {
    const podClass = trial.classOf(pod);
    if (podClass === undefined) stuck.push(pod);
    else addLoad(loads, podClass, [pod]);
  }
  return { loads, stuck };
}

function fleetNode(
  state: NodeState,
  examined: ExaminedNode,
  loads: Map<PodClass, Pod[]>,
  removable: boolean,
): FleetNode {
  const { view } = state;
  const own = offeringLabelsOf(view);
  const { pool, price, counted, settled, cost } = examined;
  return {
    name: view.name,
    state,
    nodePool: own[labels.nodePool] ?? '',
    pool,
    instanceType: own[labels.instanceType] ?? '',
    capacityType: own[labels.capacityType] ?? '',
    price,
    counted,
    loads,
    waiting: new Map(),
    removable,
    onlyEmpty: isOnlyEmpty(pool),
    open: view.initialized && settled,
    cost,
    gone: false,
  };
}

/**
 * Reserves the room that pending pods and capacity buffers have now, and gives all of them. Those without room are left to
 * provisioning: all pods of the class, or the part of a buffer that has none.
 */
export function reserveRoom(trial: Trial, nodes: ReadonlyMap<NodeState, FleetNode>): Set<Pod> {
  const waiting = new Set<Pod>();
  const onNodes = new Set([...nodes.values()].flatMap(({ loads }) => [...loads.values()].flat()));
  for (const podClass of trial.queue) {
    const pods = podClass.pods.filter((pod) => !onNodes.has(pod));
    if (pods.length === 0) continue;
    for (const pod of pods) waiting.add(pod);
    if (reserve(trial, nodes, podClass, pods) || !pods.some(isBufferPod)) continue;
    pods.every((pod) => reserve(trial, nodes, podClass, [pod]));
  }
  return waiting;
}

/** Reserves the room of all these pods of a class; false, and nothing is reserved, if some have none. */
function reserve(
  trial: Trial,
  nodes: ReadonlyMap<NodeState, FleetNode>,
  podClass: PodClass,
  pods: readonly Pod[],
): boolean {
  const { landed } = trial.begin();
  if (!trial.placer.placeWaiting(podClass, pods)) {
    trial.undo();
    return false;
  }
  for (const { node, pods: there } of trial.placer.placementsSince(landed)) {
    addLoad(nodes.get(node)!.waiting, podClass, there);
    if (!isCountedWaiting(there)) trial.uncount(node, podClass, there.length);
  }
  trial.commit();
  return true;
}
