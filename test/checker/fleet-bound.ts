import type { Node, Pod } from '../../api/kubernetes.js';
import { parseResources } from '../../core/quantities.js';
import { hostnameKey, readMachineTypes } from './catalogue.js';
import { type Cluster, isDeleting, readCluster } from './cluster.js';
import { checkBudgets, checkCandidates, mustMove, podsOn } from './disruption.js';
import { maximize } from './lower-bound.js';
import { daemonsOn, launchesOf, totalRequests } from './placement.js';
import { addAmounts, podRequests } from './pods.js';
import { fixedLabels, Prices } from './prices.js';
import { selectorMatches } from './selectors.js';
import type { CatalogueEntry, CommandJson, ObjectList } from './types.js';

const resources = ['cpu', 'memory', 'pods'] as const;
/** Besides them each node has one place for a pod of those that most keep away from each other: see `apart`. */
const places = resources.length;
type Vector = readonly number[];

interface Row {
  readonly price: number;
  readonly room: Vector;
}

/** Up to how many nodes that cost less than what can be bought are counted once each; more of them count as often as they like. */
const mostCounted = 300;

/**
 * The price, dollars per hour, below which no consolidation of the cluster can end: nodes that may not go cost what they cost,
 * and the pods of the others are held, by cpu, memory and number alone, by what is free there, by parts of the nodes that are
 * there and by fractions of nodes that can be bought. Which node a pod may use counts for nothing, so most clusters cannot get that far.
 */
export function fleetBound(objects: ObjectList, catalogue: readonly CatalogueEntry[], now = Date.now()): number {
  const cluster = readCluster(objects);
  const prices = new Prices(cluster, readMachineTypes(catalogue));
  const offers = buyable(cluster, prices);
  const nodes: Row[] = [];
  const need = [...resources.map(() => 0), 0];
  const apart = new Map<string, number>();
  let held = 0;
  for (const [name, node] of cluster.nodes) {
    if (isDeleting(node, cluster.claims.get(name))) continue;
    const price = prices.of(node.metadata.labels ?? {});
    const pods = podsOn(cluster, name);
    const mayLeave = mayGo(cluster, name, now);
    const room = roomOn(node, mayLeave ? pods.filter((pod) => !mustMove(pod)) : pods);
    if (mayLeave) {
      nodes.push({ price, room });
      for (const pod of pods.filter(mustMove)) {
        add(need, vectorOf(podRequests(pod.spec)), 1);
        for (const like of awayFrom(pod)) apart.set(like, (apart.get(like) ?? 0) + 1);
      }
    } else {
      held += price;
      add(need, room, -1);
    }
  }
  need[places]! += Math.max(0, ...apart.values());
  return held + cheapestCover(offers, nodes, need);
}

/** Names for the sets of pods of which the pod is one, and no two may share a node. */
function awayFrom({ metadata, spec }: Pod): string[] {
  const terms = spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  return terms.flatMap(({ topologyKey, labelSelector, namespaces, namespaceSelector, ...rest }) => {
    const isOwn = namespaces === undefined && namespaceSelector === undefined && Object.keys(rest).length === 0;
    if (topologyKey !== hostnameKey || !isOwn || !selectorMatches(labelSelector, metadata.labels ?? {})) return [];
    return [`${metadata.namespace ?? 'default'} ${JSON.stringify(labelSelector)}`];
  });
}

function cheapestCover(offers: readonly Row[], nodes: readonly Row[], need: Vector): number {
  const asked = [...need.keys()].filter((i) => need[i]! > 0);
  if (asked.length === 0) return 0;
  const sharing = ({ price, room }: Row): Share => ({ price, share: asked.map((i) => room[i]! / need[i]!) });
  const bought = undominated(offers.map(sharing));
  // What can be bought for as little need not be there.
  const cheap = nodes
    .map(sharing)
    .filter((node) => !bought.some((offer) => offer.price <= node.price && holds(offer.share, node.share)));
  if (cheap.length > mostCounted) return maximize([...bought, ...undominated(cheap)], asked.length);
  // The dual of "no more than once each": a variable for each node.
  const once = (at: number): number[] => cheap.map((_, i) => (i === at ? -1 : 0));
  const rows = [
    ...bought.map(({ price, share }) => ({ price, share: [...share, ...once(-1)] })),
    ...cheap.map(({ price, share }, i) => ({ price, share: [...share, ...once(i)] })),
  ];
  return maximize(rows, asked.length + cheap.length, [...asked.map(() => 1), ...cheap.map(() => -1)]);
}

interface Share {
  readonly price: number;
  readonly share: Vector;
}

const holds = (larger: Vector, smaller: Vector): boolean => larger.every((amount, i) => amount >= smaller[i]!);

/** Of rows that differ in price alone, the cheapest. */
function undominated(rows: readonly Share[]): Share[] {
  const best = new Map<string, Share>();
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

function buyable(cluster: Cluster, prices: Prices): Row[] {
  return [...cluster.pools.values()].flatMap((pool) => {
    const { spec } = pool.spec.template;
    const launches = launchesOf(
      [...prices.typesOf(pool).values()],
      fixedLabels(pool, undefined, 'new'),
      spec.requirements ?? [],
    );
    return launches.map(({ type, offer, labels }): Row => {
      const free: Record<string, number> = { ...type.resources };
      addAmounts(free, totalRequests(daemonsOn(cluster.daemonSets, labels, spec.taints ?? [], 'new')), -1);
      return { price: offer.price, room: [...vectorOf(free), 1] };
    });
  });
}

function roomOn(node: Node, pods: ReturnType<typeof podsOn>): Vector {
  const free: Record<string, number> = { pods: 110, ...parseResources(node.status?.allocatable) };
  for (const pod of pods) addAmounts(free, podRequests(pod.spec), -1);
  return [...vectorOf(free), 1];
}

const vectorOf = (amounts: Readonly<Record<string, number>>): Vector =>
  resources.map((name) => Math.max(0, amounts[name] ?? 0));

function add(into: number[], amounts: Vector, times: number): void {
  amounts.forEach((amount, i) => (into[i]! += amount * times));
}
