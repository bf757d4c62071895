import type { Affinity, PodSpec, TopologySpreadConstraint } from '../../api/kubernetes.js';

/**
 * How many preferences of a pod are honoured: preferred node affinity, preferred pod (anti-)affinity and ScheduleAnyway
 * constraints together. Each adds a relaxation level, so this bounds the cost of a pod.
 */
export const honouredPreferences = 20;

/** Weight of ScheduleAnyway constraints, which have none in the API: the maximum weight of a preference. */
const spreadWeight = 100;

type Kind = 'spread' | 'affinity' | 'antiAffinity' | 'node';

interface Preference {
  readonly kind: Kind;
  readonly weight: number;
  /** Index in its list. */
  readonly at: number;
}

/** How many preferences the pod has, honoured or not. */
export function countPreferences({ affinity, topologySpreadConstraints }: PodSpec): number {
  let count = 0;
  if (affinity !== undefined) {
    const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
    count += nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution?.length ?? 0;
    count += podAffinity?.preferredDuringSchedulingIgnoredDuringExecution?.length ?? 0;
    count += podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution?.length ?? 0;
  }
  if (topologySpreadConstraints !== undefined) for (const each of topologySpreadConstraints) if (isSoft(each)) count++;
  return count;
}

/** How many preferences of the pod exceed the bound and are ignored. */
export const ignoredPreferences = (spec: PodSpec): number => Math.max(0, countPreferences(spec) - honouredPreferences);

export const isSoft = ({ whenUnsatisfiable }: TopologySpreadConstraint): boolean =>
  whenUnsatisfiable === 'ScheduleAnyway';

/**
 * The spec with only the honoured preferences: those with the highest weights, of equal weights the first. Returns the same
 * object if all are honoured.
 */
export function withHonouredPreferences(spec: PodSpec): PodSpec {
  if (ignoredPreferences(spec) === 0) return spec;
  const { affinity = {}, topologySpreadConstraints = [] } = spec;
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
  const kept = heaviest(spec);
  const honoured: Affinity = {};
  if (nodeAffinity !== undefined) honoured.nodeAffinity = only(nodeAffinity, kept.node);
  if (podAffinity !== undefined) honoured.podAffinity = only(podAffinity, kept.affinity);
  if (podAntiAffinity !== undefined) honoured.podAntiAffinity = only(podAntiAffinity, kept.antiAffinity);
  return {
    ...spec,
    topologySpreadConstraints: topologySpreadConstraints.filter((each, at) => !isSoft(each) || kept.spread.has(at)),
    affinity: honoured,
  };
}

/** The affinity with only the preferences at these indices. */
function only<A extends { preferredDuringSchedulingIgnoredDuringExecution?: unknown[] }>(
  affinity: A,
  places: ReadonlySet<number>,
): A {
  const preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return { ...affinity, preferredDuringSchedulingIgnoredDuringExecution: preferred.filter((_, at) => places.has(at)) };
}

/** Indices of the honoured preferences, by kind. */
function heaviest({ affinity, topologySpreadConstraints }: PodSpec): Readonly<Record<Kind, ReadonlySet<number>>> {
  const all: Preference[] = [];
  const take = (kind: Kind, list: readonly { readonly weight: number }[] | undefined): void =>
    list?.forEach(({ weight }, at) => all.push({ kind, weight, at }));
  topologySpreadConstraints?.forEach((each, at) => {
    if (isSoft(each)) all.push({ kind: 'spread', weight: spreadWeight, at });
  });
  take('affinity', affinity?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution);
  take('antiAffinity', affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution);
  take('node', affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution);
  all.sort((a, b) => b.weight - a.weight);
  const kept = { spread: new Set<number>(), affinity: new Set<number>(), antiAffinity: new Set<number>(), node: new Set<number>() }; // prettier-ignore
  for (const { kind, at } of all.slice(0, honouredPreferences)) kept[kind].add(at);
  return kept;
}
