import { parseResources } from '../../core/quantities.js';
import { type Launch, type Placement, daemonsOn, launchesOf, mayFitLabels, totalRequests } from './placement.js';
import { type PodClass, addAmounts } from './pods.js';
import { fixedLabels } from './prices.js';
import { untolerated } from './selectors.js';

/** A node that could be bought, with what daemons leave of it. */
interface Buyable {
  readonly price: number;
  readonly free: Readonly<Record<string, number>>;
  readonly launch: Launch;
  readonly taints: Parameters<typeof untolerated>[0];
}

/**
 * The price below which no nodes with resources enough for the placed pods can be bought: the linear relaxation by
 * resource totals, apart for pods that share no offering. What existing nodes have free comes for nothing.
 */
export function lowerBound(placement: Placement): number {
  const demand = new Map<PodClass, number>();
  let newPods = 0;
  for (const node of placement.nodes) {
    for (const [podClass, count] of node.placed) {
      demand.set(podClass, (demand.get(podClass) ?? 0) + count);
      if (node.claim !== undefined) newPods += count;
    }
  }
  if (newPods === 0) return 0;
  const buyables = allBuyables(placement);
  const groups = groupByOffers([...demand.keys()], buyables);
  const free = freeOnNodes(placement);
  let total = 0;
  for (const component of components(groups)) {
    const alone = component.map((group) => boundOf([group], demand, free));
    // Pods that no offering can hold are placed in error; the rules report it.
    total += Math.max(0, ...[boundOf(component, demand, free), ...alone].filter(Number.isFinite));
  }
  return total;
}

interface Group {
  readonly classes: PodClass[];
  readonly offers: readonly Buyable[];
}

function allBuyables(placement: Placement): Buyable[] {
  const all: Buyable[] = [];
  for (const pool of placement.cluster.pools.values()) {
    const taints = pool.spec.template.spec.taints ?? [];
    const best = new Map<string, Buyable>();
    for (const launch of launchesOf(
      [...placement.typesOf(pool).values()],
      fixedLabels(pool, undefined, 'a new node'),
      pool.spec.template.spec.requirements ?? [],
    )) {
      const key = `${launch.type.name} ${launch.offer.zone} ${launch.offer.capacityType}`;
      if (best.has(key)) continue;
      const free: Record<string, number> = { ...launch.type.resources };
      addAmounts(free, totalRequests(daemonsOn(placement.cluster.daemonSets, launch.labels, taints, 'a new node')), -1);
      best.set(key, { price: launch.offer.price, free, launch, taints });
    }
    all.push(...best.values());
  }
  return all;
}

function groupByOffers(classes: readonly PodClass[], buyables: readonly Buyable[]): Group[] {
  const byConstraint = new Map<string, { offers: Buyable[]; key: string }>();
  const groups = new Map<string, Group>();
  for (const podClass of classes) {
    const { spec } = podClass;
    const text = JSON.stringify([spec.nodeSelector, spec.affinity?.nodeAffinity, spec.tolerations]);
    let found = byConstraint.get(text);
    if (found === undefined) {
      const usable = buyables.map(
        ({ launch, taints }) =>
          untolerated(taints, spec.tolerations) === undefined && mayFitLabels(spec, launch.labels, 'a new node'),
      );
      found = { offers: buyables.filter((_, i) => usable[i]), key: usable.map((yes) => (yes ? '1' : '0')).join('') };
      byConstraint.set(text, found);
    }
    const rare = Object.keys(podClass.requests)
      .filter((name) => name !== 'cpu' && name !== 'memory' && name !== 'pods')
      .sort();
    const key = `${found.key} ${rare.join()}`;
    const group = groups.get(key);
    if (group !== undefined) group.classes.push(podClass);
    else {
      const offers = found.offers.filter((offer) => rare.every((name) => (offer.free[name] ?? 0) > 0));
      groups.set(key, { classes: [podClass], offers });
    }
  }
  return [...groups.values()];
}

/** Groups that can share a node, directly or through others. */
function components(groups: readonly Group[]): Group[][] {
  const parent = groups.map((_, i) => i);
  const root = (i: number): number => {
    let at = i;
    while (parent[at] !== at) at = parent[at] ?? at;
    return at;
  };
  const owner = new Map<Buyable, number>();
  groups.forEach((group, i) => {
    for (const offer of group.offers) {
      const other = owner.get(offer);
      if (other === undefined) owner.set(offer, i);
      else parent[root(i)] = root(other);
    }
  });
  const byRoot = new Map<number, Group[]>();
  groups.forEach((group, i) => byRoot.set(root(i), [...(byRoot.get(root(i)) ?? []), group]));
  return [...byRoot.values()];
}

function freeOnNodes(placement: Placement): Record<string, number> {
  const free: Record<string, number> = {};
  for (const node of placement.nodes) {
    if (node.node === undefined) continue;
    const left: Record<string, number> = { ...parseResources(node.node.status?.allocatable) };
    for (const [podClass, count] of node.running) addAmounts(left, podClass.requests, -count);
    for (const [name, amount] of Object.entries(left)) if (amount > 0) free[name] = (free[name] ?? 0) + amount;
  }
  return free;
}

function boundOf(
  groups: readonly Group[],
  demand: ReadonlyMap<PodClass, number>,
  free: Readonly<Record<string, number>>,
): number {
  const needs: Record<string, number> = {};
  const offers = new Set<Buyable>();
  for (const group of groups) {
    for (const podClass of group.classes) addAmounts(needs, podClass.requests, demand.get(podClass) ?? 0);
    group.offers.forEach((offer) => offers.add(offer));
  }
  const names: string[] = [];
  for (const [name, amount] of Object.entries(needs)) {
    const left = amount - (free[name] ?? 0);
    if (left <= 0) continue;
    needs[name] = left;
    names.push(name);
  }
  // In units of the demand, so that the numbers are of one size.
  const rows = [...offers].map((offer) => ({
    price: offer.price,
    share: names.map((name) => Math.max(0, offer.free[name] ?? 0) / (needs[name] ?? 1)),
  }));
  return maximize(rows, names.length);
}

/**
 * The most that the sum of y, each weighed, can be with share·y <= price for every row, y >= 0: a primal simplex on the dense
 * tableau, Bland's rule. It is the dual of buying fractions of nodes.
 */
export function maximize(
  rows: readonly { price: number; share: readonly number[] }[],
  dimensions: number,
  weights: readonly number[] = new Array<number>(dimensions).fill(1),
): number {
  const table = rows.map((row) => [...row.share, row.price]);
  const objective = [...weights, 0];
  // Non-basic columns only: each pivot swaps a column with a row's basic variable in place.
  const basicOfRow = rows.map((_, i) => dimensions + i);
  const columnOf = Array.from({ length: dimensions }, (_, i) => i);
  for (let step = 0; step < 10_000; step++) {
    const entering = pickEntering(objective, columnOf, dimensions);
    if (entering < 0) break;
    const deleting = pickDeleting(table, basicOfRow, entering, dimensions);
    if (deleting < 0) return Number.POSITIVE_INFINITY;
    pivot(table, objective, deleting, entering);
    const left = basicOfRow[deleting] ?? 0;
    basicOfRow[deleting] = columnOf[entering] ?? 0;
    columnOf[entering] = left;
  }
  return -(objective[dimensions] ?? 0);
}

function pickEntering(objective: readonly number[], columnOf: readonly number[], dimensions: number): number {
  let best = -1;
  for (let column = 0; column < dimensions; column++) {
    if ((objective[column] ?? 0) > 1e-12 && (best < 0 || (columnOf[column] ?? 0) < (columnOf[best] ?? 0)))
      best = column;
  }
  return best;
}

function pickDeleting(
  table: readonly (readonly number[])[],
  basicOfRow: readonly number[],
  entering: number,
  dimensions: number,
): number {
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < table.length; i++) {
    const factor = table[i]?.[entering] ?? 0;
    if (factor <= 1e-12) continue;
    const ratio = (table[i]?.[dimensions] ?? 0) / factor;
    if (ratio < least - 1e-15 || (ratio <= least && (basicOfRow[i] ?? 0) < (basicOfRow[best] ?? Infinity))) {
      least = ratio;
      best = i;
    }
  }
  return best;
}

function pivot(table: number[][], objective: number[], deleting: number, entering: number): void {
  const row = table[deleting]!;
  const factor = row[entering]!;
  for (let j = 0; j < row.length; j++) row[j] = j === entering ? 1 / factor : row[j]! / factor;
  for (const other of [...table, objective]) {
    if (other === row) continue;
    const times = other[entering]!;
    if (times === 0) continue;
    for (let j = 0; j < row.length; j++) {
      other[j] = j === entering ? -times * row[j]! : other[j]! - times * row[j]!;
    }
  }
}
