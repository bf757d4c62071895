import type { NodePool } from '../../api/karpenter/node-pool.js';
import { coreWellKnownLabels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { counted } from '../../core/text.js';
import { distinctValues, meetsMinValues, minValuesRulesOf, type MinValuesRule } from '../compile/min-values.js';
import { templateRequirements } from '../compile/pools.js';
import { describeRequirement, isImpossible, type Requirement } from '../requirements/requirement.js';
import { normaliseKey } from '../../core/labels.js';
import { impossibleKey, readRequirements, type Requirements } from '../requirements/requirements.js';
import type { PackingSettings } from '../types.js';
import { probableKey } from '../requirements/typo.js';
import { isAllowed, offeringTest, type OfferingTest } from './unavailable.js';

/** Maximum number of values that a message lists. */
const mostValues = 10;

/** Why a NodePool can launch nothing, whatever the pods, and whether its `minValues` are the cause. */
export interface NoInstanceType {
  readonly why: string;
  readonly byMinValues: boolean;
}

/**
 * Why a NodePool can launch nothing: its requirements contradict each other, leave no instance type, or leave fewer
 * than `minValues` under the `Strict` policy (node-pools/instance-types-available). Offerings that are unavailable for
 * lack of capacity count as available. Undefined if some types match, and if the catalogue is empty.
 */
export function whyNoInstanceType(
  pool: NodePool,
  types: readonly InstanceType[],
  { wellKnownLabels, minValuesPolicy }: Pick<PackingSettings, 'wellKnownLabels' | 'minValuesPolicy'>,
): NoInstanceType | undefined {
  const requirements = templateRequirements(pool);
  const contradictory = impossibleKey(requirements);
  if (contradictory !== undefined) return { why: contradiction(pool, contradictory), byMinValues: false };
  const rules = minValuesPolicy === 'Strict' ? minValuesRulesOf(requirements) : [];
  const wellKnown = new Set([...coreWellKnownLabels, ...wellKnownLabels]);
  const suitable: InstanceType[] = [];
  const keptOut = new Map<string, number>();
  for (const type of types) {
    const tests = type.offerings.map((offering) => offeringTest(type, offering, requirements, wellKnown));
    if (tests.some((allows) => isAllowed(requirements, allows))) {
      if (rules.length === 0) return undefined;
      suitable.push(type);
      continue;
    }
    const key = keyKeepingOut(requirements, tests);
    if (key !== undefined) keptOut.set(key, (keptOut.get(key) ?? 0) + 1);
  }
  if (types.length === 0) return undefined;
  if (suitable.length > 0) return fewerThanMinValues(suitable, rules);
  return { why: keptOutText(pool, types, requirements, keptOut), byMinValues: false };
}

function fewerThanMinValues(
  suitable: readonly InstanceType[],
  rules: readonly MinValuesRule[],
): NoInstanceType | undefined {
  const broken = rules.find((rule) => !meetsMinValues(suitable, rule));
  if (broken === undefined) return undefined;
  const found = distinctValues(suitable, broken).size;
  const why = `the instance types that its requirements allow have ${found} different ${broken.key}; minValues is ${broken.atLeast}`;
  return { why, byMinValues: true };
}

/** `keptOut`: the number of types that each requirement excludes. */
function keptOutText(
  pool: NodePool,
  types: readonly InstanceType[],
  requirements: Requirements,
  keptOut: ReadonlyMap<string, number>,
): string {
  const all = counted(types.length, 'instance type');
  const [key, count] = [...keptOut].sort(([, a], [, b]) => b - a)[0] ?? [];
  if (key === undefined) return `none of ${all} satisfies all requirements together`;
  const written = readRequirements(pool.spec.template.spec.requirements).get(key);
  if (written !== undefined && isImpossible(written)) return contradiction(pool, key);
  const asked = `${key} ${describeRequirement(requirements.get(key)!)}`;
  if (!types.some((type) => valuesOf(type, key).length > 0))
    return `the catalogue has no label ${key}, which the NodePool requires (${describeRequirement(requirements.get(key)!)})`;
  const some = count === types.length ? `none of ${all} has` : `${count} of ${all} lack`;
  return `${some} ${asked}${valuesText(types, key, requirements.get(key)!)}`;
}

/** The first requirement that no offering satisfies. */
export function keyKeepingOut(requirements: Requirements, tests: readonly OfferingTest[]): string | undefined {
  for (const [key, requirement] of requirements) if (!tests.some((allows) => allows(key, requirement))) return key;
  return undefined;
}

/** The value that was probably meant, or the existing values. */
function valuesText(types: readonly InstanceType[], key: string, asked: Requirement): string {
  const known = [...new Set(types.flatMap((type) => valuesOf(type, key)))].sort();
  if (known.length === 0) return '';
  const meant = asked.complement ? [] : asked.values.flatMap((value) => probableKey(value, near(value, known)) ?? []);
  if (meant.length > 0) return ` (did you mean ${[...new Set(meant)].join(', ')}?)`;
  const more = known.length > mostValues ? ` and ${known.length - mostValues} more` : '';
  return ` (there are ${known.slice(0, mostValues).join(', ')}${more})`;
}

/** Two letters may differ in a long word; in a short one that would make another word. */
const near = (value: string, known: readonly string[]): readonly string[] =>
  known.filter((each) => each.startsWith(value[0] ?? '') && Math.abs(each.length - value.length) <= 2);

const valuesOf = ({ requirements, offerings }: InstanceType, key: string): readonly string[] =>
  [...requirements, ...offerings.flatMap((offering) => offering.requirements)]
    .filter((each) => normaliseKey(each.key) === key && each.operator === 'In')
    .flatMap(({ values }) => values ?? []);

function contradiction({ spec }: NodePool, key: string): string {
  const own = spec.template.spec.requirements.filter((each) => normaliseKey(each.key) === key);
  const label = Object.entries(spec.template.metadata?.labels ?? {}).find(([name]) => normaliseKey(name) === key);
  const parts = [
    ...own.map(({ operator, values }) => `${operator}${values === undefined ? '' : ` [${values.join(' ')}]`}`),
    ...(label === undefined ? [] : [`label ${label[1]}`]),
  ];
  return `the requirements leave no value for ${key}: ${parts.join(' and ')}`;
}
