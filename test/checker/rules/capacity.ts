import { parseResources } from '../../../core/quantities.js';
import { capacityTypeKey, zoneKey } from '../catalogue.js';
import type { Policy, Pool } from '../cluster.js';
import { type FinalNode, type Placement, launchesOf } from '../placement.js';
import { fixedLabels } from '../prices.js';
import { policyOf } from '../policies.js';
import { normalKey } from '../selectors.js';
import type { Violation } from '../types.js';

/** Capacity reservations, and the share of a pool that runs on spot. */
export function checkCapacity(placement: Placement): Violation[] {
  return [...reservations(placement), ...spotRatios(placement)];
}

function reservations({ nodes }: Placement): Violation[] {
  const taken = new Map<string, { count: number; free: number }>();
  for (const { launches } of nodes) {
    const ids = new Map(launches.flatMap(({ offer }) => (offer.reserved ? [[offer.reserved.id, offer.reserved]] : [])));
    for (const { id, free } of ids.values()) {
      const entry = taken.get(id) ?? { count: 0, free };
      entry.count++;
      taken.set(id, entry);
    }
  }
  return [...taken].flatMap(([id, { count, free }]): Violation[] =>
    count <= free ? [] : [{ rule: 'reservations', message: `${count} nodes may take ${id}, which has ${free} free` }],
  );
}

function spotRatios(placement: Placement): Violation[] {
  return [...placement.cluster.pools.values()].flatMap((pool) => {
    const ratio = ratioOf(placement, pool);
    return ratio === undefined ? [] : spotRatio(placement, pool, ratio);
  });
}

type Ratio = NonNullable<Policy['spec']['spotRatio']>;

function ratioOf({ cluster }: Placement, pool: Pool): Ratio | undefined {
  return policyOf(cluster, pool)?.spec.spotRatio;
}

/** New nodes of a pool with a ratio are spot or not for certain, and bring it as near to the ratio as one node can. */
function spotRatio(placement: Placement, pool: Pool, ratio: Ratio): Violation[] {
  const violations: Violation[] = [];
  const vcpus = { spot: 0, 'on-demand': 0 };
  let largest = 0;
  // Which of the new nodes might as well have been the other.
  const open = { spot: false, 'on-demand': false };
  for (const node of placement.nodes) {
    if (node.pool !== pool) continue;
    const types = typesOf(node);
    const [capacityType] = types;
    if (node.claim !== undefined && types.size > 1) {
      const message = `may become ${[...types].join(' or ')}, but its pool has a spot ratio`;
      violations.push({ rule: 'spot-ratio', node: node.name, message });
    }
    // What runs on a reservation counts for neither.
    if (node.claim !== undefined && capacityType !== 'spot' && capacityType !== 'on-demand') continue;
    const side = capacityType === 'spot' ? 'spot' : 'on-demand';
    const cpu = cpuOf(node);
    vcpus[side] += cpu;
    largest = Math.max(largest, cpu);
    if (node.claim !== undefined && mayBeOther(placement, node, pool, side)) open[side] = true;
  }
  return ratio.perZone === true ? violations : [...violations, ...imbalance(ratio, { vcpus, largest, open })];
}

interface Tally {
  readonly vcpus: Readonly<Record<'spot' | 'on-demand', number>>;
  readonly largest: number;
  readonly open: Readonly<Record<'spot' | 'on-demand', boolean>>;
}

/** Millicores that are further from the ratio than a node has, while a new node on the surplus side might be the other. */
function imbalance(ratio: Ratio, { vcpus, largest, open }: Tally): Violation[] {
  const total = vcpus.spot + vcpus['on-demand'];
  const off = vcpus.spot - (ratio.spotPercent / 100) * total;
  const hasFloor = vcpus['on-demand'] - largest < (ratio.minimumOnDemandVCPU ?? 0) * 1000;
  const canMend = off > 0 ? open.spot : open['on-demand'] && !hasFloor;
  if (Math.abs(off) <= largest || !canMend) return [];
  const message = `${vcpus.spot / 1000} of ${total / 1000} vCPUs are spot where ${ratio.spotPercent}% are wanted`;
  return [{ rule: 'spot-ratio', message }];
}

function typesOf(node: FinalNode): Set<string> {
  if (node.claim !== undefined) return new Set(node.launches.map(({ offer }) => offer.capacityType));
  return new Set([node.node?.metadata.labels?.[capacityTypeKey] ?? '']);
}

const cpuOf = (node: FinalNode): number =>
  node.claim === undefined
    ? (parseResources(node.node?.status?.capacity)['cpu'] ?? 0)
    : (node.launches[0]?.type.resources['cpu'] ?? 0);

/** Whether the types that the claim lists are sold the other way too, in every zone that it leaves open. */
function mayBeOther(placement: Placement, node: FinalNode, pool: Pool, side: 'spot' | 'on-demand'): boolean {
  const requirements = (node.claim?.requirements ?? []).filter(({ key }) => normalKey(key) !== capacityTypeKey);
  const own = pool.spec.template.spec.requirements ?? [];
  const listed = [...new Set(node.launches.map(({ type }) => type))];
  const fixed = fixedLabels(pool, node.claim, node.name);
  fixed.delete(capacityTypeKey);
  const others = launchesOf(listed, fixed, [...requirements, ...own]).filter(
    ({ offer }) => offer.capacityType === (side === 'spot' ? 'on-demand' : 'spot'),
  );
  const asks = [...node.placed.keys()].some(({ spec }) =>
    JSON.stringify([spec.nodeSelector, spec.affinity, spec.topologySpreadConstraints]).includes(capacityTypeKey),
  );
  const daemons = placement.cluster.daemonSets.some(({ spec }) => JSON.stringify(spec).includes(capacityTypeKey));
  const zoned = [...node.placed.keys()].some(({ spec }) =>
    JSON.stringify([spec.affinity, spec.topologySpreadConstraints, spec.volumes]).includes(zoneKey),
  );
  return !asks && !daemons && !zoned && others.length > 0;
}
