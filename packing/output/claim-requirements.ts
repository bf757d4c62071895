import { labels } from '../../api/labels.js';
import { lookUp } from '../../core/own.js';
import type { Compiled } from '../compile/compiled.js';
import { freshValue } from '../compile/fresh-value.js';
import { nodeClassLabel } from '../compile/pools.js';
import type { Row } from '../compile/universe.js';
import {
  single,
  type Requirement,
  requirementOf,
  operatorOf,
  intersect,
  satisfiedBy,
} from '../requirements/requirement.js';
import { type Requirements, writeRequirements } from '../requirements/requirements.js';
import { distinct, type ClaimCandidates, type WrittenRequirements } from './claim-context.js';
import type { Listing } from './listing.js';
export function writtenRequirements(
  compiled: Compiled,
  candidates: ClaimCandidates,
  row: Row,
  { listed, short }: Listing,
): WrittenRequirements {
  const offered = distinct(listed, ({ capacityTypes }) => capacityTypes);
  offered.delete('');
  let text = `${row.profile.index}`;
  for (const each of offered) text += ` ${each}`;
  for (const [key, count] of short) text += ` ${key}=${count}`;
  let settled = candidates.requirements.get(text);
  if (settled === undefined) {
    candidates.requirements.set(text, (settled = requirementsFor(compiled, candidates.joint, row, { offered, short })));
  }
  return settled;
}
/**
 * The requirements as the NodeClaim carries them: capacity types narrowed to what is offered, keys that no instance type
 * decides settled on one value, minValues lowered to what is met.
 */
function requirementsFor(
  compiled: Compiled,
  joint: Requirements,
  row: Row,
  { offered, short }: { offered: ReadonlySet<string>; short: ReadonlyMap<string, number> },
): WrittenRequirements {
  const requirements = new Map(joint);
  const chosen: Record<string, string> = {};
  if (offered.size > 0) narrowTo(requirements, labels.capacityType, [...offered]);
  const nodeClass = nodeClassLabel(row.profile.pool.object)?.key;
  const template = row.profile.pool.object.spec.template.metadata?.labels;
  for (const [key, requirement] of joint) {
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
  return { written: writeRequirements(requirements), chosen };
}
/** The types are listed by themselves; how many of them there must be is still said. */
function leaveTypesOpen(requirements: Map<string, Requirement>): void {
  const minValues = requirements.get(labels.instanceType)?.minValues;
  if (minValues === undefined) requirements.delete(labels.instanceType);
  else requirements.set(labels.instanceType, { ...requirementOf('Exists', []), minValues });
}
/**
 * The API server refuses minValues beyond the values of an In (node-claims/min-values-within-values): where the pods' rules decide the zone, say, the
 * claim is for that zone, however many the pool would choose from.
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
