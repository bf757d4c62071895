import type {
  LabelSelector,
  NodeSelectorOperator,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinityTerm,
  TopologySpreadConstraint,
} from '../../../api/kubernetes.js';
import type { Random } from '../random.js';
import { aNumber, anyKey, anyValue, knownKeys, labelValue, labelsOf, manyOf, strangeKey, uniqueBy } from './words.js';

const most = 1000;

/** Of a term that must hold: the API server looks at the values of labels there. */
export function requiredExpression(random: Random): NodeSelectorRequirement {
  return expression(random, labelValue, anyKey(random));
}

/** Of a preferred term: the API server does not validate its values. */
function preferredExpression(random: Random): NodeSelectorRequirement {
  return expression(random, anyValue, anyKey(random));
}

function expression(random: Random, value: (random: Random) => string, key: string): NodeSelectorRequirement {
  const operator = random.pick<NodeSelectorOperator>(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']);
  if (operator === 'Exists' || operator === 'DoesNotExist') return { key, operator };
  if (operator === 'Gt' || operator === 'Lt') {
    return { key, operator, values: [random.pick(['0', '-1', '1', '9223372036854775807', '007'])] };
  }
  const count = random.chance(0.02) ? 3000 : random.int(1, 4);
  return { key, operator, values: manyOf(count, (n) => (n < 4 ? value(random) : `v${n}`)) };
}

/** Rules that exclude each other. */
export function contradiction(random: Random): NodeSelectorRequirement[] {
  const key = anyKey(random);
  const value = labelValue(random);
  return random.pick<NodeSelectorRequirement[]>([
    [{ key, operator: 'In', values: [value] }, { key, operator: 'NotIn', values: [value] }],
    [{ key, operator: 'Exists' }, { key, operator: 'DoesNotExist' }],
    [{ key, operator: 'Gt', values: ['5'] }, { key, operator: 'Lt', values: ['3'] }],
    [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['nowhere'] }],
  ]); // prettier-ignore
}

export const requiredTerms = (random: Random): NodeSelectorTerm[] =>
  manyOf(aNumber(random, most), () => ({
    matchExpressions: random.chance(0.1)
      ? contradiction(random)
      : manyOf(random.int(1, 3), () => requiredExpression(random)),
  }));

export const preferredTerms = (random: Random): { weight: number; preference: NodeSelectorTerm }[] =>
  manyOf(aNumber(random, most), () => ({
    weight: random.int(1, 100),
    preference: { matchExpressions: manyOf(random.int(1, 3), () => preferredExpression(random)) },
  }));

/** Selects pods by strange labels; everything where there are none. */
export function selectorOf(random: Random): LabelSelector {
  if (random.chance(0.5)) return { matchLabels: labelsOf(random, 3) };
  return {
    matchExpressions: manyOf(random.int(0, 3), () => {
      const operator = random.pick(['In', 'NotIn', 'Exists', 'DoesNotExist'] as const);
      const key = strangeKey(random);
      return operator === 'In' || operator === 'NotIn'
        ? { key, operator, values: [labelValue(random)] }
        : { key, operator };
    }),
  };
}

/** In other namespaces it selects no pod: pods there that it would exclude rightly are no subject here. */
function podTerm(random: Random): PodAffinityTerm {
  const topologyKey = random.chance(0.5) ? random.pick(knownKeys) : strangeKey(random);
  if (random.chance(0.8)) return { topologyKey, labelSelector: selectorOf(random) };
  const labelSelector = { matchLabels: { ...labelsOf(random, 2), constructor: 'a__proto__a' } };
  return { topologyKey, labelSelector, namespaceSelector: random.chance(0.5) ? {} : selectorOf(random) };
}

export const podTerms = (random: Random): PodAffinityTerm[] => manyOf(aNumber(random, 300), () => podTerm(random));

export const weightedPodTerms = (random: Random): { weight: number; podAffinityTerm: PodAffinityTerm }[] =>
  manyOf(aNumber(random, most), () => ({ weight: random.int(1, 100), podAffinityTerm: podTerm(random) }));

/** Each key and way once, as the API server wants it. */
export function spreadOf(random: Random): TopologySpreadConstraint[] {
  const many = random.chance(0.05);
  const made = manyOf(aNumber(random, many ? most : 4), (n): TopologySpreadConstraint => {
    const isHard = random.chance(0.5);
    const labelSelector = selectorOf(random);
    return {
      maxSkew: random.pick([1, 2, 2147483647]),
      topologyKey: many ? `example.com/key-${n}` : random.chance(0.5) ? random.pick(knownKeys) : strangeKey(random),
      whenUnsatisfiable: isHard ? 'DoNotSchedule' : 'ScheduleAnyway',
      labelSelector,
      ...(isHard && random.chance(0.3) && { minDomains: random.pick([1, 5, 2147483647]) }),
      ...(random.chance(0.3) && { nodeAffinityPolicy: 'Ignore' as const }),
      ...(random.chance(0.3) && { nodeTaintsPolicy: 'Honor' as const }),
      ...(random.chance(0.2) && { matchLabelKeys: keysBeside(random, labelSelector) }),
    };
  });
  return uniqueBy(made, ({ topologyKey, whenUnsatisfiable }) => `${topologyKey} ${whenUnsatisfiable}`);
}

/** Keys that the selector itself does not name. */
function keysBeside(random: Random, { matchLabels = {}, matchExpressions = [] }: LabelSelector): string[] {
  const named = new Set([...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)]);
  return [...new Set(manyOf(2, () => strangeKey(random)))].filter((key) => !named.has(key));
}
