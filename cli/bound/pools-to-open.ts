import { minValuesRulesOf } from '../../packing/compile/min-values.js';
import type { Pool } from '../../packing/compile/pools.js';
import type { Part } from '../../packing/place/part.js';
import type { Rules } from '../../packing/topology/rules.js';
import type { BoundContext } from './context.js';

/**
 * By part: the NodePools in which a node is launched for its pods, which are the heaviest that hold them
 * (scheduling/heaviest-pool-first); pods may be on a node of another only if it is launched for others. Undefined if
 * any pool is possible: for pods with topology rules, which may be satisfiable only in some pools, or with preferences.
 * For heavier pools with limits or minValues, the next lighter ones are possible too.
 */
export function poolsToOpen(context: BoundContext, parts: readonly Part[]): readonly (ReadonlySet<Pool> | undefined)[] {
  const { compiled } = context;
  if ((compiled.input.objects.disruptionPolicies ?? []).length > 0) return parts.map(() => undefined);
  const limited = new Set(compiled.limits.map(({ pool }) => pool));
  const mayRunOut = (pool: Pool): boolean =>
    limited.has(undefined) || limited.has(pool.name) || minValuesRulesOf(pool.requirements).length > 0;
  return parts.map((part) => {
    if (part.together || part.members.some((member) => !isPlain(context, member))) return undefined;
    const pools = [...new Set(part.profiles.map(({ pool }) => pool))].sort((a, b) => b.weight - a.weight);
    const opened = new Set<Pool>();
    let weight: number | undefined;
    for (const pool of pools) {
      if (weight !== undefined && pool.weight < weight) break;
      opened.add(pool);
      if (!mayRunOut(pool)) weight = pool.weight;
    }
    return opened;
  });
}

function isPlain({ compiled, book }: BoundContext, { podClass, level }: Part['members'][number]): boolean {
  if (compiled.levelsByShape[podClass.shape.index]!.length > 1) return false;
  const rules: Rules = book.of(podClass.shape, level);
  const { spread, affinity, antiAffinity, hostAffinity, matched } = rules;
  if (spread.length + affinity.length + antiAffinity.length + hostAffinity.length > 0) return false;
  return matched.every(({ hostname, kind }) => hostname && kind !== 'affinity');
}
