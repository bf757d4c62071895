import { portsClash } from '../compile/pod-key.js';
import type { PodClass } from '../compile/classes.js';
import type { Group } from '../topology/groups.js';
import type { Ledger } from '../topology/ledger.js';
import type { Rules } from '../topology/rules.js';
import type { NodeState } from './node-states.js';

/** Whether the group selects the pods that the rules are about. */
export const selectsOwn = (rules: Rules, group: Group): boolean => rules.matched.includes(group);

/**
 * How many more pods of the class an existing node takes as far as rules of the host name, host ports and volumes go, at
 * most `wanted`; pod affinity apart.
 */
export function hostRoom(node: NodeState, podClass: PodClass, rules: Rules, ledger: Ledger, wanted: number): number {
  const host = node.host;
  let room = wanted;
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
