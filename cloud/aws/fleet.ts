import type { CreateFleetCommandInput, FleetLaunchTemplateConfigRequest } from '@aws-sdk/client-ec2';
import type { ResolvedSubnet } from '../../api/aws/ec2-node-class.js';
import type { LaunchOption } from '../../core/launch-options.js';
import type { LaunchStage } from './launch-choice.js';
import { reservationKindOf, templateKey, zoneOf } from './launch-choice.js';
import { tagList } from './tags.js';

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
