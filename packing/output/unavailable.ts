import { labels } from '../../api/labels.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { compareText } from '../compare.js';
import type { Level } from '../compile/ladder.js';
import type { Pool } from '../compile/pools.js';
import { intersect, isImpossible, requirementOf, type Requirement } from '../requirements/requirement.js';
import { normaliseKey } from '../requirements/requirements.js';
import type { Blocker } from '../types.js';

/**
 * Whether offerings that are unavailable for now are what the pods lack: the first by name that their
 * requirements would allow, with its reason and when it is tried again.
 */
export function unavailableBlocker(
  { constraints }: Level,
  { name, types, requirements }: Pool,
  wellKnown: ReadonlySet<string>,
): Blocker | undefined {
  const merged = constraints.map((constraint) => constraint.requirements);
  let first: { readonly type: InstanceType; readonly offering: Offering } | undefined;
  for (const type of types) {
    for (const offering of type.offerings) {
      if (offering.available) continue;
      if (first !== undefined && compareText(textOf(type, offering), textOf(first.type, first.offering)) >= 0) continue;
      const labelsOf = labelReader(type, offering);
      const allows = (asked: ReadonlyMap<string, Requirement>): boolean =>
        [...asked].every(([key, requirement]) => {
          const own = labelsOf(key);
          const given = requirements.get(key);
          const both = own === undefined ? given : given === undefined ? own : intersect(own, given);
          if (both === undefined) return requirement.absent || wellKnown.has(key);
          return !isImpossible(intersect(both, requirement));
        });
      if (allows(requirements) && merged.some(allows)) first = { type, offering };
    }
  }
  return first === undefined ? undefined : describe(name, first.type, first.offering);
}

const textOf = ({ name }: InstanceType, offering: Offering): string =>
  `${name}\u0000${valueOf(offering, labels.zone)}\u0000${valueOf(offering, labels.capacityType)}`;

const valueOf = ({ requirements }: Offering, key: string): string =>
  requirements.find((each) => normaliseKey(each.key) === key)?.values?.[0] ?? '';

function labelReader({ requirements }: InstanceType, offering: Offering): (key: string) => Requirement | undefined {
  const find = (list: InstanceType['requirements'], key: string): Requirement | undefined => {
    const found = list.find((each) => normaliseKey(each.key) === key);
    return found === undefined ? undefined : requirementOf(found.operator, found.values);
  };
  return (key) => find(offering.requirements, key) ?? find(requirements, key);
}

function describe(nodePool: string, { name }: InstanceType, offering: Offering): Blocker {
  const zone = valueOf(offering, labels.zone);
  const why = offering.unavailableReason === undefined ? '' : `: ${offering.unavailableReason}`;
  const until = offering.unavailableUntil === undefined ? '' : `; excluded until ${timeOf(offering.unavailableUntil)}`;
  const what = `${name} in ${zone} has no ${valueOf(offering, labels.capacityType)} capacity`;
  return { nodePool, reason: 'Offerings', subject: zone, message: `${what}${why}${until}` };
}

/** Hours and minutes in UTC. */
const timeOf = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(11, 16)} UTC`;
