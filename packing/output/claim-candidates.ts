import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import type { HostPort } from '../../core/host-ports.js';
import { normaliseKey } from '../../core/labels.js';
import type { Compiled } from '../compile/compiled.js';
import type { Constraint } from '../compile/key-space.js';
import { alikeText, portText, shunnedText } from '../compile/launchables.js';
import type { Profile, Row } from '../compile/universe.js';
import { emptyList } from '../lists.js';
import type { Feasibility } from '../place/feasibility.js';
import type { OpenClaim } from '../place/open-claim.js';
import { type Requirement, single, requirementOf } from '../requirements/requirement.js';
import { type Requirements, join } from '../requirements/requirements.js';
import type { ClaimCandidates, ClaimContext } from './claim-context.js';
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
  { compiled, feasibility, candidates }: ClaimContext,
  claim: OpenClaim,
  row: Row,
  { values: pinned, alike, beside }: Pins,
): ClaimCandidates {
  const constraints = new Set<Constraint>();
  for (const { level } of claim.members) {
    const constraint = feasibility.matching(level, row.profile.values);
    if (constraint !== undefined && constraint.keys.length > 0) constraints.add(constraint);
  }
  const { pool, reservation } = row.profile;
  const ordered = [...constraints].sort((a, b) => a.index - b.index);
  const pinText = [...pinned].map(([key, { values }]) => `${key}=${values[0]!}`).join();
  const ports = contestedPorts(compiled, claim);
  const shunned = shunnedProfiles(compiled, feasibility, claim);
  const text = `${pool.index} ${[reservation ?? '', ...beside].join()} ${ordered.map(({ index }) => index).join()} ${pinText}${alikeText(alike, row.profile)}${portText(ports)}${shunnedText(shunned)}`;
  let known = candidates.get(text);
  if (known === undefined) {
    const joint = join(
      pool.requirements,
      ...ordered.map(({ requirements }) => requirements),
      pinned,
      reserved(row, beside),
    );
    candidates.set(
      text,
      (known = {
        joint,
        types: compiled.launchables.of(compiled.space, joint, row, { alike, ports, shunned, beside }),
        requirements: new Map(),
      }),
    );
  }
  return known;
}
const noPorts: readonly HostPort[] = [];
/** Host ports of its pods that DaemonSets may use too, in order of their text. */
export function contestedPorts({ offers }: Compiled, { members }: OpenClaim): readonly HostPort[] {
  if (members.every(({ podClass }) => podClass.shape.hostPorts.length === 0)) return noPorts;
  const found = new Map<string, HostPort>();
  for (const { podClass } of members) {
    for (const port of offers.contested(podClass.shape.hostPorts)) found.set(portText([port]), port);
  }
  return [...found].sort(([a], [b]) => compareText(a, b)).map(([, port]) => port);
}
/**
 * Profiles whose DaemonSets conflict with the topology rules of its pods, or whose DaemonSet pods rules count in other
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
