import type { Commitment } from '../../api/stowage/commitments.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { lookUp } from '../../core/own.js';

/**
 * Savings Plans and reserved instances (instance-types/commitments). A covered on-demand offering is listed twice, at
 * the covered and at the full price; the covered one uses the commitment.
 */

/** A commitment in the form that packing uses. */
export interface Term {
  readonly name: string;
  /** Its size: dollars per hour at its rates, normalized units, or instances. */
  readonly amount: number;
  /** How much of it an instance uses, given its list price; undefined if it does not cover the instance. */
  readonly use: (instanceType: string, zone: string, price: number) => number | undefined;
}

/**
 * Price of covered capacity, as a share of the list price. Using it costs nothing, but other nodes can then not use the
 * commitment; at a price of zero, larger machines than needed would be chosen for small savings elsewhere.
 */
const coveredShare = 0.01;

/** The order in which AWS applies them: zonal reservations, regional ones, plans of an instance family, compute plans. */
const order = (commitment: Commitment): number =>
  commitment.kind === 'ReservedInstances'
    ? commitment.zone === undefined
      ? 1
      : 0
    : commitment.kind === 'EC2InstanceSavingsPlan'
      ? 2
      : 3;

/** The commitments currently in force. */
export function termsOf(commitments: readonly Commitment[], now: number): readonly Term[] {
  return commitments
    .filter(({ until }) => until === undefined || Date.parse(until) > now)
    .sort((a, b) => order(a) - order(b) || compareText(a.name, b.name))
    .map(termOf)
    .filter(({ amount }) => amount > 0);
}

function termOf(commitment: Commitment): Term {
  const { name } = commitment;
  if (commitment.kind === 'ReservedInstances') return reservation(commitment);
  const amount = commitment.perHour - commitment.usedElsewhere;
  if (commitment.kind === 'EC2InstanceSavingsPlan') {
    const { instanceFamily, discount } = commitment;
    return {
      name,
      amount,
      use: (type, _, price) => (familyOf(type) === instanceFamily ? price * (1 - discount) : undefined),
    };
  }
  const { discount, familyDiscounts } = commitment;
  return { name, amount, use: (type, _, price) => price * (1 - (lookUp(familyDiscounts, familyOf(type)) ?? discount)) };
}

function reservation({
  name,
  instanceType,
  count,
  usedElsewhere,
  zone,
  sizeFlexible,
}: Extract<Commitment, { kind: 'ReservedInstances' }>): Term {
  const units = normalizedUnits(instanceType);
  const amount = count - usedElsewhere;
  if (zone !== undefined || !sizeFlexible || units === undefined) {
    const isOwn = (type: string, where: string): boolean =>
      type === instanceType && (zone === undefined || where === zone);
    return { name, amount, use: (type, where) => (isOwn(type, where) ? 1 : undefined) };
  }
  const family = familyOf(instanceType);
  return {
    name,
    amount: amount * units,
    use: (type) => (familyOf(type) === family ? normalizedUnits(type) : undefined),
  };
}

const familyOf = (instanceType: string): string => instanceType.split('.')[0]!;

const small: Readonly<Record<string, number>> = { nano: 0.25, micro: 0.5, small: 1, medium: 2, large: 4, xlarge: 8 };

/**
 * The normalization factor of an instance size; undefined for bare metal without a size, which only a reservation of the same
 * type covers.
 */
export function normalizedUnits(instanceType: string): number | undefined {
  const size = instanceType.slice(familyOf(instanceType).length + 1).replace(/^metal-(\d+)xl$/, '$1xlarge');
  const many = /^(\d+)xlarge$/.exec(size);
  return many === null ? lookUp(small, size) : 8 * Number(many[1]);
}

/** The on-demand price of the machine without volumes and addresses, dollars per hour: commitments cover only that. */
export const machinePrice = ({ machinePrice: own, price }: Offering): number => own ?? price;

/** The types with each on-demand offering listed once more for each commitment that covers it. */
export function withCovered(types: readonly InstanceType[], terms: readonly Term[]): readonly InstanceType[] {
  return types.map((type) => {
    const covered = type.offerings.flatMap((offering) => coveredBy(type.name, offering, terms));
    return covered.length === 0 ? type : { ...type, offerings: [...type.offerings, ...covered] };
  });
}

function coveredBy(type: string, offering: Offering, terms: readonly Term[]): Offering[] {
  if (!offering.available || commitmentValueOf(offering, labels.capacityType) !== 'on-demand') return [];
  const zone = commitmentValueOf(offering, labels.zone) ?? '';
  const machine = machinePrice(offering);
  return terms.flatMap(({ name, use: useOf }) => {
    const use = useOf(type, zone, machine);
    if (use === undefined || !(use > 0)) return [];
    const price = Math.max(offering.price - machine, 0) + machine * coveredShare;
    return [{ ...offering, price, commitment: { name, use, saving: offering.price - price } }];
  });
}

export const commitmentValueOf = ({ requirements }: Offering, key: string): string | undefined => {
  const found = requirements.find((requirement) => requirement.key === key && requirement.operator === 'In');
  return found?.values?.length === 1 ? found.values[0] : undefined;
};
