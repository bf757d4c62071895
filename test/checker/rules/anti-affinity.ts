import type { PodAffinityTerm } from '../../../api/kubernetes.js';
import { hostnameKey } from '../catalogue.js';
import { normalKey } from '../selectors.js';
import type { FinalNode, Placement } from '../placement.js';
import type { PodClass } from '../pods.js';
import type { Violation } from '../types.js';
import { type Spot, spotsByClass, termSelects } from './where.js';

interface Presence {
  running: number;
  placed: number;
}

/**
 * Required pod anti-affinity over the final placement, both ways: the scheduler refuses a pod that would break the term
 * of one already there. The order of binding does not matter. A claim that may still be launched in several domains
 * counts in each of them.
 */
export function checkAntiAffinity(placement: Placement): Violation[] {
  const spots = spotsByClass(placement);
  const violations: Violation[] = [];
  const counted = new Map<string, ReadonlyMap<string, Presence>>();
  for (const [owner, ownerSpots] of spots) {
    const terms = owner.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    for (const term of terms) {
      const text = JSON.stringify([owner.namespace, term, keyLabels(term, owner)]);
      let presence = counted.get(text);
      if (presence === undefined) {
        presence = presenceOf(placement, term, owner, spots);
        counted.set(text, presence);
      }
      const selectsItself = termSelects(placement.cluster, term, owner, owner);
      for (const spot of ownerSpots) {
        const domain = clash(spot, term, presence, selectsItself);
        if (domain === undefined) continue;
        const message = `shares ${term.topologyKey}=${domain} with a pod that its anti-affinity keeps away`;
        violations.push({ rule: 'pod-anti-affinity', node: spot.node.name, pod: owner.example, message });
      }
    }
  }
  return [...violations, ...placement.nodes.flatMap((node) => besideDaemons(placement, node))];
}

/** Pods in a domain where a DaemonSet will run that they keep away, or that keeps them away. */
function besideDaemons({ cluster, nodes }: Placement, node: FinalNode): Violation[] {
  const keepsOff = (owner: PodClass, other: PodClass, there: FinalNode): boolean =>
    (owner.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(
      (term) => mayShare(node, there, normalKey(term.topologyKey)) && termSelects(cluster, term, owner, other),
    );
  return [...node.placed.keys()].flatMap((podClass) =>
    nodes.flatMap((there) =>
      [...there.daemons.keys()]
        .filter((daemon) => keepsOff(podClass, daemon, there) || keepsOff(daemon, podClass, there))
        .map(({ example }) => {
          const message = `shares a domain with the pod ${example} on ${there.name} that anti-affinity keeps apart from it`;
          return { rule: 'pod-anti-affinity', node: node.name, pod: podClass.example, message } as const;
        }),
    ),
  );
}

/** Whether the nodes are in one domain, or may come to be. */
function mayShare(node: FinalNode, there: FinalNode, key: string): boolean {
  if (key === hostnameKey) return node === there;
  const values = there.labels(key) ?? [];
  return (node.labels(key) ?? []).some((value) => values.includes(value));
}

function keyLabels(term: PodAffinityTerm, owner: PodClass): (string | undefined)[] {
  return [...(term.matchLabelKeys ?? []), ...(term.mismatchLabelKeys ?? [])].map((key) => owner.labels[key]);
}

function presenceOf(
  placement: Placement,
  term: PodAffinityTerm,
  owner: PodClass,
  spots: ReadonlyMap<PodClass, readonly Spot[]>,
): ReadonlyMap<string, Presence> {
  const presence = new Map<string, Presence>();
  for (const [other, otherSpots] of spots) {
    if (!termSelects(placement.cluster, term, owner, other)) continue;
    for (const spot of otherSpots) {
      for (const domain of spot.node.labels(normalKey(term.topologyKey)) ?? []) {
        const there = presence.get(domain) ?? { running: 0, placed: 0 };
        there.running += spot.running;
        there.placed += spot.placed;
        presence.set(domain, there);
      }
    }
  }
  return presence;
}

/** The domain where a pod of the spot meets another that its term selects. Two pods that both ran before may stay. */
function clash(
  spot: Spot,
  term: PodAffinityTerm,
  presence: ReadonlyMap<string, Presence>,
  selectsItself: boolean,
): string | undefined {
  const self = selectsItself ? 1 : 0;
  for (const domain of spot.node.labels(normalKey(term.topologyKey)) ?? []) {
    const there = presence.get(domain) ?? { running: 0, placed: 0 };
    if (spot.placed > 0 && there.running + there.placed - self > 0) return domain;
    if (spot.running > 0 && there.placed > 0) return domain;
  }
  return undefined;
}
