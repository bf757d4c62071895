import type { Pod } from '../../api/kubernetes.js';
import type { Volumes } from '../compile/volumes.js';
import { portsClash } from '../compile/pod-key.js';
import type { PodClass } from '../compile/classes.js';
import type { Group } from '../topology/groups.js';
import type { Ledger } from '../topology/ledger.js';
import type { Rules } from '../topology/rules.js';
import { canAttach, type NodeState } from './node-states.js';

/** Who asks to come. */
export interface Comer {
  readonly podClass: PodClass;
  readonly rules: Rules;
  /** The very pod: its volumes are its own. */
  readonly pod: Pod;
}

export interface HostContext {
  readonly ledger: Ledger;
  readonly volumes: Volumes;
}

/** Whether the group selects the pods that the rules are about. */
export const selectsOwn = (rules: Rules, group: Group): boolean => rules.matched.includes(group);

/** Whether the node's drivers can attach the volumes of one more pod of the class. */
function volumesFit({ attach }: NodeState, { shape }: PodClass, volumes: Volumes, pod: Pod): boolean {
  if (attach === undefined || shape.exemplar.spec.volumes === undefined) return true;
  return canAttach(attach, volumes.attached(pod));
}

/**
 * How many more pods of the class an existing node takes as far as rules of the host name, host ports and volumes go, at
 * most `wanted`; pod affinity apart.
 */
export function hostRoom(
  node: NodeState,
  { podClass, rules, pod }: Comer,
  context: HostContext,
  wanted: number,
): number {
  const { ledger, volumes } = context;
  const { host } = node;
  let room = wanted;
  if (node.attach !== undefined && podClass.shape.exemplar.spec.volumes !== undefined) {
    if (!volumesFit(node, podClass, volumes, pod)) return 0;
    if (volumes.attached(pod).length > 0) room = Math.min(room, 1);
  }
  if (podClass.shape.hostPorts.length > 0) {
    if (portsClash(node.ports, podClass.shape.hostPorts)) return 0;
    room = Math.min(room, 1);
  }
  for (const group of rules.hostSpread) {
    const self = selectsOwn(rules, group);
    const left = group.maxSkew - ledger.count(group, host);
    if (left < (self ? 1 : 0)) return 0;
    if (self) room = Math.min(room, left);
  }
  for (const group of rules.hostAntiAffinity) {
    if (ledger.count(group, host) > 0) return 0;
    if (selectsOwn(rules, group)) room = Math.min(room, 1);
  }
  for (const group of rules.matched) {
    if (group.kind === 'antiAffinity' && group.hostname && ledger.owners(group, host) > 0) return 0;
  }
  return room;
}
