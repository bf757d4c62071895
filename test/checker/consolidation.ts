import type { KubernetesObject, Pod } from '../../api/kubernetes.js';
import { formatResource } from '../../core/quantities.js';
import { type MachineType, hostnameKey, readMachineTypes } from './catalogue.js';
import { violationsOf } from './check.js';
import { type Cluster, type Pool, isDeleting, readCluster } from './cluster.js';
import {
  type Report,
  checkBalance,
  checkBudgets,
  checkCandidates,
  checkReplacements,
  isUnsettled,
  mustMove,
  podsOn,
} from './disruption.js';
import { launchesOf } from './placement.js';
import { podKey } from './pods.js';
import { fixedLabels, Prices } from './prices.js';
import type { CatalogueEntry, ClaimJson, CommandJson, ObjectList, PlanJson, Violation } from './types.js';

export type { CommandJson } from './types.js';

/** What `stowage consolidate -o json` prints, as far as a judge needs it; the peer prints the same. */
export interface ConsolidationJson {
  readonly engine: string;
  readonly nodesBefore: number;
  readonly nodesAfter: number;
  readonly priceBefore: number;
  readonly priceAfter: number;
  readonly totalMs: number;
  readonly commands: readonly CommandJson[];
}

export interface ConsolidationVerdict {
  readonly violations: readonly Violation[];
  /** Pods that had to leave their node, each time they did. */
  readonly evictions: number;
  /** As the checker reckons them itself, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  readonly nodesAfter: number;
}

const cent = 1e-6;

/**
 * Carries the commands out one after the other and judges each: its candidates may be disrupted, its budget allows so
 * many, every pod that must leave has one new place, the placement breaks no rule, and the prices stated are right and fall
 * however launches go. `now`, milliseconds of the epoch, decides which budgets are open.
 */
export function checkConsolidation(
  objects: ObjectList,
  catalogue: readonly CatalogueEntry[],
  result: ConsolidationJson,
  now = Date.now(),
): ConsolidationVerdict {
  const types = readMachineTypes(catalogue);
  const violations: Violation[] = [];
  let items = [...(objects.items as readonly KubernetesObject[])];
  const before = readCluster({ items });
  const prices = new Prices(before, types);
  let evictions = 0;
  result.commands.forEach((command, n) => {
    const report = (rule: Violation['rule'], message: string, node?: string): void => {
      violations.push({ rule, ...(node !== undefined && { node }), message: `command ${n}: ${message}` });
    };
    const cluster = readCluster({ items });
    checkCandidates(cluster, command, now, report);
    checkBudgets(cluster, command, now, report);
    checkReplacements(cluster, prices, command, report);
    checkBalance(cluster, prices, command, report);
    evictions += checkMoves(cluster, command, { n, now }, report);
    const price = fleetPrice(cluster, prices);
    const carried = carryOut(items, cluster, { types, prices }, command, n);
    violations.push(...carried.violations.map((v) => ({ ...v, message: `command ${n}: ${v.message}` })));
    items = carried.items;
    const after = fleetPrice(readCluster({ items }), prices);
    checkPrices(command, { price, after }, report);
  });
  const end = readCluster({ items });
  const priceAfter = fleetPrice(end, prices);
  if (Math.abs(priceAfter - result.priceAfter) > cent || end.nodes.size !== result.nodesAfter) {
    const said = `${result.nodesAfter} nodes at ${result.priceAfter}`;
    violations.push({ rule: 'price', message: `says ${said}, it is ${end.nodes.size} at ${priceAfter}` });
  }
  return { violations, evictions, priceBefore: fleetPrice(before, prices), priceAfter, nodesAfter: end.nodes.size };
}

/** Counts the evictions. */
function checkMoves(
  cluster: Cluster,
  command: CommandJson,
  { n, now }: { readonly n: number; readonly now: number },
  report: Report,
): number {
  const deleting = new Set(command.candidates.flatMap((name) => podsOn(cluster, name).filter(mustMove).map(podKey)));
  const moved = new Set<string>();
  for (const { pod, to } of command.moves) {
    if (moved.has(pod)) report('moves', `${pod} is moved twice`);
    if (!deleting.has(pod)) report('moves', `${pod} does not run on a node that goes`);
    moved.add(pod);
    const replacement = new RegExp(`^replacement-${n}-(\\d+)$`).exec(to)?.[1];
    const isThere = cluster.nodes.has(to) && !command.candidates.includes(to);
    const isNew = replacement !== undefined && Number(replacement) < command.replacements.length;
    if (!isThere && !isNew) report('moves', `${pod} goes to ${to}, which will not be there`);
    if (isUnsettled(cluster, to, now)) report('moves', `${pod} goes to ${to}, whose consolidateAfter is not over`);
  }
  // A node whose pods have no disruption cost counts as empty: its pods need no other node.
  for (const pod of deleting) {
    if (!moved.has(pod) && command.method !== 'empty') report('moves', `${pod} has no new place`);
  }
  return deleting.size;
}

/** Judges the placement that the command leads to, and gives the objects as they are then. */
function carryOut(
  items: readonly KubernetesObject[],
  cluster: Cluster,
  { types, prices }: { readonly types: ReadonlyMap<string, MachineType>; readonly prices: Prices },
  command: CommandJson,
  n: number,
): { items: KubernetesObject[]; violations: Violation[] } {
  const { pending, settled } = afterMoves(items, command);
  const deleting = new Set(
    [...cluster.nodes].filter(([name, node]) => isDeleting(node, cluster.claims.get(name))).map(([name]) => name),
  );
  const goingTo = (to: string): string[] => command.moves.filter((move) => move.to === to).map(({ pod }) => pod);
  const replacements = command.replacements.map((claim, i) => ({ ...claim, pods: goingTo(`replacement-${n}-${i}`) }));
  const plan: PlanJson = {
    engine: 'command',
    newNodeClaims: replacements,
    existingNodes: [...new Set(command.moves.map(({ to }) => to))]
      .filter((to) => cluster.nodes.has(to))
      .map((node) => ({ node, pods: goingTo(node) })),
    // Pods that were pending stay pending, and so do the pods of deleting nodes.
    unschedulable: [...cluster.pods.values()]
      .filter(({ spec: { nodeName = '' } }) => nodeName === '' || deleting.has(nodeName))
      .map((pod) => ({ pod: podKey(pod), reason: 'pending' })),
    pricePerHour: replacements.reduce((sum, { cheapest }) => sum + (cheapest?.pricePerHour ?? 0), 0),
  };
  const { violations } = violationsOf(readCluster({ items: pending }), types, plan);
  replacements.forEach((claim, i) => {
    const pool = cluster.pools.get(claim.nodePool);
    if (pool !== undefined) settled.push(...launched(prices.typesOf(pool), pool, claim, `replacement-${n}-${i}`));
  });
  return { items: settled, violations };
}

function withNode(pod: Pod, node: string | undefined): Pod {
  const spec = { ...pod.spec };
  delete spec.nodeName;
  return { ...pod, spec: node === undefined ? spec : { ...spec, nodeName: node } };
}

/** The node and NodeClaim that a replacement becomes: its cheapest offering. */
function launched(
  types: ReadonlyMap<string, MachineType>,
  pool: Pool,
  claim: ClaimJson,
  name: string,
): KubernetesObject[] {
  const type = types.get(claim.cheapest?.instanceType ?? '');
  if (type === undefined) return [];
  const fixed = fixedLabels(pool, claim, name);
  const launch = launchesOf([type], fixed, claim.requirements ?? []).find(
    ({ offer }) => offer.zone === claim.cheapest?.zone && offer.capacityType === claim.cheapest.capacityType,
  );
  const labels: Record<string, string> = { 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' };
  for (const key of [...fixed.keys(), ...type.labels.keys(), ...(launch?.offer.labels.keys() ?? [])]) {
    const value = launch?.labels(key)?.[0];
    if (value !== undefined) labels[key] = value;
  }
  labels[hostnameKey] = name;
  const allocatable = Object.fromEntries(
    Object.entries(type.resources).map(([resource, amount]) => [resource, formatResource(resource, amount)]),
  );
  const providerID = `replacement:///${name}`;
  return [
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels },
      spec: { providerID, taints: pool.spec.template.spec.taints ?? [] },
      status: { capacity: allocatable, allocatable },
    },
    {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name, labels },
      status: { nodeName: name, providerID, capacity: allocatable, allocatable },
    },
  ] as unknown as KubernetesObject[];
}

/** What the nodes of known type, zone and capacity type cost. */
function fleetPrice(cluster: Cluster, prices: Prices): number {
  let total = 0;
  for (const node of cluster.nodes.values()) total += prices.of(node.metadata.labels ?? {});
  return total;
}

/** The objects after the candidates have gone: with their pods pending, and with each where the command moves it. */
function afterMoves(
  items: readonly KubernetesObject[],
  command: CommandJson,
): { readonly pending: KubernetesObject[]; readonly settled: KubernetesObject[] } {
  const going = new Set(command.candidates);
  const target = new Map(command.moves.map(({ pod, to }) => [pod, to]));
  const pending: KubernetesObject[] = [];
  const settled: KubernetesObject[] = [];
  for (const item of items) {
    const name = item.metadata.name ?? '';
    if (item.kind === 'Node' && going.has(name)) continue;
    if (item.kind === 'NodeClaim' && going.has((item as { status?: { nodeName?: string } }).status?.nodeName ?? name))
      continue;
    const pod = item as Pod;
    if (item.kind !== 'Pod' || !going.has(pod.spec.nodeName ?? '')) {
      pending.push(item);
      settled.push(item);
      continue;
    }
    const to = target.get(podKey(pod));
    if (to === undefined) continue; // goes with its node
    pending.push(withNode(pod, undefined));
    settled.push(withNode(pod, to));
  }
  return { pending, settled };
}

function checkPrices(
  { priceBefore, priceAfter }: CommandJson,
  { price, after }: { readonly price: number; readonly after: number },
  report: (rule: Violation['rule'], message: string) => void,
): void {
  if (Math.abs(price - priceBefore) > cent || Math.abs(after - priceAfter) > cent) {
    report('price', `says ${priceBefore} to ${priceAfter}, but takes the fleet from ${price} to ${after}`);
  }
  if (after > price + cent) report('price', `makes the fleet dearer, ${price} to ${after}`);
}
