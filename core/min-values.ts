import type { NodeSelectorRequirement } from '../api/kubernetes.js';
import { normaliseKey } from './labels.js';

/**
 * The values of a key that count towards `minValues` of a requirement (min-values/counted): those that a type or one of
 * its offerings may have and that the requirement allows.
 */
export function countedValues(
  offered: readonly NodeSelectorRequirement[],
  key: string,
  allows: (value: string) => boolean,
): readonly string[] {
  const current = normaliseKey(key);
  return offered
    .filter((each) => each.operator === 'In' && normaliseKey(each.key) === current)
    .flatMap(({ values = [] }) => values.filter(allows));
}
