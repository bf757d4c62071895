import type { CreateFleetError } from '@aws-sdk/client-ec2';
import type { UnavailableOffering } from '../port.js';

/** Codes that say that there is no capacity now (section 3.3). */
const noCapacity = new Set([
  'InsufficientInstanceCapacity',
  'MaxSpotInstanceCountExceeded',
  'VcpuLimitExceeded',
  'UnfulfillableCapacity',
  'Unsupported',
  'InsufficientFreeAddressesInSubnet',
  'MaxFleetCountExceeded',
  'ReservationCapacityExceeded',
]);

const noSpotRole = 'AuthFailure.ServiceLinkedRoleCreationNotPermitted';

/** What the errors of one CreateFleet answer mean. */
export interface FleetVerdict {
  /** Offerings to leave alone for a while. */
  readonly unavailable: readonly UnavailableOffering[];
  /** Subnets without free addresses. */
  readonly exhaustedSubnets: readonly string[];
  /** Whether every error is for want of capacity. */
  readonly onlyCapacity: boolean;
  readonly templateMissing: boolean;
  /** The distinct errors in words. */
  readonly message: string;
}

/** Reads the errors of a CreateFleet that asked for `capacityType`; `zoneOfSubnet` and `placement` as the request had them. */
export function readFleetErrors(
  errors: readonly CreateFleetError[],
  capacityType: string,
  zoneOfSubnet: ReadonlyMap<string, string>,
  placement?: string,
): FleetVerdict {
  const unavailable = new Map<string, UnavailableOffering>();
  const exhausted = new Set<string>();
  for (const error of errors) {
    const code = error.ErrorCode ?? '';
    const overrides = error.LaunchTemplateAndOverrides?.Overrides;
    const subnet = overrides?.SubnetId;
    if (code === 'InsufficientFreeAddressesInSubnet' && subnet !== undefined) exhausted.add(subnet);
    const offering = offeringOf(code, {
      instanceType: overrides?.InstanceType,
      zone: overrides?.AvailabilityZone ?? zoneOfSubnet.get(subnet ?? ''),
      capacityType,
    });
    if (offering === undefined) continue;
    const where = placement === undefined ? {} : { placement };
    unavailable.set(`${offering.instanceType}/${offering.zone}`, { ...offering, ...where });
  }
  return {
    unavailable: [...unavailable.values()],
    exhaustedSubnets: [...exhausted],
    onlyCapacity:
      errors.length > 0 && errors.every(({ ErrorCode: code = '' }) => noCapacity.has(code) || code === noSpotRole),
    templateMissing: errors.some(({ ErrorCode: code = '' }) => isTemplateMissing(code)),
    message: summary(errors),
  };
}

export function isTemplateMissing(code: string): boolean {
  return code.startsWith('InvalidLaunchTemplateName.NotFound') || code.startsWith('InvalidLaunchTemplateId.NotFound');
}

/** A subnet without addresses says nothing of the type; reserved launches are counted at their reservation. */
function offeringOf(
  code: string,
  place: { instanceType: string | undefined; zone: string | undefined; capacityType: string },
): UnavailableOffering | undefined {
  const { instanceType, zone, capacityType } = place;
  if (code === noSpotRole) return { instanceType: '*', zone: '*', capacityType: 'spot', reason: code };
  if (!noCapacity.has(code) || code === 'InsufficientFreeAddressesInSubnet' || capacityType === 'reserved')
    return undefined;
  if (instanceType === undefined || zone === undefined) return undefined;
  return { instanceType, zone, capacityType, reason: code };
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
