import { awsLabels } from '../../api/aws/labels.js';
import { capacityTypes, labels, type CapacityType } from '../../api/labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { InstanceType } from '../../core/instance-type.js';
import { hashText } from '../../core/hash.js';
import { countedValues } from '../../core/min-values.js';
import { admits, launchOptions, pinnedValue, type LaunchOption } from '../../core/launch-options.js';
import { parseResources } from '../../core/quantities.js';
import { lookUp } from '../../core/own.js';

/** One attempt at a launch: the content of one CreateFleet. */
export interface LaunchStage {
  readonly capacityType: CapacityType;
  /** At most 60 types, cheapest offering first. */
  readonly options: readonly LaunchOption[];
}

/** The remaining attempts, best first; or why there are none. */
type LaunchChoice =
  | { readonly kind: 'stages'; readonly stages: readonly LaunchStage[] }
  | { readonly kind: 'none'; readonly message: string };

const mostTypes = 60;
const mostOverrides = 300;

/**
 * The attempts by capacity type, in the order reserved, spot, on-demand (launch/capacity-type-order). Later stages are
 * tried if EC2 has no capacity for the earlier ones.
 */
export function chooseLaunch(types: readonly InstanceType[], claim: NodeClaim): LaunchChoice {
  const { requirements, resources } = claim.spec;
  const all = onePartition(launchOptions(types, requirements, parseResources(resources?.requests)), claim);
  if (all.length === 0) return { kind: 'none', message: 'no instance type with an available offering meets the claim' };
  const withMinValues = requirements.some((requirement) => requirement.minValues !== undefined);
  const kinds = oneReservationKind(all);
  const options = withMinValues ? kinds : affordable(withoutSpecialHardware(kinds));
  const stages = capacityTypes.flatMap((capacityType) => {
    const own = truncate(options.filter((option) => capacityTypeOf(option) === capacityType));
    return own.length > 0 && meetsMinValues(own, claim) ? [{ capacityType, options: own }] : [];
  });
  if (stages.length > 0) return { kind: 'stages', stages };
  return { kind: 'none', message: `minValues cannot be met by the ${mostTypes} cheapest instance types` };
}

export function capacityTypeOf(option: LaunchOption): CapacityType {
  return (pinnedValue(option.offering.requirements, labels.capacityType) ?? 'on-demand') as CapacityType;
}

export function zoneOf(option: LaunchOption): string {
  return pinnedValue(option.offering.requirements, labels.zone) ?? '';
}

export function reservationOf(option: LaunchOption): string | undefined {
  return pinnedValue(option.offering.requirements, awsLabels.capacityReservationId);
}

/** Key of options that share a launch template: those of a type, or of a type in one reservation. */
export function templateKey(option: LaunchOption): string {
  const reservation = reservationOf(option);
  return reservation === undefined ? option.type.name : `${option.type.name}/${reservation}`;
}

/** The placement group, and its partition, for an option. */
export function launchPlacementOf({ offering }: LaunchOption): {
  readonly groupId?: string;
  readonly partition?: string;
} {
  const groupId = pinnedValue(offering.requirements, awsLabels.placementGroupId);
  const partition = pinnedValue(offering.requirements, awsLabels.placementGroupPartition);
  return { ...(groupId === undefined ? {} : { groupId }), ...(partition === undefined ? {} : { partition }) };
}

/** Dedicated only if the claim does not allow shared tenancy (launch/tenancy). */
export function tenancyOf(claim: NodeClaim): 'default' | 'dedicated' {
  const asked = claim.spec.requirements.filter(({ key }) => key === awsLabels.instanceTenancy);
  return asked.every((requirement) => admits(requirement, 'default')) ? 'default' : 'dedicated';
}

/**
 * A launch uses one partition, so that its node's label is known from the start. The claim's UID selects one of the
 * allowed partitions.
 */
function onePartition(options: readonly LaunchOption[], claim: NodeClaim): readonly LaunchOption[] {
  const partitions = [...new Set(options.flatMap((option) => launchPlacementOf(option).partition ?? []))].sort();
  if (partitions.length === 0) return options;
  const pick = parseInt(hashText(hashText(claim.metadata.uid ?? '')).slice(0, 8), 16) % partitions.length;
  return options.filter((option) => (launchPlacementOf(option).partition ?? partitions[pick]) === partitions[pick]);
}

/**
 * One request can use one kind of reservation: that of the cheapest option. Of a capacity block only one option is
 * kept, otherwise for each type and zone the reservation with most room (reserved-capacity/one-kind-a-request).
 */
function oneReservationKind(cheapestFirst: readonly LaunchOption[]): readonly LaunchOption[] {
  const reserved = cheapestFirst.filter((option) => reservationOf(option) !== undefined);
  const cheapest = Math.min(...reserved.map((option) => option.offering.price));
  const kind = ['default', 'capacity-block', 'interruptible'].find((each) =>
    reserved.some((option) => option.offering.price === cheapest && reservationKindOf(option) === each),
  );
  const ofKind = reserved.filter((option) => reservationKindOf(option) === kind);
  const best = new Map<string, LaunchOption>();
  for (const option of kind === 'capacity-block' ? ofKind.slice(0, 1) : ofKind) {
    const place = `${option.type.name}/${zoneOf(option)}`;
    const known = best.get(place);
    const room = option.offering.reservationCapacity ?? 0;
    if (known === undefined || room > (known.offering.reservationCapacity ?? 0)) best.set(place, option);
  }
  const kept = new Set(best.values());
  return cheapestFirst.filter((option) => reservationOf(option) === undefined || kept.has(option));
}

export function reservationKindOf(option: LaunchOption): 'default' | 'capacity-block' | 'interruptible' {
  const { requirements } = option.offering;
  if (pinnedValue(requirements, awsLabels.capacityReservationType) === 'capacity-block') return 'capacity-block';
  return pinnedValue(requirements, awsLabels.capacityReservationInterruptible) === 'true' ? 'interruptible' : 'default';
}

const accelerators = [
  'nvidia.com/gpu',
  'amd.com/gpu',
  'aws.amazon.com/neuron',
  'aws.amazon.com/neuroncore',
  'habana.ai/gaudi',
];

/**
 * Keeps bare metal and accelerated types only if no others are left, in reservations and outside: a reserved machine is
 * paid for.
 */
export function withoutSpecialHardware(options: readonly LaunchOption[]): readonly LaunchOption[] {
  const plain = options.filter(({ type }) => isPlain(type));
  const isReserved = (option: LaunchOption): boolean => reservationOf(option) !== undefined;
  const arePlain = [true, false].filter((reserved) => plain.some((option) => isReserved(option) === reserved));
  return options.filter((option) => isPlain(option.type) || !arePlain.includes(isReserved(option)));
}

const isPlain = ({ name, capacity }: InstanceType): boolean =>
  !name.includes('metal') && accelerators.every((resource) => (lookUp(capacity, resource) ?? 0) === 0);

/** Drops spot offerings that cost more than the cheapest on-demand offering. */
function affordable(options: readonly LaunchOption[]): readonly LaunchOption[] {
  const onDemand = options.find((option) => capacityTypeOf(option) === 'on-demand');
  if (onDemand === undefined) return options;
  return options.filter(
    (option) => capacityTypeOf(option) !== 'spot' || option.offering.price <= onDemand.offering.price,
  );
}

/** Options of the 60 cheapest types, within the limit of one request. */
function truncate(cheapestFirst: readonly LaunchOption[]): readonly LaunchOption[] {
  const names = new Set<string>();
  for (const { type } of cheapestFirst) {
    if (names.size === mostTypes) break;
    names.add(type.name);
  }
  return cheapestFirst.filter(({ type }) => names.has(type.name)).slice(0, mostOverrides);
}

function meetsMinValues(options: readonly LaunchOption[], claim: NodeClaim): boolean {
  const offered = options.map(({ type, offering }) => [...type.requirements, ...offering.requirements]);
  return claim.spec.requirements.every((requirement) => {
    const { key, minValues } = requirement;
    if (minValues === undefined) return true;
    const allows = (value: string): boolean => admits(requirement, value);
    return new Set(offered.flatMap((each) => countedValues(each, key, allows))).size >= minValues;
  });
}
