import type { Affinity, LabelSelector, Pod, TopologySpreadConstraint } from '../../api/kubernetes.js';
import type { Case } from './case.js';
import { cornerCase } from './corner.js';
import { appOf, archKey, capacityTypeKey, hostnameKey, isPending, zoneKey } from './objects.js';
import type { Random } from './random.js';
import { realisticCase } from './realistic.js';
import { revisedCase } from './revised.js';

/**
 * Cases in which rules of one app select the pods of others: spread that counts pods which do not have it, affinity and
 * anti-affinity across apps in both directions, and preferences of the same kinds, on top of what the apps ask for already.
 */
export function entangledCase(random: Random, size: number): Case {
  const made = random.pick([cornerCase, plain, revisedCase])(random, size);
  const apps = [...new Set(made.objects.filter(isPending).map(appOf))];
  const rules = new Map(apps.filter(() => random.chance(0.6)).map((app) => [app, rulesOf(random, app, apps)]));
  const objects = made.objects.map((object) => {
    const own = isPending(object) ? rules.get(appOf(object)) : undefined;
    return own === undefined ? object : bound(object as Pod, own);
  });
  return { objects, catalogue: made.catalogue };
}

const plain = (random: Random, size: number): Case => realisticCase(random, size, 0);

interface Term {
  readonly topologyKey: string;
  readonly labelSelector: LabelSelector;
}

/** What the pods of an app ask for besides; each part may be missing. */
interface Rules {
  readonly spread?: TopologySpreadConstraint;
  readonly affinity?: Term;
  readonly antiAffinity?: Term;
  readonly preferredAffinity?: Term;
  readonly preferredAntiAffinity?: Term;
}

function rulesOf(random: Random, app: string, apps: readonly string[]): Rules {
  const some = (): LabelSelector => ({
    matchExpressions: [{ key: 'app', operator: 'In', values: several(random, apps, random.chance(0.6) ? [app] : []) }],
  });
  const term = (...keys: string[]): Term => ({ topologyKey: random.pick(keys), labelSelector: some() });
  return {
    ...(random.chance(0.5) && { spread: spreadOf(random, some()) }),
    ...(random.chance(0.15) && { affinity: term(zoneKey, hostnameKey) }),
    ...(random.chance(0.2) && { antiAffinity: term(hostnameKey, hostnameKey, zoneKey) }),
    ...(random.chance(0.1) && { preferredAffinity: term(zoneKey, hostnameKey) }),
    ...(random.chance(0.1) && { preferredAntiAffinity: term(zoneKey, hostnameKey) }),
  };
}

function spreadOf(random: Random, labelSelector: LabelSelector): TopologySpreadConstraint {
  const { minDomains, ...spread } = {
    maxSkew: random.int(1, 3),
    topologyKey: random.pick([zoneKey, zoneKey, hostnameKey, capacityTypeKey, archKey]),
    whenUnsatisfiable: random.chance(0.85) ? ('DoNotSchedule' as const) : ('ScheduleAnyway' as const),
    labelSelector,
    ...(random.chance(0.15) && { nodeAffinityPolicy: 'Ignore' as const }),
    minDomains: random.chance(0.15) ? random.int(1, 3) : undefined,
  };
  // The API server takes it for required spread alone.
  const isRequired = spread.whenUnsatisfiable === 'DoNotSchedule';
  return { ...spread, ...(isRequired && minDomains !== undefined && { minDomains }) };
}

/** Up to three of the apps, those given among them. */
function several(random: Random, apps: readonly string[], given: readonly string[]): string[] {
  const drawn = Array.from({ length: random.int(1, 2) }, () => random.pick(apps));
  return [...new Set([...given, ...drawn])].sort();
}

function bound(pod: Pod, rules: Rules): Pod {
  const { affinity = {}, topologySpreadConstraints = [] } = pod.spec;
  const asked: Affinity = {
    ...affinity,
    ...withTerms(affinity, 'podAffinity', rules.affinity, rules.preferredAffinity),
    ...withTerms(affinity, 'podAntiAffinity', rules.antiAffinity, rules.preferredAntiAffinity),
  };
  const spread = rules.spread === undefined ? [] : [rules.spread];
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(Object.keys(asked).length > 0 && { affinity: asked }),
      // Two constraints of one pod may not have the same key and effect.
      topologySpreadConstraints: [
        ...topologySpreadConstraints.filter(({ topologyKey }) => topologyKey !== rules.spread?.topologyKey),
        ...spread,
      ],
    },
  };
}

function withTerms(
  affinity: Affinity,
  kind: 'podAffinity' | 'podAntiAffinity',
  required: Term | undefined,
  preferred: Term | undefined,
): Affinity {
  if (required === undefined && preferred === undefined) return {};
  const before = affinity[kind] ?? {};
  return {
    [kind]: {
      ...before,
      ...(required && {
        requiredDuringSchedulingIgnoredDuringExecution: [
          ...(before.requiredDuringSchedulingIgnoredDuringExecution ?? []),
          required,
        ],
      }),
      ...(preferred && {
        preferredDuringSchedulingIgnoredDuringExecution: [
          ...(before.preferredDuringSchedulingIgnoredDuringExecution ?? []),
          { weight: 10, podAffinityTerm: preferred },
        ],
      }),
    },
  };
}
