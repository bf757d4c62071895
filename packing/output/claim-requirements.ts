import { labels } from '../../api/labels.js';
import { lookUp } from '../../core/own.js';
import type { Compiled } from '../compile/compiled.js';
import { newNodeKeys } from '../compile/high-cardinality-keys.js';
import { nodeClassLabel } from '../compile/pools.js';
import type { Row } from '../compile/universe.js';
import {
  freshValue,
  single,
  type Requirement,
  requirementOf,
  operatorOf,
  intersect,
  satisfiedBy,
} from '../requirements/requirement.js';
import { type Requirements, writeRequirements } from '../requirements/requirements.js';
import type { PlannedClaim } from '../types.js';
import type { Listing } from './listing.js';

interface WrittenRequirements {
  readonly written: PlannedClaim['requirements'];
  /** Label values chosen for keys that no instance type determines. */
  readonly chosen: Readonly<Record<string, string>>;
}

/**
 * The requirements as the NodeClaim carries them: only keys that its NodePool, a well-known label or its catalogue
 * defines (node-claims/defined-keys); capacity types narrowed to those on offer; one value for keys that no instance
 * type determines; minValues lowered to what is met.
 */
export function writtenRequirements(
  compiled: Compiled,
  joint: Requirements,
  row: Row,
  { listed, short }: Listing,
): WrittenRequirements {
  const { pool } = row.profile;
  const offered = new Set(listed.flatMap(({ capacityTypes }) => capacityTypes));
  offered.delete('');
  const defined = newNodeKeys(compiled.wellKnown, [pool]);
  const requirements = new Map([...joint].filter(([key]) => defined.has(key)));
  const chosen: Record<string, string> = {};
  if (offered.size > 0) narrowTo(requirements, labels.capacityType, [...offered]);
  const nodeClass = nodeClassLabel(pool.object)?.key;
  const template = pool.object.spec.template.metadata?.labels;
  for (const [key, requirement] of [...requirements]) {
    if (compiled.wellKnown.has(key) || key === nodeClass || lookUp(template, key) !== undefined) continue;
    if (row.type.requirements.some((each) => each.key === key)) continue;
    const value = chooseValue(compiled, key, requirement, row);
    if (value === undefined) continue;
    requirements.set(key, single(value));
    chosen[key] = value;
  }
  for (const [key, minValues] of short) requirements.set(key, { ...requirements.get(key)!, minValues });
  leaveTypesOpen(requirements);
  boundByValues(requirements);
  const written = writeRequirements(new Map([...requirements].map(([key, each]) => [key, withinSchema(each)])));
  if (written.length <= mostRequirements) return { written, chosen };
  // The claim has these as labels, which its node gets too.
  const isLabel = (key: string): boolean =>
    key === nodeClass || lookUp(chosen, key) !== undefined || lookUp(template, key) !== undefined;
  return { written: written.filter(({ key }) => !isLabel(key)), chosen };
}
/** The API server rejects claims with more than 100 requirements; the list of instance types is one of them. */
const mostRequirements = 99;
/** The API server accepts non-negative bounds of up to 18 digits. No instance type has label values beyond. */
const largestBound = 10n ** 18n - 1n;
function withinSchema(requirement: Requirement): Requirement {
  const { gte, lte } = requirement;
  const clamped = (bound: bigint): bigint => (bound < 0n ? 0n : bound > largestBound ? largestBound : bound);
  return {
    ...requirement,
    ...(gte === undefined ? {} : { gte: clamped(gte) }),
    ...(lte === undefined ? {} : { lte: clamped(lte) }),
  };
}
/** The claim lists its types separately; the requirement only keeps their minValues. */
function leaveTypesOpen(requirements: Map<string, Requirement>): void {
  const minValues = requirements.get(labels.instanceType)?.minValues;
  if (minValues === undefined) requirements.delete(labels.instanceType);
  else requirements.set(labels.instanceType, { ...requirementOf('Exists', []), minValues });
}
/**
 * The API server rejects minValues above the number of values of an In (node-claims/min-values-within-values). If
 * topology rules fix the zone, for example, the claim has one zone, whatever minValues the pool has.
 */
function boundByValues(requirements: Map<string, Requirement>): void {
  for (const [key, requirement] of requirements) {
    const { minValues, values } = requirement;
    if (minValues === undefined || operatorOf(requirement) !== 'In' || minValues <= values.length) continue;
    requirements.set(key, { ...requirement, minValues: values.length });
  }
}
function narrowTo(requirements: Map<string, Requirement>, key: string, values: readonly string[]): void {
  const offered = requirementOf('In', values);
  const before = requirements.get(key);
  requirements.set(key, before === undefined ? offered : intersect(before, offered));
}
function chooseValue(compiled: Compiled, key: string, requirement: Requirement, row: Row): string | undefined {
  const index = compiled.space.find(key);
  const known = index === undefined ? undefined : row.profile.values[index];
  if (known !== undefined && satisfiedBy(requirement, known)) return known;
  if (operatorOf(requirement) === 'In') return requirement.values[0];
  if (operatorOf(requirement) === 'DoesNotExist') return undefined;
  return freshValue(requirement, new Set());
}
