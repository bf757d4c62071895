import { labels } from '../../api/labels.js';
import { normaliseKey } from '../../core/labels.js';
import type { Compiled } from '../compile/compiled.js';
import type { Constraint } from '../compile/key-space.js';
import type { Launchables } from '../compile/launchables.js';
import type { Profile, Row } from '../compile/universe.js';
import { emptyList } from '../lists.js';
import type { Feasibility } from '../place/feasibility.js';
import type { OpenClaim } from '../place/open-claim.js';
import { type Requirement, single, requirementOf } from '../requirements/requirement.js';
import type { Requirements } from '../requirements/requirements.js';
import type { ClaimContext } from './claim-context.js';
import { reservationOfRow } from './spare-reservations.js';

/** What the claim must fix to one value. */
interface Pins {
  /** By key: the requirement as written in the claim. */
  readonly values: Map<string, Requirement>;
  /** Keys, by index, on which every listed type must equal the row. */
  readonly alike: readonly number[];
  /** Reservations under which the claim may be launched, in addition to that of its row. */
  readonly beside: readonly string[];
}
/** Generated values of high-cardinality keys are not written: instance types are selected by the other keys. */
export function pinsOf(compiled: Compiled, row: Row, keys: readonly string[], beside: readonly string[]): Pins {
  const values = new Map<string, Requirement>();
  const alike: number[] = [];
  for (const key of keys) {
    const index = compiled.space.find(key);
    const isOffered = key === labels.zone || key === labels.capacityType;
    if (index !== undefined && !isOffered && !compiled.space.isExact(index)) {
      alike.push(index);
      continue;
    }
    const value = valueAt(compiled, row, key);
    if (value !== undefined) values.set(key, single(value));
  }
  return { values, alike, beside };
}
/**
 * The requirements of the pool and of every pod together; of a pod's alternatives, the first that the chosen row
 * satisfies.
 */
export function candidatesFor(
  { compiled, feasibility }: ClaimContext,
  claim: OpenClaim,
  row: Row,
  { values: pinned, alike, beside }: Pins,
): Launchables {
  const own = constraintsOf(feasibility, claim, row).map(({ requirements }) => requirements);
  const requirements = [row.profile.pool.requirements, ...own, pinned, reserved(row, beside)];
  const shunned = shunnedProfiles(compiled, feasibility, claim);
  return compiled.launchables.of(compiled.space, requirements, row, { alike, shunned, beside });
}

/** The alternatives of its pods that the row satisfies, in order. */
export function constraintsOf(feasibility: Feasibility, { members }: OpenClaim, { profile }: Row): Constraint[] {
  const constraints: Constraint[] = [];
  for (const { level } of members) {
    const constraint = feasibility.matching(level, profile.values);
    if (constraint !== undefined && constraint.keys.length > 0 && !constraints.includes(constraint))
      constraints.push(constraint);
  }
  return constraints.length > 1 ? constraints.sort((a, b) => a.index - b.index) : constraints;
}

/**
 * Profiles whose DaemonSets conflict with the host ports or topology rules of its pods, or whose DaemonSet pods rules count in other
 * numbers.
 */
export function shunnedProfiles(
  { universe }: Compiled,
  feasibility: Feasibility,
  { members, row }: OpenClaim,
): readonly Profile[] {
  const lists = members.map(({ podClass, level }) => feasibility.shunned(podClass.shape, level));
  lists.push(feasibility.withOtherPartners(universe.rows[row]!.profile));
  if (lists.every(({ length }) => length === 0)) return emptyList;
  return [...new Set(lists.flat())].sort((a, b) => a.index - b.index);
}
function valueAt({ space }: Compiled, row: Row, key: string): string | undefined {
  if (key === labels.zone && row.zone !== '') return row.zone;
  if (key === labels.capacityType && row.capacityType !== '') return row.capacityType;
  const index = space.find(key);
  return index === undefined ? undefined : row.profile.values[index];
}
/**
 * A claim on a reservation is pinned to it and to fallback reservations (reserved-capacity/pinned,
 * reserved-capacity/fallbacks).
 */
function reserved(row: Row, beside: readonly string[]): Requirements {
  if (row.profile.reservation === undefined) return new Map();
  const pins = new Map<string, Requirement>();
  const own = reservationOfRow(row);
  for (const { key, operator, values } of row.offering.requirements) {
    const name = normaliseKey(key);
    if (name === labels.capacityType && operator === 'In') pins.set(name, requirementOf('In', values));
  }
  if (own !== undefined) pins.set(own.key, requirementOf('In', [own.id, ...beside]));
  return pins;
}
