import { capacityTypeKey, instanceTypeKey, zoneKey, type MachineType, type Offer } from './catalogue.js';
import { isDeleting } from './cluster.js';
import type { FinalNode, Placement } from './placement.js';
import type { CommitmentJson, Violation } from './types.js';

const splitType = (name: string): [family: string, size: string] => {
  const dot = name.indexOf('.');
  return dot < 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot + 1)];
};

const sizes = ['nano', 'micro', 'small', 'medium', 'large', 'xlarge'];

/** A quarter for nano, twice as many for each size up to xlarge, which larger ones are multiples of. */
function unitsOf(name: string): number {
  const [, size] = splitType(name);
  const place = sizes.indexOf(size);
  return place >= 0 ? 0.25 * 2 ** place : 8 * Number(/(\d+)(?:xlarge|xl)$/.exec(size)?.[1] ?? Number.NaN);
}

const isFlexible = ({ zone, sizeFlexible, instanceType = '' }: CommitmentJson): boolean =>
  zone === undefined && sizeFlexible !== false && !Number.isNaN(unitsOf(instanceType));

function amountOf(commitment: CommitmentJson): number {
  const { perHour, count = 0, usedElsewhere = 0, instanceType = '' } = commitment;
  if (perHour !== undefined) return perHour - usedElsewhere;
  return (count - usedElsewhere) * (isFlexible(commitment) ? unitsOf(instanceType) : 1);
}

/** What one machine on demand uses of a commitment; 0 where it is not covered. */
function useOf(commitment: CommitmentJson, type: string, zone: string, price: number): number {
  const { kind, discount = 0, familyDiscounts = {}, instanceFamily, instanceType = '' } = commitment;
  const [family] = splitType(type);
  if (kind === 'ComputeSavingsPlan') return price * (1 - (familyDiscounts[family] ?? discount));
  if (kind === 'EC2InstanceSavingsPlan') return family === instanceFamily ? price * (1 - discount) : 0;
  if (isFlexible(commitment)) return family === splitType(instanceType)[0] ? unitsOf(type) || 0 : 0;
  return type === instanceType && (commitment.zone ?? zone) === zone ? 1 : 0;
}

const precedence = ({ kind, zone }: CommitmentJson): number =>
  kind === 'ReservedInstances' ? Number(zone === undefined) : kind === 'EC2InstanceSavingsPlan' ? 2 : 3;

function onDemandOffer(type: MachineType | undefined, zone: string): Offer | undefined {
  return type?.offers.find((offer) => offer.capacityType === 'on-demand' && offer.zone === zone);
}

/** What nodes that stay leave of each commitment: bills cover usage in part where it is more than there is. */
function leftOf({ cluster, types }: Placement): Map<string, number> {
  const ordered = [...cluster.commitments].sort((a, b) => precedence(a) - precedence(b) || (a.name < b.name ? -1 : 1));
  const left = new Map(ordered.map((each) => [each.name, amountOf(each)]));
  for (const [name, node] of cluster.nodes) {
    const own = node.metadata.labels ?? {};
    const zone = own[zoneKey] ?? '';
    const type = own[instanceTypeKey] ?? '';
    const offer = onDemandOffer(types.get(type), zone);
    if (isDeleting(node, cluster.claims.get(name)) || own[capacityTypeKey] !== 'on-demand' || offer === undefined)
      continue;
    let rest = 1;
    for (const each of ordered) {
      const use = useOf(each, type, zone, offer.price);
      const there = left.get(each.name)!;
      const part = use <= 0 ? 0 : Math.min(rest, there / use);
      left.set(each.name, there - part * use);
      rest -= part;
    }
  }
  return left;
}

/** What of the price on demand covered capacity counts. */
const coveredShare = 0.01;

/** The least that a claim under a commitment costs in any type that it lists; undefined where the commitment covers none of them. */
export function coveredPrice({ cluster, types }: Placement, { claim, launches }: FinalNode): number | undefined {
  const commitment = cluster.commitments.find(({ name }) => name === claim?.cheapest?.commitment);
  if (commitment === undefined) return undefined;
  const prices = launches.flatMap(({ type, offer }) => {
    const machine = onDemandOffer(types.get(type.name), offer.zone)?.price ?? 0;
    const isCovered = offer.capacityType === 'on-demand' && useOf(commitment, type.name, offer.zone, machine) > 0;
    return isCovered ? [Math.max(0, offer.price - machine) + machine * coveredShare] : [];
  });
  return prices.length < launches.length ? undefined : Math.min(...prices);
}

/** Plans use no more of a commitment than is left of it. */
export function checkCommitments(placement: Placement): Violation[] {
  const { nodes, types, cluster } = placement;
  if (nodes.every(({ claim }) => claim?.cheapest?.commitment === undefined)) return [];
  const left = leftOf(placement);
  const used = new Map<string, number>();
  for (const { claim } of nodes) {
    const { commitment: name, instanceType, zone } = claim?.cheapest ?? {};
    if (name === undefined || instanceType === undefined || zone === undefined) continue;
    const commitment = cluster.commitments.find((each) => each.name === name);
    const price = onDemandOffer(types.get(instanceType), zone)?.price ?? 0;
    const use = commitment === undefined ? Infinity : useOf(commitment, instanceType, zone, price);
    used.set(name, (used.get(name) ?? 0) + use);
  }
  return [...used].flatMap(([name, use]): Violation[] => {
    const there = left.get(name) ?? 0;
    const message = `new nodes use ${use} of commitment ${name}, which has ${there} left`;
    return use > there + 1e-6 ? [{ rule: 'commitments', message }] : [];
  });
}
