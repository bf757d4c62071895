import type { CSINode, Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { lookUp } from '../../core/own.js';
import { offeringLabelsOf, type CompiledNode } from './nodes.js';
import { remembered } from './stores.js';
import type { Volumes } from './volumes.js';

/** How many volumes each CSI driver attaches. */
type Limits = ReadonlyMap<string, number>;

/** Attach limits as CSINodes report them (volumes/attach-limits). */
export interface AttachLimits {
  readonly byNode: ReadonlyMap<string, Limits>;
  /** By instance type: the median of its nodes, so that one wrong report does not decide. */
  readonly byType: ReadonlyMap<string, Limits>;
}

export function readAttachLimits(csiNodes: readonly CSINode[] = [], nodes: readonly CompiledNode[]): AttachLimits {
  const byNode = new Map<string, Limits>();
  for (const { metadata, spec } of csiNodes) {
    const limits = new Map<string, number>();
    for (const { name, allocatable } of spec.drivers ?? []) {
      if (allocatable?.count !== undefined) limits.set(name, allocatable.count);
    }
    if (limits.size > 0) byNode.set(metadata.name ?? '', limits);
  }
  const reported = new Map<string, Map<string, number[]>>();
  for (const node of nodes) {
    const type = lookUp(offeringLabelsOf(node), labels.instanceType);
    if (type === undefined) continue;
    const ofType = reported.get(type) ?? new Map<string, number[]>();
    for (const [driver, limit] of byNode.get(node.name) ?? []) {
      reported.set(type, ofType.set(driver, [...(ofType.get(driver) ?? []), limit]));
    }
  }
  const median = (counts: readonly number[]): number => [...counts].sort((a, b) => a - b)[(counts.length - 1) >> 1]!;
  const byType = [...reported].map(
    ([type, drivers]) => [type, new Map([...drivers].map(([driver, counts]) => [driver, median(counts)]))] as const,
  );
  return { byNode, byType: new Map(byType) };
}

/** The limits of a node; while it starts, those of its type for drivers that it does not report yet. */
export function limitsOfNode({ byNode, byType }: AttachLimits, node: CompiledNode): Limits | undefined {
  const own = byNode.get(node.name);
  const type = node.initialized ? undefined : lookUp(offeringLabelsOf(node), labels.instanceType);
  const known = type === undefined ? undefined : byType.get(type);
  return known === undefined ? own : new Map([...known, ...(own ?? [])]);
}

/** Begins the name of the resource that stands for the attach limit of a driver, as kubelet names it. */
export const attachPrefix = 'attachable-volumes-csi-';

/** More volumes than the pods of any node have. */
export const unlimited = 100_000;

/** Pods that request their volumes too, of each driver whose limit on a new node the pods together exceed. */
export function withAttachRequests(
  volumes: Volumes,
  { byType }: AttachLimits,
  pods: readonly Pod[],
): (pod: Pod) => Pod {
  const left = new Map<string, number>();
  for (const [driver, limit] of [...byType.values()].flatMap((limits) => [...limits])) {
    left.set(driver, Math.min(limit, left.get(driver) ?? Infinity));
  }
  if (left.size === 0) return (pod) => pod;
  const taken = (pod: Pod): string[] =>
    volumes.attached(pod).flatMap(({ driver, isFirst }) => (isFirst && left.has(driver) ? [driver] : []));
  for (const driver of pods.flatMap(taken)) left.set(driver, left.get(driver)! - 1);
  return (pod) => {
    const counts = new Map<string, number>();
    for (const driver of taken(pod)) if (left.get(driver)! < 0) counts.set(driver, (counts.get(driver) ?? 0) + 1);
    if (counts.size === 0) return pod;
    const more = [...counts].map(([driver, count]) => [`${attachPrefix}${driver}`, String(count)] as const);
    return { ...pod, spec: { ...pod.spec, overhead: { ...pod.spec.overhead, ...Object.fromEntries(more) } } };
  };
}

/** Types with their attach limits as resources of these names. Returns the same array for the same limits. */
export function withAttachLimits(
  types: readonly InstanceType[],
  { byType }: AttachLimits,
  resources: readonly string[],
): readonly InstanceType[] {
  const drivers = resources.flatMap((name) => (name.startsWith(attachPrefix) ? [name.slice(attachPrefix.length)] : []));
  if (drivers.length === 0) return types;
  const limits = types.map(({ name }) => drivers.map((driver) => byType.get(name)?.get(driver) ?? unlimited));
  return remembered(withLimits, types, JSON.stringify([drivers, limits]), () =>
    types.map((type, t) => {
      const more = drivers.map((driver, d) => [`${attachPrefix}${driver}`, limits[t]![d]!] as const);
      return { ...type, capacity: { ...type.capacity, ...Object.fromEntries(more) } };
    }),
  );
}

const withLimits = new WeakMap<readonly InstanceType[], Map<string, readonly InstanceType[]>>();
