import { parseResources } from '../../core/quantities.js';
import type { Amounts } from './pods.js';
import { normalKey } from './selectors.js';
import type { CatalogueEntry } from './types.js';
import type { WrittenRequirement } from '../../api/karpenter/requirements.js';

export const zoneKey = 'topology.kubernetes.io/zone';
export const capacityTypeKey = 'karpenter.sh/capacity-type';
export const instanceTypeKey = 'node.kubernetes.io/instance-type';
const reservationKey = 'karpenter.k8s.aws/capacity-reservation-id';
export const poolKey = 'karpenter.sh/nodepool';
export const hostnameKey = 'kubernetes.io/hostname';

export interface MachineType {
  readonly name: string;
  /** The labels that the type decides, with every value they may have. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** Capacity and allocatable alike: this form of catalogue knows no overhead. */
  readonly resources: Amounts;
  readonly offers: readonly Offer[];
}

export interface Offer {
  readonly price: number;
  readonly available: boolean;
  readonly zone: string;
  readonly capacityType: string;
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** Of a capacity reservation, by its id: instances that are free. */
  readonly reserved?: { readonly id: string; readonly free: number };
}

const dotted = /^\w+\.(nano|micro|small|medium|large|\d*xlarge|metal)$/;

function family(name: string): string {
  const end = name.search(/[.-]/);
  return end >= 0 ? name.slice(0, end) : name.slice(0, 1);
}

function machineType(entry: CatalogueEntry): MachineType {
  const offers = entry.offerings.map((offering) => {
    const labels = new Map(offering.Requirements.map((r) => [normalKey(r.key), r.values ?? []]));
    return {
      price: offering.Price,
      available: offering.Available ?? true,
      zone: labels.get(zoneKey)?.[0] ?? '',
      capacityType: labels.get(capacityTypeKey)?.[0] ?? '',
      labels,
      ...((offering.ReservationCapacity !== undefined || labels.get(capacityTypeKey)?.[0] === 'reserved') && {
        reserved: {
          id: labels.get(reservationKey)?.[0] ?? `${entry.name} in ${labels.get(zoneKey)?.[0] ?? ''}`,
          free: offering.ReservationCapacity ?? 0,
        },
      }),
    };
  });
  return {
    name: entry.name,
    resources: { pods: 110, ...parseResources(entry.resources) },
    offers,
    labels: new Map<string, readonly string[]>([
      [instanceTypeKey, [entry.name]],
      ['kubernetes.io/arch', [entry.architecture]],
      ['kubernetes.io/os', entry.operatingSystems],
      ['karpenter.kwok.sh/instance-cpu', [entry.resources['cpu'] ?? '']],
      ['karpenter.kwok.sh/instance-memory', [entry.resources['memory'] ?? '']],
      ['karpenter.kwok.sh/instance-family', [family(entry.name)]],
      ['karpenter.kwok.sh/instance-size', [dotted.exec(entry.name)?.[1] ?? entry.resources['cpu'] ?? '']],
      ...Object.entries(entry.labels ?? {}).map(([key, value]) => [normalKey(key), [value].flat()] as const),
    ]),
  };
}

/** Reads a catalogue; types by name. */
export function readMachineTypes(entries: readonly CatalogueEntry[]): ReadonlyMap<string, MachineType> {
  return new Map(entries.map((entry) => [entry.name, machineType(entry)]));
}

/** What one offer of a type is sure to be labelled, narrowed by what a claim or pool asks for. */
export function labelsOf(
  type: MachineType,
  offer: Offer,
  fixed: ReadonlyMap<string, readonly string[]>,
  narrowing: readonly WrittenRequirement[],
  satisfies: (value: string, requirement: WrittenRequirement) => boolean,
): (key: string) => readonly string[] | undefined {
  return (key) => {
    const values = offer.labels.get(key) ?? type.labels.get(key) ?? fixed.get(key);
    if (values === undefined || values.length < 2) return values;
    const rules = narrowing.filter((requirement) => normalKey(requirement.key) === key);
    return values.filter((value) => rules.every((rule) => satisfies(value, rule)));
  };
}
