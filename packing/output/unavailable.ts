import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { Pool } from '../compile/pools.js';
import { lookUp } from '../../core/own.js';
import { newNodeLabels } from '../compile/nodes.js';
import { intersect, isImpossible, requirementOf, satisfiedBy, type Requirement } from '../requirements/requirement.js';
import { normaliseKey } from '../../core/labels.js';
import { clashingKey, type Requirements } from '../requirements/requirements.js';
import type { Blocker, Cause } from '../types.js';

/**
 * Whether unavailable offerings are what the pods lack. Returns the first by name that their requirements allow, of a
 * type that is large enough (`holds`), with its reason and the time of the next attempt.
 */
export function unavailableBlocker(
  { constraints }: Level,
  { name, types, requirements }: Pool,
  wellKnown: ReadonlySet<string>,
  holds: (type: InstanceType) => boolean = () => true,
): Blocker | undefined {
  // No offering satisfies what the NodePool itself excludes.
  const merged = constraints
    .map((constraint) => constraint.requirements)
    .filter((asked) => clashingKey(asked, requirements) === undefined);
  if (merged.length === 0) return undefined;
  let first: Unavailable | undefined;
  for (const { type, offering } of unavailableIn(types)) {
    if (!holds(type)) continue;
    if (first !== undefined && compareText(textOf(type, offering), textOf(first.type, first.offering)) >= 0) continue;
    const allows = offeringTest(type, offering, requirements, wellKnown);
    if (isAllowed(requirements, allows) && merged.some((asked) => isAllowed(asked, allows))) first = { type, offering };
  }
  return first === undefined ? undefined : describe(name, first.type, first.offering);
}

interface Unavailable {
  readonly type: InstanceType;
  readonly offering: Offering;
}

/** Cached by catalogue, which is immutable. */
const unavailableLists = new WeakMap<readonly InstanceType[], readonly Unavailable[]>();

function unavailableIn(types: readonly InstanceType[]): readonly Unavailable[] {
  let list = unavailableLists.get(types);
  if (list === undefined) {
    list = types.flatMap((type) =>
      type.offerings.flatMap((offering) => (offering.available ? [] : [{ type, offering }])),
    );
    unavailableLists.set(types, list);
  }
  return list;
}

/** Whether a node launched from an offering could satisfy one requirement. */
export type OfferingTest = (key: string, requirement: Requirement) => boolean;

/**
 * Tests what nodes launched from the offering could satisfy in a NodePool with these requirements, whether the offering
 * is available or not.
 */
export function offeringTest(
  type: InstanceType,
  offering: Offering,
  pool: Requirements,
  wellKnown: ReadonlySet<string>,
): OfferingTest {
  const labelsOf = labelReader(type, offering);
  return (key, requirement) => {
    const own = labelsOf(key);
    const given = pool.get(key);
    const both = own === undefined ? given : given === undefined ? own : intersect(own, given);
    if (both === undefined) return wellKnown.has(key) || satisfiedBy(requirement, lookUp(newNodeLabels, key));
    return !isImpossible(intersect(both, requirement));
  };
}

export function isAllowed(asked: Requirements, allows: OfferingTest): boolean {
  for (const [key, requirement] of asked) if (!allows(key, requirement)) return false;
  return true;
}

const textOf = ({ name }: InstanceType, offering: Offering): string =>
  `${name}\u0000${offeringValueOf(offering, labels.zone)}\u0000${offeringValueOf(offering, labels.capacityType)}`;

/** The value of a label that the offering determines; empty if it has none. */
export const offeringValueOf = ({ requirements }: Offering, key: string): string =>
  requirements.find((each) => normaliseKey(each.key) === key)?.values?.[0] ?? '';

/** Reads the labels of an offering and its type lazily, each once. */
function labelReader({ requirements }: InstanceType, offering: Offering): (key: string) => Requirement | undefined {
  const find = (list: InstanceType['requirements'], key: string): Requirement | undefined => {
    const found = list.find((each) => normaliseKey(each.key) === key);
    return found === undefined ? undefined : requirementOf(found.operator, found.values);
  };
  const read = new Map<string, Requirement | undefined>();
  return (key) => {
    if (!read.has(key)) read.set(key, find(offering.requirements, key) ?? find(requirements, key));
    return read.get(key);
  };
}

function describe(nodePool: string, { name }: InstanceType, offering: Offering): Blocker {
  const zone = offeringValueOf(offering, labels.zone);
  const why = offering.unavailableReason === undefined ? '' : `: ${offering.unavailableReason}`;
  const what = `${name} in ${zone} has no ${offeringValueOf(offering, labels.capacityType)} capacity`;
  const again = triedAgain(offering.unavailableUntil);
  return { nodePool, reason: 'Offerings', subject: zone, message: `${what}${why}${again.text}`, ...again.data };
}

/** When an offering is tried again: hours and minutes in UTC as text, and RFC 3339 as data. */
export function triedAgain(milliseconds: number | undefined): { text: string; data: Pick<Cause, 'until'> } {
  if (milliseconds === undefined) return { text: '', data: {} };
  const until = new Date(milliseconds).toISOString();
  return { text: `; excluded until ${until.slice(11, 16)} UTC`, data: { until } };
}
