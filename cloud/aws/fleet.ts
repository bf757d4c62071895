import type { CreateFleetCommandInput, CreateFleetError, FleetLaunchTemplateConfigRequest } from '@aws-sdk/client-ec2';
import type { ResolvedSubnet } from '../../api/aws/ec2-node-class.js';
import type { LaunchOption } from '../../core/launch-options.js';
import { type LaunchStage, reservationKindOf, templateKey, zoneOf } from './launch-choice.js';
import { tagList } from './tags.js';
import { offeringKey } from '../../core/unavailable-offerings.js';
import type { LaunchFailure, UnavailableOffering } from '../port.js';
import { errorRow, isThrottle } from './errors.js';

/** Whether the code means that there is no capacity now (launch/capacity-errors). */
function isCapacity(code: string): boolean {
  return errorRow(code, '')?.type === 'InsufficientCapacity';
}

/**
 * Reported as `InsufficientInstanceCapacity`: a spread group takes a limited number of instances per zone, of
 * all types together.
 */
const spreadGroupFull = 'limit of instances in this spread placement group';

const noSpotRole = 'AuthFailure.ServiceLinkedRoleCreationNotPermitted';

/** Meaning of the errors in one CreateFleet response. */
export interface FleetOutcome {
  /** Offerings to mark unavailable. */
  readonly unavailable: readonly UnavailableOffering[];
  /** Subnets without free addresses. */
  readonly exhaustedSubnets: readonly string[];
  /** Whether all errors are due to lack of capacity. */
  readonly onlyCapacity: boolean;
  readonly templateMissing: boolean;
  /** Whether EC2 did not try: its internal requests were throttled. */
  readonly throttled: boolean;
  /** The distinct errors as text. */
  readonly message: string;
  /** Reason reported on the claim: that of the most frequent error other than lack of capacity, if any. */
  readonly reason?: string;
  /** All errors, equal ones combined. */
  readonly failures?: readonly LaunchFailure[];
  /** Whether the account lacks the service-linked role for spot and has no permission to create it. */
  readonly spotRoleMissing?: boolean;
}

/** Reads the errors of a CreateFleet for `capacityType`; `zoneOfSubnet` and `placement` are those of the request. */
export function readFleetErrors(
  errors: readonly CreateFleetError[],
  capacityType: string,
  zoneOfSubnet: ReadonlyMap<string, string>,
  placement?: string,
): FleetOutcome {
  const unavailable = new Map<string, UnavailableOffering>();
  const exhausted = new Set<string>();
  for (const error of errors) {
    const subnet = error.LaunchTemplateAndOverrides?.Overrides?.SubnetId;
    if (error.ErrorCode === 'InsufficientFreeAddressesInSubnet' && subnet !== undefined) exhausted.add(subnet);
    for (const offering of unavailableBy(error, capacityType, zoneOfSubnet, placement)) {
      unavailable.set(offeringKey(offering), offering);
    }
  }
  const reason = reasonOf(errors);
  return {
    unavailable: [...unavailable.values()],
    exhaustedSubnets: [...exhausted],
    onlyCapacity:
      errors.length > 0 && errors.every(({ ErrorCode: code = '' }) => isCapacity(code) || code === noSpotRole),
    templateMissing: errors.some(({ ErrorCode: code = '' }) => isTemplateMissing(code)),
    throttled: errors.some(({ ErrorCode: code = '' }) => isThrottle(code)),
    message: summary(errors),
    failures: failuresOf(errors, capacityType, zoneOfSubnet),
    ...(reason === undefined ? {} : { reason }),
    spotRoleMissing: errors.some(({ ErrorCode: code = '' }) => code === noSpotRole),
  };
}

export function isTemplateMissing(code: string): boolean {
  return code.startsWith('InvalidLaunchTemplateName.NotFound') || code.startsWith('InvalidLaunchTemplateId.NotFound');
}

/** The offerings that one error makes unavailable, within the placement group if there is one. */
function unavailableBy(
  { ErrorCode: code = '', ErrorMessage: message = '', LaunchTemplateAndOverrides: of }: CreateFleetError,
  capacityType: string,
  zoneOfSubnet: ReadonlyMap<string, string>,
  placement: string | undefined,
): UnavailableOffering[] {
  const { InstanceType: instanceType, AvailabilityZone: named, SubnetId: subnet = '' } = of?.Overrides ?? {};
  const offering = offeringOf(code, { instanceType, zone: named ?? zoneOfSubnet.get(subnet), capacityType });
  if (offering === undefined) return [];
  // The role is missing in the whole account.
  if (placement === undefined || code === noSpotRole) return [offering];
  const closed = message.includes(spreadGroupFull) ? anyTypeOf(offering) : [offering];
  return closed.map((each) => ({ ...each, placement }));
}

/** A subnet without addresses does not affect the type; reserved launches are tracked at their reservation. */
function offeringOf(
  code: string,
  place: { instanceType: string | undefined; zone: string | undefined; capacityType: string },
): UnavailableOffering | undefined {
  const { instanceType, zone, capacityType } = place;
  if (code === noSpotRole) return { instanceType: '*', zone: '*', capacityType: 'spot', reason: code };
  if (!isCapacity(code) || code === 'InsufficientFreeAddressesInSubnet' || capacityType === 'reserved')
    return undefined;
  if (instanceType === undefined || zone === undefined) return undefined;
  return { instanceType, zone, capacityType, reason: code };
}

/** The limit of a spread group in a zone counts instances of every type, spot and on-demand. */
function anyTypeOf({ zone, reason }: UnavailableOffering): UnavailableOffering[] {
  return ['spot', 'on-demand'].map((capacityType) => ({ instanceType: '*', zone, capacityType, reason }));
}

function reasonOf(errors: readonly CreateFleetError[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { ErrorCode: code = '', ErrorMessage: message = '' } of errors) {
    const row = errorRow(code, message);
    if (row?.reason === undefined || row.type === 'InsufficientCapacity') continue;
    counts.set(row.reason, (counts.get(row.reason) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

function failuresOf(
  errors: readonly CreateFleetError[],
  capacityType: string,
  zoneOfSubnet: ReadonlyMap<string, string>,
): readonly LaunchFailure[] {
  const found = new Map<string, LaunchFailure>();
  for (const { ErrorCode: code = '', ErrorMessage: message = '', LaunchTemplateAndOverrides: of } of errors) {
    const { AvailabilityZone: named, SubnetId: subnet = '' } = of?.Overrides ?? {};
    const zone = named ?? zoneOfSubnet.get(subnet) ?? '';
    const reportedReason = errorRow(code, message)?.reason ?? 'LaunchFailed';
    const reason = reportedReason === 'InsufficientCapacityError' ? code : reportedReason;
    const key = JSON.stringify([zone, reason]);
    found.set(key, { zone, capacityType, reason, count: (found.get(key)?.count ?? 0) + 1 });
  }
  return [...found.values()];
}

/** Each code once with its first message, the most frequent first. */
function summary(errors: readonly CreateFleetError[]): string {
  const byCode = new Map<string, { count: number; message: string }>();
  for (const { ErrorCode: code = 'Unknown', ErrorMessage: message = '' } of errors) {
    const known = byCode.get(code) ?? { count: 0, message };
    known.count += 1;
    byCode.set(code, known);
  }
  return [...byCode]
    .sort(([, a], [, b]) => b.count - a.count)
    .map(([code, { count, message }]) => `${code}${count > 1 ? ` (${count} offerings)` : ''}: ${message}`)
    .join('; ')
    .slice(0, 300);
}

/** The outcome of a CreateFleet without errors. */
export const noErrors: FleetOutcome = {
  unavailable: [],
  exhaustedSubnets: [],
  onlyCapacity: true,
  templateMissing: false,
  throttled: false,
  message: '',
};

/** The outcome if no option has a subnet. */
export const nothingUsable: FleetOutcome = {
  ...noErrors,
  message: 'no subnet with free addresses in a zone with capacity',
};

/** A response with neither an instance nor an error counts as lack of capacity. */
export function withEmptyAsCapacity(verdict: FleetOutcome): FleetOutcome {
  const silent = !verdict.onlyCapacity && verdict.message === '';
  return silent ? { ...verdict, onlyCapacity: true, message: 'EC2 gave neither an instance nor an error' } : verdict;
}

export interface FleetInput {
  readonly stage: LaunchStage;
  /** The launch template of each option, by `templateKey`. */
  readonly templates: ReadonlyMap<string, { readonly template: string; readonly imageId: string }>;
  /** The subnet of each zone. */
  readonly subnets: ReadonlyMap<string, ResolvedSubnet>;
  readonly tags: Readonly<Record<string, string>>;
  readonly clientToken: string;
  /** Overlays changed prices: EC2 gets the order instead of choosing by its prices. */
  readonly prioritized: boolean;
  /** `spec.context` of the node class. */
  readonly context: string | undefined;
}

/** EC2's limit of launch templates in one request. */
const mostConfigs = 50;

/**
 * The options of the first templates, as many as one request allows: with kubelet expressions each type has a separate
 * template.
 */
export function withinConfigs(
  cheapestFirst: readonly LaunchOption[],
  templates: FleetInput['templates'],
): readonly LaunchOption[] {
  const named = (option: LaunchOption): string => templates.get(templateKey(option))?.template ?? '';
  const kept = new Set([...new Set(cheapestFirst.map(named))].slice(0, mostConfigs));
  return cheapestFirst.filter((option) => kept.has(named(option)));
}

/**
 * The CreateFleet of one stage: type `instant`, one instance, one override for each type and zone
 * (launch/fleet-request).
 */
export function fleetRequest(input: FleetInput): CreateFleetCommandInput {
  const spot = input.stage.capacityType === 'spot';
  const interruptible = input.stage.options.some((option) => reservationKindOf(option) === 'interruptible');
  const block = input.stage.options.some((option) => reservationKindOf(option) === 'capacity-block');
  const tags = tagList(input.tags);
  return {
    Type: 'instant',
    ClientToken: input.clientToken,
    TargetCapacitySpecification: {
      DefaultTargetCapacityType: targetType({ spot, block, interruptible }),
      TotalTargetCapacity: 1,
    },
    ...(spot
      ? {
          SpotOptions: {
            AllocationStrategy: input.prioritized ? 'capacity-optimized-prioritized' : 'price-capacity-optimized',
          },
        }
      : block || interruptible
        ? interruptible
          ? { ReservedCapacityOptions: { ReservationTypes: ['interruptible-capacity-reservation'] } }
          : {}
        : { OnDemandOptions: { AllocationStrategy: input.prioritized ? 'prioritized' : 'lowest-price' } }),
    LaunchTemplateConfigs: templateConfigs(input),
    TagSpecifications: [
      { ResourceType: 'instance', Tags: tags },
      { ResourceType: 'volume', Tags: tags },
      { ResourceType: 'fleet', Tags: tags },
    ],
    ...(input.context === undefined ? {} : { Context: input.context }),
  };
}

function targetType(of: {
  readonly spot: boolean;
  readonly block: boolean;
  readonly interruptible: boolean;
}): 'spot' | 'capacity-block' | 'reserved-capacity' | 'on-demand' {
  if (of.spot) return 'spot';
  if (of.block) return 'capacity-block';
  return of.interruptible ? 'reserved-capacity' : 'on-demand';
}

function templateConfigs(input: FleetInput): FleetLaunchTemplateConfigRequest[] {
  const byTemplate = new Map<string, Map<string, LaunchOption>>();
  for (const option of input.stage.options) {
    const template = input.templates.get(templateKey(option))?.template;
    if (template === undefined || !input.subnets.has(zoneOf(option))) continue;
    const overrides = byTemplate.get(template) ?? new Map<string, LaunchOption>();
    const key = `${option.type.name}/${zoneOf(option)}`;
    if (!overrides.has(key)) overrides.set(key, option);
    byTemplate.set(template, overrides);
  }
  return [...byTemplate].map(([template, overrides]) => ({
    LaunchTemplateSpecification: { LaunchTemplateName: template, Version: '$Latest' },
    Overrides: [...overrides.values()].map((option) => ({
      InstanceType: option.type.name as never,
      SubnetId: input.subnets.get(zoneOf(option))?.id,
      ImageId: input.templates.get(templateKey(option))?.imageId,
      AvailabilityZone: zoneOf(option),
      ...(input.prioritized ? { Priority: option.offering.price } : {}),
    })),
  }));
}
