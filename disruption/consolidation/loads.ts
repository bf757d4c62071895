import type { Pod } from '../../api/kubernetes.js';
import type { NodeState, PodClass } from '../../packing/trial.js';
import { addLoad, type FleetNode } from './fleet.js';
import { fullName } from '../../core/names.js';

export const statesOf = (nodes: readonly FleetNode[]): NodeState[] => nodes.map(({ state }) => state);

export const waitingOn = (nodes: readonly FleetNode[]): FleetNode['waiting'][] => nodes.map(({ waiting }) => waiting);

/** Combines all loads. */
export function allOf(each: readonly FleetNode['waiting'][]): FleetNode['waiting'] {
  const all: FleetNode['waiting'] = new Map();
  for (const loads of each) for (const [podClass, pods] of loads) addLoad(all, podClass, pods);
  return all;
}

export const copyOf = (loads: FleetNode['loads']): FleetNode['loads'] =>
  new Map([...loads].map(([podClass, pods]) => [podClass, [...pods]]));

/** The pods that need another node when these are removed. */
export function loadsOf(nodes: readonly FleetNode[]): Map<PodClass, Pod[]> {
  const loads = new Map<PodClass, Pod[]>();
  for (const node of nodes) for (const [podClass, pods] of node.loads) addLoad(loads, podClass, pods);
  return loads;
}

/** Removes the named pods (`namespace/name`) from the loads, and returns them. */
export function takeOut(loads: Map<PodClass, Pod[]>, names: ReadonlySet<string>): Map<PodClass, Pod[]> {
  const taken = new Map<PodClass, Pod[]>();
  for (const [podClass, pods] of loads) {
    const named = pods.filter((pod) => names.has(fullName(pod)));
    if (named.length === 0) continue;
    taken.set(podClass, named);
    const others = pods.filter((pod) => !names.has(fullName(pod)));
    if (others.length === 0) loads.delete(podClass);
    else loads.set(podClass, others);
  }
  return taken;
}
