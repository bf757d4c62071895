import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { type NodePlacement, type NodeState, offeringLabelsOf, type PodClass, Trial } from '../../packing/trial.js';
import type { ExaminedNode } from './eligibility.js';
import { addLoad, type FleetNode, isCountedWaiting, isOnlyEmpty } from './fleet.js';
import { isBufferPod } from '../../core/pods.js';
import { withoutUnreadable } from '../../packing/exclude-objects.js';
import type { PackingInput, Plan } from '../../packing/types.js';
import type { Consolidation } from './types.js';
import { fullName } from '../../core/names.js';

/**
 * The nodes of the trial with their running pods on them. Those that stay because a pod can be placed nowhere are added
 * to `held`.
 */
export function fleetOf(
  trial: Trial,
  examined: readonly ExaminedNode[],
  held: Consolidation['held'][number][],
): FleetNode[] {
  const byName = new Map(examined.map((each) => [each.name, each]));
  const nodes = trial.nodes.map((state) => {
    const known = byName.get(state.view.name)!;
    const { loads, stuck } = movingPods(trial, known);
    trial.occupy(state, stuck);
    trial.placer.settleOn(state, loads);
    const [first] = stuck;
    if (first !== undefined) {
      held.push({ node: known.name, why: `no node takes pod ${fullName(first)}: ${trial.whyNowhere(first)}` });
    }
    return fleetNode(state, known, loads, known.why === undefined && stuck.length === 0);
  });
  trial.commit();
  return nodes;
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
  const { pool, price, counted, open, cost } = examined;
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
    open,
    cost,
    gone: false,
  };
}

/**
 * Reserves the room that pending pods and capacity buffers have now, and returns all these pods. If a class has more
 * pods than there is room for, the others are left to provisioning (consolidation/room-of-pending-pods).
 */
export function reserveRoom(trial: Trial, nodes: ReadonlyMap<NodeState, FleetNode>): Set<Pod> {
  const waiting = new Set<Pod>();
  const onNodes = new Set([...nodes.values()].flatMap(({ loads }) => [...loads.values()].flat()));
  for (const podClass of trial.queue) {
    const pods = podClass.pods.filter((pod) => !onNodes.has(pod));
    for (const pod of pods) waiting.add(pod);
    for (const { node, pods: there } of placeWaiting(trial, podClass, pods)) {
      addLoad(nodes.get(node)!.waiting, podClass, there);
      if (!isCountedWaiting(there)) trial.uncount(node, podClass, there.length);
    }
    trial.commit();
  }
  return waiting;
}

/** Places as many of these pods of a class as have room on nodes. */
function placeWaiting(trial: Trial, podClass: PodClass, pods: readonly Pod[]): readonly NodePlacement[] {
  for (let some = pods; some.length > 0;) {
    const { landed } = trial.begin();
    const isAll = trial.placer.placeWaiting(podClass, some);
    const placements = trial.placer.placementsSince(landed);
    if (isAll) return placements;
    // Tries again without the pods that only fit on a new node, because topology counts them there.
    const placed = placements.reduce((sum, { pods: there }) => sum + there.length, 0);
    trial.undo();
    some = some.slice(0, Math.min(placed, some.length - 1));
  }
  return [];
}

/**
 * The nodes on which pods without a node have room now, and these pods, for which no nodes are launched
 * (consolidation/room-of-pending-pods).
 */
export function waitingRooms(input: PackingInput): Plan['existingNodes'] {
  return withoutUnreadable(input, (each) => roomsIn(each)).result;
}

function roomsIn(input: PackingInput): Plan['existingNodes'] {
  const trial = new Trial(input, new Map());
  const rooms = new Map<string, string[]>();
  for (const podClass of trial.queue) {
    if (podClass.pods.some(isBufferPod)) continue;
    for (const { node, pods } of placeWaiting(trial, podClass, podClass.pods)) {
      const there = rooms.get(node.view.name);
      if (there === undefined) rooms.set(node.view.name, pods.map(fullName));
      else there.push(...pods.map(fullName));
    }
    trial.commit();
  }
  return [...rooms].map(([node, pods]) => ({ node, pods }));
}
