import type { KubernetesObject, Taint } from '../../../api/kubernetes.js';
import { nodePool } from '../objects.js';
import type { Random } from '../random.js';
import { contradiction, requiredExpression } from './selectors.js';
import { aNumber, annotationsOf, inherited, labelValue, labelsOf, manyOf, strangeKey, uniqueBy } from './words.js';

interface Requirement {
  key: string;
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | 'Gte' | 'Lte';
  values?: string[];
  minValues?: number;
}

/** Keys that NodePools and NodeOverlays may not name. */
const reserved = new Set(['karpenter.sh/nodepool', 'karpenter.sh/registered', 'kubernetes.io/hostname']);

/** Of NodePools and NodeOverlays, whose numbers have no sign. */
function requirement(random: Random): Requirement {
  const { key, operator, values } = requiredExpression(random);
  const isNumeric = operator === 'Gt' || operator === 'Lt';
  return {
    key: reserved.has(key) ? strangeKey(random) : key,
    operator,
    ...(values && { values: isNumeric ? [random.pick(['0', '1', '007', '999999999999999999'])] : values }),
  };
}

const allowed = (list: readonly Requirement[]): Requirement[] => list.filter(({ key }) => !reserved.has(key));

const taints = (random: Random): Taint[] =>
  uniqueBy(
    manyOf(aNumber(random, 100), (n) => ({
      key: n < 10 ? strangeKey(random) : `example.com/taint-${n}`,
      value: random.pick(inherited),
      effect: random.pick(['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const),
    })),
    ({ key, effect }) => `${key} ${effect}`,
  );

/** Pods that do not say so stay away: what a pool of the heaviest weight takes by right is no matter of planning. */
const apart: Taint = { key: 'example.com/hostile', value: 'constructor', effect: 'NoSchedule' };

const requirementLists: readonly ((random: Random) => Requirement[])[] = [
  () => [],
  (random) => manyOf(aNumber(random, 100), () => requirement(random)),
  (random) => allowed(contradiction(random)),
  (random) => [{ key: strangeKey(random), operator: 'In', values: manyOf(random.chance(0.2) ? 3000 : 3, (n) => `v${n}`) }],
  () => [{ key: 'example.com/open', operator: 'Exists' }],
  () => manyOf(100, (n) => ({ key: `example.com/key-${n}`, operator: 'Exists' })),
  (random) => [{ key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: random.int(1, 50) }],
]; // prettier-ignore

const limitLists: readonly Record<string, string>[] = [
  { cpu: '0' },
  { cpu: '1e30', memory: '1Ei' },
  { nodes: '0' },
  { nodes: '2' },
  { constructor: '0' },
  { 'example.com/toString': '-1' },
  { cpu: '-5' },
];

/** A NodePool that the API server accepts, with unusual values. */
export function hostilePool(random: Random, name: string): KubernetesObject {
  const made = nodePool(name, {
    requirements: uniqueRequirements(random.pick(requirementLists)(random)),
    labels: labelsOf(random, random.chance(0.1) ? 80 : 4),
    taints: [apart, ...taints(random)],
    weight: random.int(1, 100),
    disruption: disruptionOf(random),
    ...(random.chance(0.1) && { startupTaints: [{ key: 'never-taken-off', effect: 'NoSchedule' as const }] }),
    ...(random.chance(0.4) && { limits: random.pick(limitLists) }),
  });
  return { ...made, metadata: { ...made.metadata, labels: labelsOf(random), annotations: annotationsOf(random) } };
}

/** As the API server takes them: 100 at most, which is how many a list may have. */
const uniqueRequirements = (list: Requirement[]): never[] => list.slice(0, 100) as never[];

const disruptionOf = (random: Random): Record<string, unknown> => ({
  consolidateAfter: random.pick(['0s', 'Never', '999999h']),
  consolidationPolicy: random.pick(['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced']),
  budgets: manyOf(aNumber(random, 50), () => ({
    nodes: random.pick(['0', '0%', '100%', '999999999']),
    ...(random.chance(0.5) && {
      schedule: random.pick(['0 0 31 2 *', '* * * * *', '@yearly', 'constructor a b c d']),
      duration: random.pick(['1m', '9999h']),
    }),
  })),
});

/** A NodeOverlay that changes resources which no pod requests, or prices. */
export function hostileOverlay(random: Random, name: string): KubernetesObject {
  const requirements = allowed(
    random.chance(0.3) ? contradiction(random) : manyOf(aNumber(random, 100), () => requirement(random)),
  );
  const spec = random.pick<Record<string, unknown>>([
    { price: random.pick(['0', '0.0000001', '999999999999']) },
    { priceAdjustment: random.pick(['-100%', '+999999%', '-0.00001', '+99999999']) },
    { capacity: { [random.pick(inherited)]: '1000000000000', 'example.com/constructor': '1e30' } },
    {},
  ]);
  return {
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name, annotations: annotationsOf(random) },
    spec: { ...spec, requirements: requirements.slice(0, 100), ...(random.chance(0.5) && { weight: random.int(1, 10_000) }) },
  } as KubernetesObject; // prettier-ignore
}

export function hostilePolicy(random: Random, name: string): KubernetesObject {
  const spec = {
    nodePoolSelector: { matchLabels: { ...labelsOf(random, 3), constructor: labelValue(random) } },
    weight: random.int(1, 100),
    maintenanceWindows: manyOf(aNumber(random, 32), (n) => ({
      name: `window-${n}`,
      schedule: random.pick(['0 0 31 2 *', '* * * * *', 'constructor a b c d']),
      duration: random.pick(['0s', '1m', '9999h']),
      timeZone: random.pick(['constructor', 'Europe/Berlin', '__proto__']),
    })),
    rates: manyOf(aNumber(random, 16), () => ({
      nodes: random.pick(['0', '100%']),
      per: random.pick(['0s', '9999h']),
    })),
    spotRatio: { spotPercent: random.int(0, 100) },
  };
  return {
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPolicy',
    metadata: { name, annotations: annotationsOf(random) },
    spec,
  } as KubernetesObject;
}

export function hostilePause(random: Random, name: string): KubernetesObject {
  const scope = {
    kind: random.pick(['NodePool', 'Node']),
    name: random.pick(['constructor', '__proto__', '\u001b[2J']),
  };
  return {
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPause',
    metadata: { name, annotations: annotationsOf(random) },
    spec: { scope, message: '\u001b]0;owned\u0007\u{1f4a3}', requestedBy: '__proto__' },
  } as KubernetesObject;
}
