import { z } from 'zod';
import { awsLabelDomain, awsLabels } from '../aws/labels.js';
import { labels } from '../labels.js';
import { atomicList, integer, labelValue, mapOf, qualifiedName } from '../schema/fields.js';
import { annotate, withRules, type Rule } from '../schema/rules.js';
import type { NodeSelectorOperator } from '../kubernetes.js';

/** The part of a label key before the slash; the whole key if there is none. */
export function labelDomain(key: string): string {
  return key.split('/')[0] ?? '';
}

const karpenterKeys: readonly string[] = [labels.capacityType, labels.nodePool];
const awsKeys: readonly string[] = [...Object.values(awsLabels), labels.ec2NodeClass];

/** A restriction of label keys: `self` is the key. */
interface KeyRule {
  readonly message: string;
  /** CEL over the key; `%` is replaced by it. */
  readonly cel: string;
  readonly holds: (key: string) => boolean;
}

const onlyKnownKeys = (domain: string, known: readonly string[]): KeyRule => ({
  message: `label domain "${domain}" is reserved: only ${known.length > 4 ? 'its documented keys' : known.join(' and ')} may be used`,
  cel: `!%.find('^[^/]+').endsWith('${domain}') || % in [${known.map((key) => `'${key}'`).join(', ')}]`,
  holds: (key) => !labelDomain(key).endsWith(domain) || known.includes(key),
});

const notKey = (banned: string): KeyRule => ({
  message: `label "${banned}" is set by the system and may not be chosen`,
  cel: `% != '${banned}'`,
  holds: (key) => key !== banned,
});

/** Restrictions for every requirement and label that a user sets (node-pools/restricted-keys). */
const commonBans = [
  onlyKnownKeys('karpenter.sh', karpenterKeys),
  onlyKnownKeys(awsLabelDomain, awsKeys),
  notKey(labels.hostname),
];

/** Restrictions for a NodePool, which sets the label with its name itself. */
const nodePoolBans = [...commonBans, notKey(labels.nodePool)];

const onKey = (rules: readonly KeyRule[]): Rule<string>[] =>
  rules.map(({ message, cel, holds }) => ({ message, cel: cel.replaceAll('%', 'self'), holds }));

const onKeysOfMap = (rules: readonly KeyRule[]): Rule<Record<string, string>>[] =>
  rules.map(({ message, cel, holds }) => ({
    message,
    cel: `self.all(k, ${cel.replaceAll('%', 'k')})`,
    holds: (map) => Object.keys(map).every(holds),
    culprit: (map) => Object.keys(map).find((key) => !holds(key)),
  }));

/** Labels that a NodePool sets on its nodes: at most 100, none of them reserved. */
export const templateLabels = annotate(withRules(mapOf(labelValue, 100), ...onKeysOfMap(nodePoolBans)), {
  'x-kubernetes-map-type': 'atomic',
});

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte'] as const;

const numericOperators: readonly string[] = ['Gt', 'Lt', 'Gte', 'Lte'];

const plainRequirement = {
  operator: z.enum(operators).describe('Relation of key and values.'),
  values: atomicList(z.array(labelValue))
    .optional()
    .describe('The values; a single whole number for Gt, Lt, Gte and Lte.'),
};

/** A requirement as users write it: a NodeSelectorRequirement, with Karpenter's `minValues`. */
export interface WrittenRequirement {
  readonly key: string;
  readonly operator: NodeSelectorOperator;
  readonly values?: readonly string[] | undefined;
  readonly minValues?: number | undefined;
}

const needsValues = (operator: string): Rule<Omit<WrittenRequirement, 'key'>> => ({
  message: `operator ${operator} needs at least one value`,
  cel: `self.operator != '${operator}' || (has(self.values) && self.values.size() > 0)`,
  holds: (self) => self.operator !== operator || (self.values?.length ?? 0) > 0,
  field: 'values',
});

const numericValue: Rule<Omit<WrittenRequirement, 'key'>> = {
  message: 'operators Gt, Lt, Gte and Lte need exactly one value, a whole number that is not negative',
  cel: "!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(self.values) && self.values.size() == 1 && self.values[0].matches('^[0-9]{1,18}$'))",
  holds: ({ operator, values }) =>
    !numericOperators.includes(operator) || (values?.length === 1 && /^[0-9]{1,18}$/.test(values[0] ?? '')),
  field: 'values',
};

const enoughValues: Rule<Omit<WrittenRequirement, 'key'>> = {
  message: 'operator In with minValues needs at least that many values',
  cel: "self.operator != 'In' || !has(self.minValues) || (has(self.values) && self.values.size() >= self.minValues)",
  holds: ({ operator, values, minValues: least }) =>
    operator !== 'In' || least === undefined || (values?.length ?? 0) >= least,
  field: 'minValues',
};

const labelKey = z.string().max(316).regex(qualifiedName);

const keyOf = (rules: readonly KeyRule[]) => withRules(labelKey, ...onKey(rules)).describe('The label key.');

const minValues = integer({ min: 1, max: 50 })
  .optional()
  .describe('Minimum number of different values among the launchable instance types.');

const requirementWithMinValues = (bans: readonly KeyRule[]) =>
  withRules(
    z.object({ key: keyOf(bans), ...plainRequirement, minValues }),
    needsValues('In'),
    numericValue,
    enoughValues,
  );

/** Requirements of a NodePool's template. */
export const nodePoolRequirements = atomicList(z.array(requirementWithMinValues(nodePoolBans)).max(100));

/** Requirements of a NodeClaim, which may include the pool. */
export const nodeClaimRequirements = atomicList(z.array(requirementWithMinValues(commonBans)).max(100));

/** Requirements of a NodeOverlay: without minValues; NotIn needs values too. */
export const overlayRequirements = atomicList(
  z
    .array(
      withRules(
        z.object({ key: keyOf(commonBans), ...plainRequirement }),
        needsValues('In'),
        needsValues('NotIn'),
        numericValue,
      ),
    )
    .max(100),
);
