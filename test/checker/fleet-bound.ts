import type { Node } from '../../api/kubernetes.js';
import { parseResources } from '../../core/resources.js';
import { readMachineTypes, type MachineType } from './catalogue.js';
import { type Cluster, isLeaving, readCluster } from './cluster.js';
import { checkBudgets, checkCandidates, mustMove, podsOn, priceOf } from './disruption.js';
import { maximize } from './lower-bound.js';
import { daemonsOn, fixedLabels, launchesOf, totalRequests } from './placement.js';
import { addAmounts, podRequests } from './pods.js';
import type { CatalogueEntry, CommandJson, ObjectList } from './types.js';

const resources = ['cpu', 'memory', 'pods'] as const;
type Vector = readonly number[];

interface Row {
  readonly price: number;
  readonly room: Vector;
}

/**
 * The price, dollars per hour, below which no consolidation of the cluster can end: nodes that may not go cost what they cost,
 * and the pods of the others are held, by cpu, memory and number alone, by what is free there and by fractions of nodes that
 * are there or can be bought. Which node a pod may use counts for nothing, so most clusters cannot get that far.
 */
export function fleetBound(objects: ObjectList, catalogue: readonly CatalogueEntry[], now = Date.now()): number {
  const types = readMachineTypes(catalogue);
  const cluster = readCluster(objects);
  const rows = buyable(cluster, types);
  const need = resources.map(() => 0);
  let held = 0;
  for (const [name, node] of cluster.nodes) {
    if (isLeaving(node, cluster.claims.get(name))) continue;
    const price = priceOf(types, node.metadata.labels ?? {});
    const pods = podsOn(cluster, name);
    const mayLeave = mayGo(cluster, name, now);
    const room = roomOn(node, mayLeave ? pods.filter((pod) => !mustMove(pod)) : pods);
    if (mayLeave) {
      rows.push({ price, room });
      for (const pod of pods.filter(mustMove)) add(need, vectorOf(podRequests(pod.spec)), 1);
    } else {
      held += price;
      add(need, room, -1);
    }
  }
  return held + cheapestCover(rows, need);
}

function cheapestCover(rows: readonly Row[], need: Vector): number {
  const asked = resources.map((_, i) => i).filter((i) => need[i]! > 0);
  if (asked.length === 0) return 0;
  const shares = rows.map(({ price, room }) => ({ price, share: asked.map((i) => room[i]! / need[i]!) }));
  return maximize(undominated(shares), asked.length);
}

/** Of rows that differ in price alone, the cheapest. */
function undominated(rows: readonly { price: number; share: Vector }[]): { price: number; share: Vector }[] {
  const best = new Map<string, { price: number; share: Vector }>();
  for (const row of rows) {
    const key = row.share.join(' ');
    if ((best.get(key)?.price ?? Number.POSITIVE_INFINITY) > row.price) best.set(key, row);
  }
  return [...best.values()];
}

/** Whether some command might take the node. */
function mayGo(cluster: Cluster, node: string, now: number): boolean {
  if (!cluster.claims.has(node)) return false;
  return (['empty', 'single'] as const).some((method) => {
    let refused = false;
    const command: CommandJson = {
      method,
      decision: 'delete',
      candidates: [node],
      replacements: [],
      moves: [],
      priceBefore: 0,
      priceAfter: 0,
    };
    const report = (): void => void (refused = true);
    checkCandidates(cluster, command, now, report);
    checkBudgets(cluster, command, now, report);
    return !refused;
  });
}

function buyable(cluster: Cluster, types: ReadonlyMap<string, MachineType>): Row[] {
  return [...cluster.pools.values()].flatMap((pool) => {
    const { spec } = pool.spec.template;
    const launches = launchesOf([...types.values()], fixedLabels(pool, undefined, 'new'), spec.requirements ?? []);
    return launches.map(({ type, offer, labels }): Row => {
      const free: Record<string, number> = { ...type.resources };
      addAmounts(free, totalRequests(daemonsOn(cluster.daemonSets, labels, spec.taints ?? [], 'new')), -1);
      return { price: offer.price, room: vectorOf(free) };
    });
  });
}

function roomOn(node: Node, pods: ReturnType<typeof podsOn>): Vector {
  const free: Record<string, number> = { pods: 110, ...parseResources(node.status?.allocatable) };
  for (const pod of pods) addAmounts(free, podRequests(pod.spec), -1);
  return vectorOf(free);
}

const vectorOf = (amounts: Readonly<Record<string, number>>): Vector =>
  resources.map((name) => Math.max(0, amounts[name] ?? 0));

function add(into: number[], amounts: Vector, times: number): void {
  amounts.forEach((amount, i) => (into[i]! += amount * times));
}
