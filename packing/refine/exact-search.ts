import { compareText } from '../../core/text.js';
import type { Incumbent } from './incumbent.js';
import type { PlacementState } from './placement-state.js';
import { contentOf } from './tentative-node.js';
import type { Group } from '../topology/groups.js';
import type { Rules } from '../topology/rules.js';
import { PlacingOrder, type UnplacedPod } from './unplaced-pods.js';
import { fullName } from '../../core/names.js';

/** Maximum number of pods of a plan that is searched exactly. */
export const mostPods = 24;
/** After so many placements without a better plan the search ends without a proof; after a better one it continues up to `extensionFactor` times as many. */
const mostTried = 300;
const extensionFactor = 3;

/**
 * Tries every place for every pod, as long as that may beat the best plan. Returns whether everything was tried: the
 * best plan is then optimal. Pods that need a NodePool of a lower weight come first, since other pods may ride on their
 * nodes.
 */
export function searchExactly(best: Incumbent): boolean {
  const { state } = best;
  const nodes = state.existing.occupied();
  const pods = [
    ...best.unplaced,
    ...state.tentativeNodes.flatMap(({ members }) =>
      members.flatMap(({ podClass, levelIndex, pods }) =>
        pods.map((pod): UnplacedPod => ({ podClass, pod, lastLevel: levelIndex })),
      ),
    ),
    ...nodes.flatMap(({ placed }) => placed!.map((each) => state.unplacedOf(each))),
  ];
  if (pods.length > mostPods) return false;
  best.begin();
  pods.sort((a, b) => compareText(fullName(a.pod), fullName(b.pod)));
  for (const tentative of [...state.tentativeNodes]) state.remove(tentative);
  for (const node of nodes) for (const placed of [...node.placed!]) state.existing.take(node, placed);
  const order = afterPartners(
    state,
    new PlacingOrder(state.context.compiled).of(pods, { early: (each) => -state.heaviest(each) }),
  );
  const search = new ExactSearch(best, order);
  const isDone = search.run();
  if (search.found === undefined) state.undo();
  else best.accept(search.replay());
  return isDone;
}

/** The pods in this order, but those that wait for pods which their affinity selects after the first of these. */
function afterPartners(state: PlacementState, pods: readonly UnplacedPod[]): UnplacedPod[] {
  const rules = new Map(pods.map((each) => [each, state.atLastLevel(each.podClass).rules]));
  const order: UnplacedPod[] = [];
  const met = new Set<Group>();
  const isMet = (own: Rules): boolean =>
    [...own.affinity, ...own.hostAffinity].every(
      (group) => met.has(group) || own.matched.includes(group) || state.context.topologyCounts.total(group) > 0,
    );
  for (let waiting = pods; waiting.length > 0;) {
    const ready = waiting.find((each) => isMet(rules.get(each)!)) ?? waiting[0]!;
    for (const group of rules.get(ready)!.matched) met.add(group);
    order.push(ready);
    waiting = waiting.filter((each) => each !== ready);
  }
  return order;
}

/** Depth first, the cheapest places first; undoes changes when backtracking. */
class ExactSearch {
  private readonly state: PlacementState;
  /** Partial plans from which the search has continued already. */
  private readonly seen = new Set<string>();
  /** The chosen places of the pods so far. */
  private readonly path: (() => void)[] = [];
  private readonly left: UnplacedPod[] = [];
  /** Spread rules that count the pods, with the number of counted pods from each index on. */
  private readonly spreads = new Map<Group, number[]>();
  private price: number;
  private unplaced: number;
  private tried = 0;
  private most = mostTried;
  found: { readonly path: readonly (() => void)[]; readonly left: readonly UnplacedPod[] } | undefined;

  constructor(
    private readonly best: Incumbent,
    private readonly pods: readonly UnplacedPod[],
  ) {
    this.state = best.state;
    this.price = best.price;
    this.unplaced = best.unplaced.length;
    const rules = pods.map(({ podClass, lastLevel }) => this.state.atLevel(podClass, lastLevel).rules);
    for (const group of new Set(rules.flatMap(({ spread }) => spread))) {
      const after = [0];
      for (const { matched } of [...rules].reverse()) after.unshift(after[0]! + (matched.includes(group) ? 1 : 0));
      this.spreads.set(group, after);
    }
  }

  /** Returns whether everything was tried. */
  run(): boolean {
    this.place(0, 0);
    return this.tried <= this.most;
  }

  /** Applies the best plan found; returns the pods that it leaves unplaced. */
  replay(): readonly UnplacedPod[] {
    const { path, left } = this.found!;
    for (const put of path) put();
    return left;
  }

  /** Whether an equal pod before this one stays unplaced. Of equal pods the last ones do, so this one does too. */
  private followsLeftEqual({ podClass, lastLevel }: UnplacedPod): boolean {
    const before = this.left.at(-1);
    return before?.podClass === podClass && before.lastLevel >= lastLevel;
  }

  private place(index: number, price: number): void {
    const { state, left } = this;
    if (left.length === this.unplaced && price >= this.price - 1e-9) return;
    if (!this.canBeEven(index)) return;
    const unplaced = this.pods[index];
    if (unplaced === undefined) {
      if (!this.best.isBetter(left)) return;
      this.found = { path: [...this.path], left: [...left] };
      this.price = price;
      this.unplaced = left.length;
      this.most = Math.max(mostTried, this.tried * extensionFactor);
      return;
    }
    const text = `${index} ${left.length} ${contentKey(state)}`;
    if (this.seen.has(text)) return;
    this.seen.add(text);
    if (this.tried++ > this.most) return;
    for (const { cost, put } of this.followsLeftEqual(unplaced) ? [] : state.choices(unplaced)) {
      if (left.length === this.unplaced && price + cost >= this.price - 1e-9) continue;
      if (this.tried > this.most) return;
      const { changes } = state;
      put();
      this.path.push(put);
      this.place(index + 1, price + cost);
      this.path.pop();
      state.undo(changes);
    }
    if (left.length >= this.unplaced) return;
    left.push(unplaced);
    this.place(index + 1, price);
    left.pop();
  }

  /** Whether the pods from this index on suffice to even out the current skew. */
  private canBeEven(index: number): boolean {
    const { topologyCounts } = this.state.context;
    for (const [group, after] of this.spreads) {
      const domains = topologyCounts.domains(group);
      let most = -Infinity;
      // Pods without the rule can be bound later.
      for (const domain of domains)
        most = Math.max(most, topologyCounts.count(group, domain) - topologyCounts.free(group, domain));
      let missing = 0;
      for (const domain of domains) missing += Math.max(0, most - group.maxSkew - topologyCounts.count(group, domain));
      if (missing > after[index]!) return false;
    }
    return true;
  }
}

/** Equal for plans that differ only in the names of equal pods. */
const contentKey = ({ tentativeNodes, existing }: PlacementState): string =>
  [
    ...tentativeNodes.map(contentOf),
    ...existing.nodes.flatMap(({ pods, placed = [] }, at) =>
      pods.length === 0 ? [] : [`${at}:${placed.map(({ podClass }) => podClass.index).join()}`],
    ),
  ]
    .sort()
    .join(' ');
