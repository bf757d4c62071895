import type { Compiled } from '../../packing/compile/compiled.js';
import { hostAffinityText, minValuesTexts, ruleText, rulesByPods } from '../../packing/place/ignored-by-bound.js';
import type { Part } from '../../packing/place/part.js';
import type { RuleBook } from '../../packing/topology/rules.js';
import type { BoundFor } from './context.js';
import { podsOfPart, type ForcedByRules } from './forced.js';

/**
 * Constraints of a plan that `leastPriceOfPlaced` ignores, in words: rules of pods, in order of their number, then
 * those of NodePools and nodes.
 */
export function rulesIgnoredByProof(
  compiled: Compiled,
  book: RuleBook,
  {
    parts,
    forced,
    boundFor,
  }: { readonly parts: readonly Part[]; readonly forced: ForcedByRules; readonly boundFor: BoundFor },
): string[] {
  const pods = new Map<string, number>();
  for (const part of parts) {
    const ignored = new Set<string>();
    for (const { podClass, level } of part.members) {
      const { spread, affinity, antiAffinity, hostAffinity } = book.of(podClass.shape, level);
      for (const group of [...spread, ...affinity, ...antiAffinity])
        if (!forced.counted.has(group)) ignored.add(ruleText(group));
      if (hostAffinity.length > 0 && !part.together) ignored.add(hostAffinityText);
      if (boundFor === 'any' && compiled.levelsByShape[podClass.shape.index]!.length > 1) ignored.add('preferences');
    }
    for (const rule of ignored) pods.set(rule, (pods.get(rule) ?? 0) + podsOfPart(part));
  }
  return [
    ...rulesByPods(pods),
    ...minValuesTexts(compiled),
    ...(compiled.nodes.length > 0 ? ['rules by hostname on existing nodes'] : []),
    'rounding up to whole nodes',
  ];
}
