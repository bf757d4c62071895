import type { MachineType } from '../catalogue.js';
import { coveredPrice } from '../commitments.js';
import { parseResources } from '../../../core/quantities.js';
import type { FinalNode, Placement } from '../placement.js';
import { type Amounts, addAmounts } from '../pods.js';
import { normalKey, valueSatisfies } from '../selectors.js';
import type { PlanJson, Violation } from '../types.js';
import { cheapestLaunch } from './resources.js';
import type { WrittenRequirement } from '../../../api/karpenter/requirements.js';

const tolerance = 1e-6;

/** NodePool limits and minValues, and the prices that the plan states. */
export function checkPools(placement: Placement, plan: PlanJson): Violation[] {
  return [...limits(placement), ...placement.nodes.flatMap(minValues), ...prices(placement, plan)];
}

function capacityOf(placement: Placement, node: FinalNode): Amounts {
  if (node.claim !== undefined) return cheapestLaunch(node)?.type.resources ?? node.launches[0]?.type.resources ?? {};
  const claim = placement.cluster.claims.get(node.name);
  return { ...parseResources(claim?.status?.capacity), ...parseResources(node.node?.status?.capacity) };
}

function limits(placement: Placement): Violation[] {
  const violations: Violation[] = [];
  for (const [name, pool] of placement.cluster.pools) {
    const allowed = parseResources(pool.spec.limits);
    if (Object.keys(allowed).length === 0) continue;
    const nodes = placement.nodes.filter((node) => node.pool === pool);
    if (!nodes.some((node) => node.claim !== undefined)) continue;
    const used: Record<string, number> = { nodes: nodes.length };
    for (const node of nodes) addAmounts(used, capacityOf(placement, node));
    for (const [resource, limit] of Object.entries(allowed)) {
      const amount = used[resource] ?? 0;
      if (amount <= limit) continue;
      violations.push({ rule: 'limits', message: `NodePool ${name} comes to ${amount} ${resource} of ${limit}` });
    }
  }
  return violations;
}

/** A claim that says so lists fewer, as MIN_VALUES_POLICY BestEffort allows: as many as it asks for itself. */
function minValues(node: FinalNode): Violation[] {
  const { claim, pool } = node;
  if (claim === undefined) return [];
  const isRelaxed = claim.annotations?.['karpenter.sh/nodeclaim-min-values-relaxed'] === 'true';
  const asked: readonly WrittenRequirement[] | null | undefined = isRelaxed
    ? claim.requirements
    : pool?.spec.template.spec.requirements;
  const violations: Violation[] = [];
  for (const requirement of asked ?? []) {
    if (requirement.minValues === undefined) continue;
    const key = normalKey(requirement.key);
    const values = new Set<string>();
    for (const { type, labels } of node.launches) {
      for (const value of offered(type, key) ?? labels(key) ?? [])
        if (valueSatisfies(value, requirement)) values.add(value);
    }
    if (values.size >= requirement.minValues) continue;
    const message = `lists ${values.size} values of ${key} where its NodePool asks for ${requirement.minValues}`;
    violations.push({ rule: 'min-values', node: node.name, message });
  }
  return violations;
}

/** What a type may have, in any of its offers: what the pods of one node decide, such as its zone, takes nothing from the variety of its types. */
function offered({ labels, offers }: MachineType, key: string): readonly string[] | undefined {
  const own = labels.get(key) ?? offers.flatMap((offer) => offer.labels.get(key) ?? []);
  return own.length === 0 ? undefined : own;
}

function prices(placement: Placement, plan: PlanJson): Violation[] {
  const violations: Violation[] = [];
  let total = 0;
  for (const node of placement.nodes) {
    if (node.claim === undefined) continue;
    const said = node.claim.cheapest;
    const isCovered = said?.commitment !== undefined;
    const best = isCovered ? coveredPrice(placement, node) : node.launches[0]?.offer.price;
    total += said?.pricePerHour ?? 0;
    if (said === undefined || said === null) {
      violations.push({ rule: 'price', node: node.name, message: 'the claim names no offering' });
    } else if (cheapestLaunch(node) === undefined) {
      const offering = `${said.instanceType} in ${said.zone}, ${said.capacityType}`;
      violations.push({ rule: 'price', node: node.name, message: `${offering} cannot be launched for this claim` });
    } else if (best === undefined || Math.abs(best - said.pricePerHour) > tolerance) {
      const message = `says ${said.pricePerHour}, the cheapest offering is ${best ?? 'none'}`;
      violations.push({ rule: 'price', node: node.name, message });
    }
  }
  if (Math.abs(total - plan.pricePerHour) > 1e-4 * Math.max(1, total)) {
    violations.push({ rule: 'price', message: `claims cost ${total} together, the plan says ${plan.pricePerHour}` });
  }
  return violations;
}
