import type {
  Affinity,
  LabelSelector,
  NodeSelectorRequirement,
  PodSpec,
  Taint,
  Toleration,
  TopologySpreadConstraint,
} from '../../api/kubernetes.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Case } from './case.js';
import { cornerCase } from './corner.js';
import { appOf, archKey, capacityTypeKey, hostnameKey, isPending, kwok, zoneKey } from './objects.js';
import type { Random } from './random.js';
import { realisticCase } from './realistic.js';

/**
 * Cases in the middle of rollouts: of each app that pends, some pods have a revision that asks for other nodes, spread and affinity
 * than the others, who have the same labels, so that they count for its rules without having them.
 */
export function revisedCase(random: Random, size: number): Case {
  const made = random.chance(0.5) ? cornerCase(random, size) : realisticCase(random, size, 0);
  const surroundings = surroundingsOf(made);
  const apps = new Set(made.objects.filter(isPending).map(appOf));
  const revisions = new Map([...apps].map((app) => [app, revisionOf(random, app, surroundings)]));
  const objects = made.objects.map((object) => {
    if (!isPending(object)) return object;
    const revision = revisions.get(appOf(object))!;
    const labels = { ...object.metadata.labels, track: random.pick(tracks) };
    const spec = random.chance(0.7) ? revised(object.spec, revision) : object.spec;
    return { ...object, metadata: { ...object.metadata, labels }, spec };
  });
  return { objects, catalogue: made.catalogue };
}

const tracks = ['stable', 'canary'] as const;

/** What the cluster of a case has for pods to ask for. */
interface Surroundings {
  readonly zones: readonly string[];
  readonly poolLabels: readonly (readonly [string, string])[];
  readonly taints: readonly Taint[];
}

function surroundingsOf({ objects, catalogue }: Case): Surroundings {
  const templates = objects.filter(({ kind }) => kind === 'NodePool').map((pool) => (pool as NodePool).spec.template);
  const offered = catalogue.flatMap(({ offerings }) => offerings.flatMap(({ Requirements }) => Requirements));
  return {
    zones: [...new Set(offered.flatMap(({ key, values }) => (key === zoneKey ? (values ?? []) : [])))].sort(),
    poolLabels: templates.flatMap(({ metadata }) => Object.entries(metadata?.labels ?? {})),
    taints: templates.flatMap(({ spec }) => spec.taints ?? []),
  };
}

/** What a revision asks for; each part may be missing. */
interface Revision {
  readonly spread?: readonly TopologySpreadConstraint[];
  readonly antiAffinity?: { topologyKey: string; labelSelector: LabelSelector };
  readonly affinity?: { topologyKey: string; labelSelector: LabelSelector };
  readonly terms?: readonly NodeSelectorRequirement[];
  readonly tolerations?: readonly Toleration[];
}

function revisionOf(random: Random, app: string, { zones, poolLabels, taints }: Surroundings): Revision {
  const own = (): LabelSelector => ({
    matchLabels: random.chance(0.7) ? { app } : { app, track: random.pick(tracks) },
  });
  const spread = (): TopologySpreadConstraint => ({
    maxSkew: random.int(1, 3),
    topologyKey: random.pick([zoneKey, zoneKey, hostnameKey, capacityTypeKey, archKey]),
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: own(),
    ...(random.chance(0.2) ? { nodeAffinityPolicy: 'Ignore' as const } : {}),
    ...(random.chance(0.3) ? { nodeTaintsPolicy: 'Honor' as const } : {}),
    ...(random.chance(0.15) ? { minDomains: random.int(1, 3) } : {}),
  });
  const terms = (): NodeSelectorRequirement[] => [
    { key: zoneKey, operator: random.pick(['In', 'NotIn'] as const), values: [random.pick(zones)] },
    { key: capacityTypeKey, operator: 'In', values: [random.pick(['spot', 'on-demand'])] },
    { key: archKey, operator: 'In', values: [random.pick(['amd64', 'arm64'])] },
    { key: kwok.cpu, operator: random.pick(['Gt', 'Lt'] as const), values: [random.pick(['2', '4', '16'])] },
    ...poolLabels.map(([key, value]) => ({ key, operator: random.pick(['In', 'NotIn'] as const), values: [value] })),
  ];
  return {
    ...(random.chance(0.6) ? { spread: Array.from({ length: random.int(1, 2) }, spread) } : {}),
    ...(random.chance(0.15) ? { antiAffinity: { topologyKey: hostnameKey, labelSelector: own() } } : {}),
    ...(random.chance(0.1) ? { affinity: { topologyKey: hostnameKey, labelSelector: { matchLabels: { app } } } } : {}),
    ...(random.chance(0.4) ? { terms: [random.pick(terms())] } : {}),
    ...(random.chance(0.4)
      ? { tolerations: random.some(taints, 0).map(({ key, effect }) => ({ key, operator: 'Exists' as const, effect })) }
      : {}),
  };
}

function revised(spec: PodSpec, { spread, antiAffinity, affinity, terms, tolerations = [] }: Revision): PodSpec {
  const required = <T>(term: T) => ({ requiredDuringSchedulingIgnoredDuringExecution: [term] });
  const nodeSelectorTerms = [{ matchExpressions: [...(terms ?? [])] }];
  const asked: Affinity = {
    ...spec.affinity,
    ...(antiAffinity && { podAntiAffinity: required(antiAffinity) }),
    ...(affinity && { podAffinity: required(affinity) }),
    ...(terms && { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } }),
  };
  return {
    ...spec,
    ...(spread && { topologySpreadConstraints: [...spread] }),
    ...(Object.keys(asked).length > 0 && { affinity: asked }),
    ...(tolerations.length > 0 && { tolerations: [...(spec.tolerations ?? []), ...tolerations] }),
  };
}
