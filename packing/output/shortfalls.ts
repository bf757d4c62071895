import { compareText } from '../../core/text.js';
import type { InstanceType } from '../../core/instance-type.js';
import { formatResource } from '../../core/quantities.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import { distinctValues, minValuesRulesOf } from '../compile/min-values.js';
import { requiredTerms } from '../compile/node-terms.js';
import { holdsOne } from '../compile/offers.js';
import type { Pool } from '../compile/pools.js';
import { listedTogether, type Profile } from '../compile/universe.js';
import { typeUse, type PoolLimit } from '../compile/pool-limits.js';
import { impossibleKey } from '../requirements/requirements.js';
import type { Cause } from '../types.js';

/**
 * What the pods request that no node could satisfy: contradictions in their requirements, or with those of their
 * volumes.
 */
export function contradiction({ volumes }: Compiled, { shape }: PodClass): Cause {
  const terms = requiredTerms(shape.exemplar.spec);
  const own = terms.map(impossibleKey);
  if (own.every((key) => key !== undefined)) {
    const subject = own.at(-1);
    const on = subject === undefined ? '' : ` on ${subject}`;
    return {
      reason: 'Requirements',
      ...(subject !== undefined && { subject }),
      message: `the pod's own requirements${on} contradict each other`,
    };
  }
  const { alternatives } = volumes.needs(shape.exemplar);
  const between = alternatives.map(impossibleKey);
  if (between.every((key) => key !== undefined)) {
    const subject = between[0]!;
    const who = volumes.asking(shape.exemplar, subject) ?? 'the volumes of the pod';
    return { reason: 'Volumes', subject, message: `there is no value of ${subject} for all of ${who}` };
  }
  const keys = [...new Set(alternatives.flatMap((each) => [...each.keys()]))].sort(compareText);
  const subject = keys.join(', ');
  const who = [...new Set(keys.map((key) => volumes.asking(shape.exemplar, key)))].join(', ');
  return { reason: 'Volumes', subject, message: `the pod asks for other values of ${subject} than ${who}` };
}

/** The source of the label requirement: the pod or its volumes. */
export function askerOf({ volumes, levelsByShape }: Compiled, { shape }: PodClass, label: string): string {
  const { own } = levelsByShape[shape.index]!.at(-1)!;
  const isOwn = own.some(({ requirements }) => requirements.has(label));
  return (isOwn ? undefined : volumes.asking(shape.exemplar, label)) ?? 'the pod';
}

/**
 * The minValues of the pool that too few types meet which hold a pod of this size; undefined if that is not the
 * blocker.
 */
export function minValuesShortfall(
  compiled: Compiled,
  pool: Pool,
  profiles: readonly Profile[],
  demand: Float64Array,
): Cause | undefined {
  const rules = minValuesRulesOf(pool.requirements);
  if (rules.length === 0) return undefined;
  const { universe, offers } = compiled;
  const groups = listedTogether(profiles).map((group) => {
    const rows = group.flatMap((profile) => profile.rows.map((index) => universe.rows[index]!));
    return [...new Set(rows.filter((row) => offers.holds(row, demand)).map(({ type }) => type))];
  });
  if (groups.every((types) => types.length === 0)) return undefined;
  for (const rule of rules) {
    const size = Math.max(...groups.map((types) => distinctValues(types, rule).size));
    if (size >= rule.atLeast) continue;
    const message = `the instance types that hold the pod have ${size} different ${rule.key}, and minValues asks for ${rule.atLeast}`;
    return { reason: 'MinValues', subject: rule.key, message };
  }
  return undefined;
}

/**
 * The limit of the pool, or the capacity reservation, that leaves no room for a node which holds a pod of this size.
 */
export function limitShortfall(
  compiled: Compiled,
  limits: readonly PoolLimit[],
  profiles: readonly Profile[],
  demand: Float64Array,
): Cause | undefined {
  const holding = profiles.filter((profile) => holdsOne(compiled.offers.of(profile), demand));
  const spent = limits.filter(({ reservation, remaining }) => reservation !== undefined && remaining < 1);
  const reservations = [...new Set(holding.map(({ reservation }) => reservation))];
  if (holding.length > 0 && reservations.every((id) => spent.some(({ reservation }) => reservation === id))) {
    const subject = reservations.join(', ');
    return { reason: 'Offerings', subject, message: `capacity reservation ${subject} has no instance left` };
  }
  const pool = profiles[0]!.pool.name;
  const own = limits.filter((limit) => limit.pool === pool);
  if (own.length === 0) return undefined;
  const message = 'the limits of the NodePool leave no room for another node';
  const types = typesWorthBuying(compiled, holding, demand);
  for (const limit of own) {
    const least = types.reduce((smallest, type) => Math.min(smallest, typeUse(limit, type)), Infinity);
    if (least <= limit.remaining || least === Infinity) continue;
    const { resource } = limit;
    const text = (amount: number): string => formatResource(resource, Math.max(0, amount));
    return {
      reason: 'Limits',
      subject: resource,
      message: `${message} (${resource}: ${text(limit.remaining)} left, ${text(least)} needed)`,
    };
  }
  return { reason: 'Limits', message };
}

/** Types that hold the demand, one of each size. */
function typesWorthBuying({ universe, offers }: Compiled, profiles: readonly Profile[], demand: Float64Array) {
  const types = new Set<InstanceType>();
  for (const profile of profiles) {
    const { rows, capacity } = offers.of(profile);
    rows.forEach((row, i) => {
      if (demand.every((wanted, d) => wanted <= capacity[i * demand.length + d]!)) types.add(universe.rows[row]!.type);
    });
  }
  return [...types];
}
