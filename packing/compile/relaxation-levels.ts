import type {
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
  WeightedPodAffinityTerm,
} from '../../api/kubernetes.js';
import { filtered, joined, mapped, emptyList } from '../lists.js';
import { impossibleKey, join, noRequirements, type Requirements } from '../requirements/requirements.js';
import type { PodShape } from './classes.js';
import type { Constraint, KeySpace } from './key-space.js';
import { preferredTerms, requiredTerms } from './node-terms.js';
import { isSoft, withHonouredPreferences } from './preferences.js';

/** The requirements of a pod on one relaxation level (scheduling/relaxation). */
export interface Level {
  /** Alternatives for the node; one must be satisfied. Empty if they are contradictory. */
  readonly constraints: readonly Constraint[];
  /** The required node terms without volumes and preferences: they determine which nodes a spread constraint counts. */
  readonly own: readonly Constraint[];
  readonly tolerations: readonly Toleration[];
  /** Whether PreferNoSchedule taints exclude the pod. */
  readonly avoidsPreferred: boolean;
  readonly spread: readonly TopologySpreadConstraint[];
  /** Required terms. Only pods that all of them select count. */
  readonly affinity: readonly PodAffinityTerm[];
  /** Preferred terms that this level treats as required. Each counts pods separately. */
  readonly preferredAffinity: readonly PodAffinityTerm[];
  readonly antiAffinity: readonly PodAffinityTerm[];
}

/** Whether the level has pod affinity. */
export const hasPodAffinity = ({ affinity, preferredAffinity }: Level): boolean =>
  affinity.length + preferredAffinity.length > 0;

interface RelaxationOptions {
  readonly ignorePreferences: boolean;
  /** Whether some NodePool template or node has a PreferNoSchedule taint. */
  readonly preferredTaints: boolean;
  readonly defaultSpread: readonly TopologySpreadConstraint[];
  /** Alternatives for the node that the pod's volumes allow. */
  readonly volumeAlternatives: readonly Requirements[];
}

const byWeight = (terms: readonly WeightedPodAffinityTerm[] | undefined): readonly PodAffinityTerm[] =>
  terms === undefined
    ? emptyList
    : [...terms].sort((a, b) => b.weight - a.weight).map(({ podAffinityTerm }) => podAffinityTerm);

/** The required items, and the preferred ones from index `from` on. */
const withPreferred = <T>(required: readonly T[] | undefined, preferred: readonly T[], from: number): readonly T[] =>
  from >= preferred.length ? (required ?? emptyList) : joined(required ?? emptyList, preferred.slice(from));

/**
 * The relaxation levels, from all preferences to none. They are dropped in this order: preferred pod affinity (highest weight
 * first), preferred anti-affinity, preferred node affinity, ScheduleAnyway spread, PreferNoSchedule taints. Required node terms
 * are alternatives on every level, so that the cheapest can be chosen. Preferences beyond the bound have no level.
 */
export function relaxationLevels({ exemplar }: PodShape, space: KeySpace, options: RelaxationOptions): Level[] {
  const spec = withHonouredPreferences(exemplar.spec);
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const own = spec.topologySpreadConstraints ?? emptyList;
  const spread = own.length > 0 ? own : options.defaultSpread;
  const hard = spread.length === 0 ? emptyList : filtered(spread, (each) => !isSoft(each));
  const soft = spread.length === 0 ? emptyList : filtered(spread, isSoft);
  const affinity = byWeight(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution);
  const anti = byWeight(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution);
  const nodeTerms = preferredTerms(spec);
  const terms = requiredTerms(spec);
  const required = alternatives(terms, options.volumeAlternatives);
  const intern = (possible: readonly Requirements[]): Constraint[] =>
    mapped(
      filtered(possible, (term) => impossibleKey(term) === undefined),
      (term) => space.ask(term),
    );
  const ownTerms = intern(terms);
  const interned = new Map<Requirements, readonly Constraint[]>();

  const constraintsWith = (preferred: Requirements): readonly Constraint[] => {
    let known = interned.get(preferred);
    if (known === undefined) {
      known = intern(required.map((term) => join(term, preferred)));
      interned.set(preferred, known);
    }
    return known;
  };
  const level = (drop: Drops): Level => ({
    constraints: constraintsWith(nodeTerms[drop.node] ?? noRequirements),
    own: ownTerms,
    tolerations: spec.tolerations ?? emptyList,
    avoidsPreferred: drop.taints === 0 && options.preferredTaints,
    spread: withPreferred(hard, soft, drop.spread),
    affinity: podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? emptyList,
    preferredAffinity: drop.affinity === 0 ? affinity : affinity.slice(drop.affinity),
    antiAffinity: withPreferred(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, anti, drop.anti),
  });

  const ends: Drops = {
    affinity: affinity.length,
    anti: anti.length,
    node: nodeTerms.length,
    spread: soft.length,
    taints: options.preferredTaints ? 1 : 0,
  };
  if (options.ignorePreferences) return [level(ends)];
  const drop: Drops = { affinity: 0, anti: 0, node: 0, spread: 0, taints: 0 };
  const levels = [level(drop)];
  for (const kind of ['affinity', 'anti', 'node', 'spread', 'taints'] as const) {
    while (drop[kind] < ends[kind]) {
      drop[kind]++;
      levels.push(level(drop));
    }
  }
  return levels;
}

type Drops = Record<'affinity' | 'anti' | 'node' | 'spread' | 'taints', number>;

/** Combines every node term with every volume alternative; drops contradictions, unless nothing else is left. */
function alternatives(terms: readonly Requirements[], volumes: readonly Requirements[]): readonly Requirements[] {
  if (volumes.length === 0) return terms;
  const crossed = terms.flatMap((term) => volumes.map((volume) => join(term, volume)));
  const possible = crossed.filter((requirements) => impossibleKey(requirements) === undefined);
  return possible.length > 0 ? possible : crossed.slice(0, 1);
}
