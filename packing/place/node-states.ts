import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { Compiled } from '../compile/compiled.js';
import type { Attachments, NodeForTopology, NodeKind, NodeState, PlacedPod } from '../topology/node-state.js';
import { attachPrefix, limitsOfNode, unlimited } from '../compile/attach-limits.js';
import { satisfies } from '../compile/key-space.js';
import type { Daemon } from '../compile/daemons.js';
import type { CompiledNode } from '../compile/nodes.js';
import { hostPorts, type HostPort } from '../../core/host-ports.js';
import { ownerOf } from '../../core/owners.js';
import { isOwnedBy } from '../../core/pods.js';
import { toleratingDaemons } from '../compile/pools.js';
import type { Volumes } from '../compile/volumes.js';
import { parseResource } from '../../core/quantities.js';
import { lookUp } from '../../core/own.js';
import { namespaceOf } from '../../core/names.js';

export type { NodeKind, NodeState, PlacedPod } from '../topology/node-state.js';

interface ExpectedDaemon extends Daemon {
  readonly vector: Float64Array;
}

/** The existing nodes that accept pods, in the order in which they are tried. */
export function nodeStates(compiled: Compiled): NodeState[] {
  const { nodes, space, dimensions, bound, daemons } = compiled;
  const kinds = new Map<string, NodeKind>();
  const daemonsOf = new Map<string, ExpectedDaemon[]>();
  const states: NodeState[] = [];
  for (const view of nodes) {
    if (view.deleting) continue;
    const pods = bound.get(view.name) ?? [];
    const kind = kindOf(view, space.keys, kinds);
    const taintText = JSON.stringify(view.taints);
    let expected = daemonsOf.get(taintText);
    if (expected === undefined) {
      expected = toleratingDaemons(daemons, view.taints).map((daemon) => ({
        ...daemon,
        vector: dimensions.vector(daemon.amounts),
      }));
      daemonsOf.set(taintText, expected);
    }
    const { values } = kind;
    const owed = new Float64Array(dimensions.count);
    const here = expected.filter(({ alternatives }) => alternatives.some((each) => satisfies(each, values)));
    for (const { vector } of here) addInto(owed, vector, 1);
    const free = allocatableOf(view, compiled);
    const ports: HostPort[] = [];
    for (const pod of pods) {
      const vector = dimensions.vector(compiled.classes.demandOf(pod).amounts);
      addInto(free, vector, -1);
      if (isOwnedBy(pod, 'DaemonSet.apps')) addInto(owed, vector, -1);
      ports.push(...hostPorts(pod));
    }
    for (let d = 0; d < free.length; d++) if (owed[d]! > 0) free[d] = free[d]! - owed[d]!;
    states.push({
      index: states.length,
      view,
      free,
      kind,
      ports,
      pods: [],
      placedWithRules: [],
      placed: [],
      host: hostOf(view),
      daemons: view.initialized ? [] : stillToCome(here, pods),
      attach: attachmentsOf(compiled, view, pods),
    });
  }
  return states;
}

/** The nodes whose pods topology counts: those that accept pods, and deleting nodes while pods are held back there. */
export function countedNodes(
  { nodes, bound, space }: Compiled,
  states: readonly NodeState[],
): readonly NodeForTopology[] {
  const kinds = new Map<string, NodeKind>();
  const draining = nodes.filter(({ name, deleting }) => deleting && (bound.get(name)?.length ?? 0) > 0);
  return [...states, ...draining.map((view) => ({ view, kind: kindOf(view, space.keys, kinds), host: hostOf(view) }))];
}

const hostOf = ({ labels: own, name }: CompiledNode): string => own[labels.hostname] ?? name;

/** Indices of the DaemonSets that have none of these pods. */
function stillToCome(daemons: readonly Daemon[], pods: readonly Pod[]): number[] {
  const there = new Set(
    pods.flatMap((pod) => {
      const owner = ownerOf(pod, 'DaemonSet.apps');
      return owner === undefined ? [] : `${namespaceOf(pod)}/${owner.name}`;
    }),
  );
  return daemons.filter(({ name }) => !there.has(name)).map(({ index }) => index);
}

function kindOf(view: CompiledNode, keys: readonly string[], kinds: Map<string, NodeKind>): NodeKind {
  const values = keys.map((key) => lookUp(view.labels, key));
  const text = JSON.stringify([values.map((value) => value ?? null), view.taints]);
  let kind = kinds.get(text);
  if (kind === undefined) kinds.set(text, (kind = { index: kinds.size, values, taints: view.taints }));
  return kind;
}

function allocatableOf(view: CompiledNode, { dimensions }: Compiled): Float64Array {
  const free = new Float64Array(dimensions.count);
  for (let d = 0; d < free.length; d++) {
    const name = dimensions.names[d]!;
    const quantity = lookUp(view.allocatable, name);
    if (quantity !== undefined) free[d] = parseAmount(name, quantity);
    // `attach` has the volumes of an existing node by name.
    if (name.startsWith(attachPrefix)) free[d] = unlimited;
  }
  return free;
}

function parseAmount(name: string, quantity: string): number {
  try {
    return parseResource(name, quantity);
  } catch {
    return 0;
  }
}

function addInto(total: Float64Array, more: Float64Array, factor: number): void {
  for (let d = 0; d < total.length; d++) total[d] = total[d]! + factor * more[d]!;
}

function attachmentsOf(
  { volumes, attachLimits }: Compiled,
  view: CompiledNode,
  pods: readonly Pod[],
): Attachments | undefined {
  const limits = limitsOfNode(attachLimits, view);
  if (limits === undefined) return undefined;
  const attached = new Map<string, Set<string>>();
  for (const pod of pods) attach(attached, volumes.attached(pod));
  return { limits, attached };
}

/** Counts volumes as attached; a volume that several pods use counts once. */
export function attach(
  attached: Map<string, Set<string>>,
  volumes: readonly { readonly driver: string; readonly volume: string }[],
): void {
  for (const { driver, volume } of volumes) {
    const there = attached.get(driver);
    if (there === undefined) attached.set(driver, new Set([volume]));
    else there.add(volume);
  }
}

/** Whether the CSI drivers can attach these volumes too. */
export function canAttach(
  { limits, attached }: Attachments,
  volumes: readonly { readonly driver: string; readonly volume: string }[],
): boolean {
  for (const [driver, limit] of limits) {
    const there = attached.get(driver);
    const more = new Set<string>();
    for (const each of volumes) if (each.driver === driver && there?.has(each.volume) !== true) more.add(each.volume);
    if (more.size > 0 && (there?.size ?? 0) + more.size > limit) return false;
  }
  return true;
}

/** Places pods of the pass on the node, without changing the topologyCounts. */
export function placeOn(
  node: NodeState,
  { podClass, rules, pods }: Omit<PlacedPod, 'pod'> & { readonly pods: readonly Pod[] },
  demand: Float64Array,
  volumes: Volumes,
): void {
  for (let d = 0; d < demand.length; d++) node.free[d] = node.free[d]! - pods.length * demand[d]!;
  const isRuled = rules.spread.length + rules.affinity.length + rules.hostAffinity.length > 0;
  for (const pod of pods) {
    const placed = { podClass, rules, pod };
    node.pods.push(pod);
    node.placed?.push(placed);
    if (isRuled) node.placedWithRules?.push(placed);
    if (node.attach !== undefined) attach(node.attach.attached, volumes.attached(pod));
  }
  node.ports.push(...podClass.shape.hostPorts);
}

/** Removes a pod of the pass from the node, without changing the topologyCounts. The caller detaches its volumes. */
export function removeFrom(node: NodeState, placed: PlacedPod, demand: Float64Array): void {
  for (let d = 0; d < demand.length; d++) node.free[d] = node.free[d]! + demand[d]!;
  node.pods.splice(node.pods.indexOf(placed.pod), 1);
  for (const list of [node.placedWithRules, node.placed]) {
    const at = list?.findIndex(({ pod }) => pod === placed.pod) ?? -1;
    if (at >= 0) list!.splice(at, 1);
  }
  removePorts(node.ports, placed.podClass.shape.hostPorts);
}

/** Removes these host ports from the list, each once. */
export function removePorts(ports: HostPort[], gone: readonly HostPort[]): void {
  for (const port of gone) {
    const at = ports.lastIndexOf(port);
    if (at >= 0) ports.splice(at, 1);
  }
}

/** How many pods of this demand fit into the free resources, at most `wanted`. */
export function roomFor(free: Float64Array, demand: Float64Array, wanted: number): number {
  let fit = wanted;
  for (let d = 0; d < demand.length; d++) {
    const left = free[d]!;
    if (left < 0) return 0;
    if (demand[d]! * fit > left) fit = Math.floor(left / demand[d]!);
    // Called for each node and kind of pod, so it returns as soon as one resource has no room.
    if (fit === 0) return 0;
  }
  return fit;
}
