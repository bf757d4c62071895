import { labels } from '../../api/labels.js';
import { counted } from '../../core/text.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import { minValuesRulesOf } from '../compile/min-values.js';
import type { Group } from '../topology/groups.js';
import type { RuleBook, Rules } from '../topology/rules.js';

/**
 * The constraints of a plan that `lowerBoundOfPlaced` ignores, in words: possible causes of a gap between price and
 * bound. First the rules of pods, in order of their number, then limits and minValues of NodePools.
 */
export function rulesIgnoredByBound(
  compiled: Compiled,
  book: RuleBook,
  placed: ReadonlyMap<PodClass, number>,
): string[] {
  const pods = new Map<string, number>();
  for (const [{ shape }, count] of placed) {
    const levels = compiled.levelsByShape[shape.index]!;
    const ignored = ignoredRules(book.of(shape, levels.at(-1)!));
    if (levels.length > 1) ignored.add('preferences');
    for (const rule of ignored) pods.set(rule, (pods.get(rule) ?? 0) + count);
  }
  const limited = new Set(compiled.limits.flatMap(({ pool }) => pool ?? []));
  return [
    ...rulesByPods(pods),
    ...[...limited].sort().map((name) => `limits of NodePool ${name}`),
    ...minValuesTexts(compiled),
    ...(compiled.nodes.length > 0 ? ['how pods fit on existing nodes'] : []),
    'how pods fit into whole nodes',
  ];
}

function ignoredRules({ spread, affinity, antiAffinity, hostAffinity }: Rules): Set<string> {
  return new Set([
    ...[...spread, ...affinity, ...antiAffinity].map(ruleText),
    ...(hostAffinity.length > 0 ? [hostAffinityText] : []),
  ]);
}

/** Rules in words, in order of their number of pods; `pods`: the number for each. */
export function rulesByPods(pods: ReadonlyMap<string, number>): string[] {
  const rules = [...pods].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return rules.map(([rule, count]) => `${rule} (${counted(count, 'pod')})`);
}

export function minValuesTexts({ pools }: Compiled): string[] {
  const varied = pools.filter(({ requirements }) => minValuesRulesOf(requirements).length > 0);
  return varied.map(({ name }) => `minValues of NodePool ${name}`);
}

export const hostAffinityText = `affinity within ${labels.hostname}`;

export const ruleText = ({ kind, key }: Group): string =>
  kind === 'spread' ? `spread over ${key}` : `${kind === 'affinity' ? 'affinity' : 'anti-affinity'} within ${key}`;
