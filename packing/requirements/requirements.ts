import { compareText } from '../../core/text.js';
import { normaliseKey } from '../../core/labels.js';
import {
  describeRequirement,
  doesNotExist,
  intersect,
  isImpossible,
  requirementOf,
  single,
  write,
  type Requirement,
} from './requirement.js';
import { lookUp } from '../../core/own.js';
import type { WrittenRequirement } from '../../api/karpenter/requirements.js';

/** Requirements by label key; a missing key is unrestricted. */
export type Requirements = ReadonlyMap<string, Requirement>;

export const noRequirements: Requirements = new Map();

/** Reads a list of written requirements; several on one key are intersected. */
export function readRequirements(list: readonly WrittenRequirement[] | undefined): Requirements {
  const read = new Map<string, Requirement>();
  for (const { key, operator, values, minValues } of list ?? []) {
    narrow(read, normaliseKey(key), requirementOf(operator, values, minValues));
  }
  return read;
}

/**
 * Reads the requirements of a NodePool or a NodeOverlay. If no value is left for a key, nodes are without the label, as
 * in Karpenter (requirements/nothing-left): no type matches if types determine the label, and any other label is
 * missing on the node.
 */
export function readNodeRequirements(list: readonly WrittenRequirement[] | undefined): Requirements {
  const read = readRequirements(list);
  if (impossibleKey(read) === undefined) return read;
  const withoutLabel = ({ minValues }: Requirement): Requirement =>
    minValues === undefined ? doesNotExist : { ...doesNotExist, minValues };
  return new Map([...read].map(([key, each]) => [key, isImpossible(each) ? withoutLabel(each) : each]));
}

/** Labels as requirements, one value each. */
export function readLabels(labels: Readonly<Record<string, string>> | undefined): Requirements {
  if (labels === undefined) return noRequirements;
  const read = new Map<string, Requirement>();
  for (const key of Object.keys(labels)) narrow(read, normaliseKey(key), single(lookUp(labels, key)!));
  return read;
}

/** Adds one requirement to a set that is being built. */
export function narrow(into: Map<string, Requirement>, key: string, requirement: Requirement): void {
  const before = into.get(key);
  into.set(key, before === undefined ? requirement : intersect(before, requirement));
}

/** The requirements that hold if all of `sets` do. */
export function join(...sets: readonly Requirements[]): Requirements {
  let first = noRequirements;
  let joined: Map<string, Requirement> | undefined;
  for (const set of sets) {
    if (set.size === 0) continue;
    if (first.size === 0) {
      first = set;
      continue;
    }
    joined ??= new Map(first);
    for (const [key, requirement] of set) narrow(joined, key, requirement);
  }
  return joined ?? first;
}

/** The first key for which nothing is left, if any. */
export function impossibleKey(requirements: Requirements): string | undefined {
  for (const [key, requirement] of requirements) if (isImpossible(requirement)) return key;
  return undefined;
}

/** The first key for which the two have nothing in common, if any: no node satisfies both then. */
export function clashingKey(asked: Requirements, given: Requirements): string | undefined {
  for (const [key, requirement] of asked) {
    const own = given.get(key);
    if (own !== undefined && isImpossible(intersect(own, requirement))) return key;
  }
  return undefined;
}

/** A text that is equal for equal sets, whatever the order of their keys. */
export function canonicalText(requirements: Requirements): string {
  if (requirements.size === 0) return '';
  const parts: string[] = [];
  for (const [key, requirement] of requirements) parts.push(`${key} ${describeRequirement(requirement)}`);
  return parts.sort().join('; ');
}

/** The written form, sorted by key and operator. */
export function writeRequirements(requirements: Requirements): WrittenRequirement[] {
  const keys = [...requirements.keys()].sort();
  return keys.flatMap((key) => write(key, requirements.get(key)!).sort((a, b) => compareText(a.operator, b.operator)));
}
