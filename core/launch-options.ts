import type { NodePool } from '../api/karpenter/node-pool.js';
import type { NodeSelectorRequirement } from '../api/kubernetes.js';
import { int64Of } from './int64.js';
import type { InstanceType, Offering } from './instance-type.js';
import type { Resources } from './quantities.js';
import { lookUp } from './own.js';

/** A type with one of its offerings, under which a claim may be launched. */
export interface LaunchOption {
  readonly type: InstanceType;
  readonly offering: Offering;
}

/** Requirements in a NodePool's template, including its labels. */
export function requirementsOfPool({ spec }: NodePool): readonly NodeSelectorRequirement[] {
  const { metadata, spec: template } = spec.template;
  const ofLabels = Object.entries(metadata?.labels ?? {});
  return [
    ...template.requirements,
    ...ofLabels.map(([key, value]) => ({ key, operator: 'In' as const, values: [value] })),
  ];
}

/** Whether a label value satisfies a requirement; undefined: the label is missing. */
export function admits(requirement: NodeSelectorRequirement, value: string | undefined): boolean {
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return value !== undefined && withinBound(requirement.operator, value, values[0]);
  }
}

function withinBound(operator: 'Gt' | 'Lt' | 'Gte' | 'Lte', value: string, bound: string | undefined): boolean {
  const number = int64Of(value);
  const limit = int64Of(bound);
  if (number === undefined || limit === undefined) return false;
  if (operator === 'Gt') return number > limit;
  if (operator === 'Lt') return number < limit;
  return operator === 'Gte' ? number >= limit : number <= limit;
}

/**
 * Whether a node with labels as `offered` can satisfy `wanted`: for each shared key some value satisfies both
 * (requirements/shared-keys; keys of one side only are ignored). `offered` has `In` and `DoesNotExist` entries.
 */
export function intersects(
  wanted: readonly NodeSelectorRequirement[],
  offered: readonly NodeSelectorRequirement[],
): boolean {
  return offered.every((offer) => {
    const concerned = wanted.filter((requirement) => requirement.key === offer.key);
    if (concerned.length === 0) return true;
    const domain = offer.operator === 'In' ? (offer.values ?? []) : [undefined];
    return domain.some((value) => concerned.every((requirement) => admits(requirement, value)));
  });
}

/**
 * Allocatable resources of a node of this type: capacity − overhead, memory minus huge pages (scheduling/allocatable).
 */
export function allocatableOf(type: InstanceType): Resources {
  const allocatable: Record<string, number> = {};
  for (const [name, amount] of Object.entries(type.capacity)) {
    allocatable[name] = Math.max(0, amount - (lookUp(type.overhead, name) ?? 0));
  }
  for (const [name, amount] of Object.entries(type.capacity)) {
    if (name.startsWith('hugepages-') && allocatable.memory !== undefined) {
      allocatable.memory = Math.max(0, allocatable.memory - amount);
    }
  }
  return allocatable;
}

/** Whether every request is met; a missing resource is 0. */
function fits(requests: Resources, available: Resources): boolean {
  return Object.entries(requests).every(([name, amount]) => amount <= (lookUp(available, name) ?? 0));
}

/**
 * Every available offering under which a claim with these requirements and requests may be launched, cheapest first;
 * equal prices are ordered by type name, then by position in the catalogue (launch/options).
 */
export function launchOptions(
  types: readonly InstanceType[],
  requirements: readonly NodeSelectorRequirement[],
  requests: Resources,
): LaunchOption[] {
  const options: LaunchOption[] = [];
  for (const type of types) {
    if (!intersects(requirements, type.requirements) || !fits(requests, allocatableOf(type))) continue;
    for (const offering of type.offerings) {
      if (offering.available && intersects(requirements, offering.requirements)) options.push({ type, offering });
    }
  }
  return options.sort(
    (a, b) =>
      a.offering.price - b.offering.price || (a.type.name < b.type.name ? -1 : a.type.name > b.type.name ? 1 : 0),
  );
}

/** The single value that requirements allow for a key; undefined if there is a choice. */
export function pinnedValue(requirements: readonly NodeSelectorRequirement[], key: string): string | undefined {
  const only = requirements.find((r) => r.key === key && r.operator === 'In' && r.values?.length === 1);
  return only?.values?.[0];
}

/** Labels of a node launched as `option`: every key for which the claim, the type or the offering allows one value. */
export function pinnedLabels(
  option: LaunchOption,
  requirements: readonly NodeSelectorRequirement[],
): Record<string, string> {
  const pinned = new Map<string, string>();
  const all = [...requirements, ...option.type.requirements, ...option.offering.requirements];
  for (const { key, operator, values } of all) {
    if (operator === 'In' && values?.length === 1) pinned.set(key, values[0]!);
    // Another offering of the type has the label, this one does not.
    else if (operator === 'DoesNotExist') pinned.delete(key);
  }
  return Object.fromEntries(pinned);
}
