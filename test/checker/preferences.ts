import type { PodAffinity } from '../../api/kubernetes.js';
import type { Placement } from './placement.js';
import type { PodClass } from './pods.js';
import { type Spot, spotsByClass, termSelects, withLabelKeys } from './rules/where.js';
import { domainSatisfies, normalKey, selectorMatches } from './selectors.js';

export interface Preferences {
  /** Weights that the placed pods' preferences come to; ScheduleAnyway spread weighs 1. */
  readonly asked: number;
  readonly kept: number;
}

type Spots = ReadonlyMap<PodClass, readonly Spot[]>;

/**
 * Preferred node affinity, pod affinity and anti-affinity, and ScheduleAnyway spread over the final placement. Breaking
 * one is no violation, but an engine that keeps none plans for less, so prices are read beside this.
 */
export function preferencesKept(placement: Placement): Preferences {
  const spots = spotsByClass(placement);
  let asked = 0;
  let kept = 0;
  const counts = new Map<string, ReadonlyMap<string, number>>();
  const cached = (text: string, count: () => ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
    const found = counts.get(text) ?? count();
    counts.set(text, found);
    return found;
  };
  for (const [podClass, at] of spots) {
    for (const preferred of preferredBy(placement, spots, podClass, cached)) {
      for (const spot of at) {
        asked += preferred.weight * spot.placed;
        if (spot.placed > 0 && preferred.keptAt(spot)) kept += preferred.weight * spot.placed;
      }
    }
  }
  return { asked, kept };
}

interface Preferred {
  readonly weight: number;
  readonly keptAt: (spot: Spot) => boolean;
}

type Cache = (text: string, count: () => ReadonlyMap<string, number>) => ReadonlyMap<string, number>;

function preferredBy(placement: Placement, spots: Spots, podClass: PodClass, cached: Cache): Preferred[] {
  const { affinity } = podClass.spec;
  return [
    ...(affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ weight, preference }): Preferred => ({
        weight,
        keptAt: ({ node }) => (preference.matchExpressions ?? []).every((e) => domainSatisfies(node.labels, e)),
      }),
    ),
    ...preferredPods(placement, spots, podClass, cached, affinity?.podAffinity),
    ...preferredPods(placement, spots, podClass, cached, affinity?.podAntiAffinity),
    ...preferredSpread(placement, spots, podClass, cached),
  ];
}

function preferredPods(
  placement: Placement,
  spots: Spots,
  podClass: PodClass,
  cached: Cache,
  affinity: PodAffinity | undefined,
): Preferred[] {
  const apart = affinity !== undefined && affinity === podClass.spec.affinity?.podAntiAffinity;
  return (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ weight, podAffinityTerm: term }) => {
    const count = cached(JSON.stringify([podClass.namespace, term, term.matchLabelKeys && podClass.labels]), () =>
      countBy(placement, spots, term.topologyKey, (other) => termSelects(placement.cluster, term, podClass, other)),
    );
    const self = termSelects(placement.cluster, term, podClass, podClass) ? 1 : 0;
    return { weight, keptAt: (spot) => most(count, spot, term.topologyKey) - self > 0 !== apart };
  });
}

function preferredSpread(placement: Placement, spots: Spots, podClass: PodClass, cached: Cache): Preferred[] {
  return (podClass.spec.topologySpreadConstraints ?? [])
    .filter((spread) => spread.whenUnsatisfiable === 'ScheduleAnyway')
    .map((spread) => {
      const selector = withLabelKeys(spread.labelSelector, podClass.labels, spread.matchLabelKeys, undefined);
      const count = cached(JSON.stringify([podClass.namespace, selector, spread.topologyKey]), () =>
        countBy(
          placement,
          spots,
          spread.topologyKey,
          (other) => other.namespace === podClass.namespace && selectorMatches(selector, other.labels),
        ),
      );
      const least = Math.min(...count.values());
      return { weight: 1, keptAt: (spot) => most(count, spot, spread.topologyKey) - least <= spread.maxSkew };
    });
}

/** Selected pods by domain, over every domain that a node has. */
function countBy(
  placement: Placement,
  spots: Spots,
  topologyKey: string,
  selects: (podClass: PodClass) => boolean,
): Map<string, number> {
  const domains = placement.nodes.flatMap((node) => node.labels(normalKey(topologyKey)) ?? []);
  const counts = new Map(domains.map((domain) => [domain, 0]));
  for (const [podClass, at] of spots) {
    const selected = selects(podClass);
    for (const { node, running, placed } of at) {
      for (const domain of node.labels(normalKey(topologyKey)) ?? []) {
        counts.set(domain, (counts.get(domain) ?? 0) + (selected ? running + placed : 0));
      }
    }
  }
  return counts;
}

function most(counts: ReadonlyMap<string, number>, { node }: Spot, topologyKey: string): number {
  return Math.max(0, ...(node.labels(normalKey(topologyKey)) ?? []).map((domain) => counts.get(domain) ?? 0));
}
