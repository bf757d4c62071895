import { parseResources } from '../../../core/quantities.js';
import { type Cluster, isDaemonPod } from '../cluster.js';
import { type FinalNode, type Launch, type Placement, daemonsOn, totalRequests } from '../placement.js';
import { type Amounts, type PodClass, addAmounts, podRequests } from '../pods.js';
import type { Violation } from '../types.js';

function sumOf(pods: ReadonlyMap<PodClass, number>): Record<string, number> {
  const total: Record<string, number> = {};
  for (const [podClass, count] of pods) addAmounts(total, podClass.requests, count);
  return total;
}

/** The first resource of which there is too little. */
export function lacking(needs: Amounts, has: Amounts): string | undefined {
  for (const [name, amount] of Object.entries(needs)) {
    const there = has[name] ?? 0;
    if (amount > there) return `${name}: ${amount} needed, ${there} there`;
  }
  return undefined;
}

/** No node over-full: its pods, its daemons and what runs there already fit, on every type that may be launched. */
export function checkResources(placement: Placement): Violation[] {
  const daemonPods = runningDaemons(placement.cluster);
  return placement.nodes.flatMap((node) =>
    node.claim === undefined ? existing(placement, node, daemonPods.get(node.name) ?? {}) : fresh(placement, node),
  );
}

function runningDaemons(cluster: Cluster): ReadonlyMap<string, Record<string, number>> {
  const byNode = new Map<string, Record<string, number>>();
  for (const pod of cluster.pods.values()) {
    if (!isDaemonPod(pod) || pod.spec.nodeName === undefined) continue;
    const total = byNode.get(pod.spec.nodeName) ?? {};
    addAmounts(total, podRequests(pod.spec));
    byNode.set(pod.spec.nodeName, total);
  }
  return byNode;
}

/** What a node can hold; a node that is not initialised reports nothing yet, so its claim speaks for it. */
function allocatableOf(cluster: Cluster, node: FinalNode): Amounts {
  const reported = parseResources(node.node?.status?.allocatable);
  const expected = parseResources(cluster.claims.get(node.name)?.status?.allocatable);
  const total: Record<string, number> = { ...reported };
  for (const [name, amount] of Object.entries(expected)) {
    if ((total[name] ?? 0) === 0) total[name] = amount;
  }
  return total;
}

function existing(placement: Placement, node: FinalNode, running: Amounts): Violation[] {
  if (node.placed.size === 0) return [];
  const needs = sumOf(node.running);
  addAmounts(needs, sumOf(node.placed));
  const daemons = totalRequests(daemonsOn(placement.cluster.daemonSets, node.labels, node.taints, node.name));
  for (const [name, amount] of Object.entries(daemons)) {
    needs[name] = (needs[name] ?? 0) + Math.max(0, amount - (running[name] ?? 0));
  }
  const short = lacking(needs, allocatableOf(placement.cluster, node));
  return short === undefined ? [] : [{ rule: 'over-full', node: node.name, message: `${node.name} lacks ${short}` }];
}

function fresh(placement: Placement, node: FinalNode): Violation[] {
  const pods = sumOf(node.placed);
  const violations: Violation[] = [];
  const judged = new Map<string, string | undefined>();
  const cheapest = cheapestLaunch(node);
  for (const launch of [...(cheapest === undefined ? [] : [cheapest]), ...node.launches]) {
    const daemonSets = daemonsOn(placement.cluster.daemonSets, launch.labels, node.taints, node.name);
    const key = `${launch.type.name} ${daemonSets.map((set) => set.metadata.name).join(' ')}`;
    if (judged.has(key)) continue;
    const needs: Record<string, number> = { ...pods };
    addAmounts(needs, totalRequests(daemonSets));
    const short = lacking(needs, launch.type.resources);
    judged.set(key, short);
    if (short === undefined) continue;
    const rule = launch.type === cheapest?.type ? 'over-full' : 'listed-type';
    violations.push({ rule, node: node.name, message: `${launch.type.name} lacks ${short}` });
  }
  return violations;
}

/** The launch that the plan itself calls its cheapest. */
export function cheapestLaunch(node: FinalNode): Launch | undefined {
  const said = node.claim?.cheapest;
  if (said === undefined || said === null) return undefined;
  return node.launches.find(
    ({ type, offer }) =>
      type.name === said.instanceType && offer.zone === said.zone && offer.capacityType === said.capacityType,
  );
}
