import type { NodeState, PlacedPod } from '../place/node-states.js';
import type { PlacementState } from './placement-state.js';
import { contentOf, type TentativeNode } from './tentative-node.js';
import type { Incumbent } from './incumbent.js';
import { insertAll, PlacingOrder, type UnplacedPod } from './unplaced-pods.js';

/** A pod on a node. `take` removes it, or returns false if other pods on the node need it by pod affinity. */
interface RemovablePod {
  readonly unplaced: UnplacedPod;
  readonly take: () => boolean;
}

/** Maximum number of pods removed at once to make room for others. */
const mostRemoved = 6;
/** Numbers of equal nodes that are tried as one larger node. */
const equalNodesJoined = [3, 4, 6, 8];
/** Tentative nodes with more pods are skipped: exchanging one pod hardly changes their price. */
const mostExchanged = 8;

/**
 * Improves a plan by moving a few pods: makes room for unplaced pods, swaps two pods, or merges several nodes into one.
 */
export class Exchanges {
  private readonly state: PlacementState;
  private readonly order: PlacingOrder;
  /** Groups of nodes whose pods do not fit on one node, in the plan with version `impossibleIn`. */
  private readonly impossible = new Set<string>();
  private impossibleIn = '';

  constructor(private readonly best: Incumbent) {
    this.state = best.state;
    this.order = new PlacingOrder(best.state.context.compiled);
  }

  /**
   * Makes room for unplaced pods: moves others to other nodes, or leaves one large pod unplaced for several small ones.
   * Returns whether fewer pods are unplaced afterwards.
   */
  makeRoom(units: number): boolean {
    const { best, state } = this;
    const end = state.work + units;
    const before = best.unplaced.length;
    for (let progress = true; progress;) {
      progress = false;
      for (const host of [...state.tentativeNodes, ...state.existing.occupied()]) {
        const removable = removablePodsOf(state, host);
        for (let i = 0; i < removable.length && best.unplaced.length > 0; i++) {
          if (state.work >= end) return best.unplaced.length < before;
          if (
            !this.makeRoomOn(host, removable.slice(i, i + 1)) &&
            !this.makeRoomOn(host, removable.slice(i, i + mostRemoved))
          )
            continue;
          progress = true;
          break;
        }
      }
    }
    return best.unplaced.length < before;
  }

  /** Removes pods from the node one by one until unplaced pods fit; returns whether fewer are unplaced afterwards. */
  private makeRoomOn(host: TentativeNode | NodeState, removables: readonly RemovablePod[]): boolean {
    const { best, state } = this;
    best.begin();
    const out: UnplacedPod[] = [];
    let waiting = this.order.of(best.unplaced).reverse();
    state.work += waiting.length;
    for (const removable of removables) {
      if (!removable.take()) break;
      out.push(removable.unplaced);
      const rest = insertAll(waiting, (unplaced) => this.putOn(host, unplaced));
      const isIn = rest.length < waiting.length;
      waiting = rest;
      if (isIn) break;
    }
    if (waiting.length === best.unplaced.length) {
      state.undo();
      return false;
    }
    if ('members' in host && host.members.length === 0) state.remove(host);
    const onNode = insertAll(this.order.of(out), ({ podClass, pod, lastLevel }) =>
      state.insert(podClass, pod, lastLevel, { mode: 'cheap' }),
    );
    return best.accept([...waiting, ...onNode]);
  }

  private putOn(host: TentativeNode | NodeState, { podClass, pod, lastLevel }: UnplacedPod): boolean {
    return this.state.insertInto(host, podClass, pod, lastLevel);
  }

  /** Swaps single pods between tentative nodes with few pods if that makes a node cheaper. */
  exchange(units: number): void {
    const { state } = this;
    const end = state.work + units;
    for (let found = true; found && state.work < end;) {
      found = state.tentativeNodes.some((from) => from.count <= mostExchanged && this.exchangeFrom(from, end));
    }
  }

  private exchangeFrom(from: TentativeNode, end: number): boolean {
    const { state } = this;
    for (const own of removablePodsOf(state, from)) {
      for (const into of state.tentativeNodes) {
        if (into === from) continue;
        for (const other of removablePodsOf(state, into)) {
          if (state.work++ >= end) return false;
          if (other.unplaced.podClass !== own.unplaced.podClass && this.swap(own, from, other, into)) return true;
        }
      }
    }
    return false;
  }

  private swap(own: RemovablePod, from: TentativeNode, other: RemovablePod, into: TentativeNode): boolean {
    const { best, state } = this;
    best.begin();
    const isDone = own.take() && other.take() && this.putOn(into, own.unplaced) && this.putOn(from, other.unplaced);
    if (isDone) return best.accept(best.unplaced);
    state.undo();
    return false;
  }

  /** Merges two tentative nodes if that costs no more: at equal price fewer nodes are better. */
  join(units: number): void {
    const { state } = this;
    const end = state.work + units;
    for (let before = Infinity; state.tentativeNodes.length < before;) {
      before = state.tentativeNodes.length;
      for (let at = 0; at < state.tentativeNodes.length; at++) {
        this.joinOthers(state.tentativeNodes[at]!, at + 1, end);
        this.joinAlike(state.tentativeNodes[at]!, end);
      }
    }
  }

  /** Merges several equal nodes: there may be no instance size for two of them, but one for four. */
  private joinAlike(into: TentativeNode, end: number): void {
    const text = contentOf(into);
    const others = this.state.tentativeNodes.filter((each) => each !== into && contentOf(each) === text);
    for (const together of equalNodesJoined) {
      if (others.length < together - 1 || this.state.work >= end) return;
      if (this.joinInto(into, others.slice(0, together - 1))) return;
    }
  }

  /** Tries to merge each node from index `first` on into `into`. */
  private joinOthers(into: TentativeNode, first: number, end: number): void {
    const { tentativeNodes } = this.state;
    const refused = new Set<string>();
    for (let other = first; other < tentativeNodes.length && this.state.work < end;) {
      const text = contentOf(tentativeNodes[other]!);
      if (!refused.has(text) && this.joinInto(into, [tentativeNodes[other]!])) continue;
      refused.add(text);
      other++;
    }
  }

  private joinInto(into: TentativeNode, from: readonly TentativeNode[]): boolean {
    const { best, state } = this;
    const text = `${contentOf(into)} ${from.map(contentOf).join(' ')}`;
    if (this.isImpossible(text)) return false;
    best.begin();
    const members = from.flatMap((each) =>
      each.members.map(({ podClass, levelIndex, pods }) => ({ podClass, levelIndex, pods: [...pods] })),
    );
    for (const each of from) state.remove(each);
    for (const { podClass, levelIndex, pods } of members) {
      for (const pod of pods) {
        if (state.insertInto(into, podClass, pod, levelIndex)) continue;
        state.undo();
        this.impossible.add(text);
        return false;
      }
    }
    return best.accept(best.unplaced);
  }

  /**
   * Whether this failed in the current plan. After a change the plan has another price or number of nodes, so it is
   * tried again.
   */
  private isImpossible(text: string): boolean {
    const { best, impossible } = this;
    const plan = `${best.price} ${this.state.tentativeNodes.length} ${best.unplaced.length}`;
    if (plan !== this.impossibleIn) impossible.clear();
    this.impossibleIn = plan;
    return impossible.has(text);
  }
}

/** One pod of each class on the node. */
function removablePodsOf(state: PlacementState, host: TentativeNode | NodeState): RemovablePod[] {
  if ('members' in host) {
    return [...host.members].map((member) => ({
      unplaced: { podClass: member.podClass, pod: member.pods.at(-1)!, lastLevel: member.levelIndex },
      take: () => {
        if (!state.isFree(host, member)) return false;
        state.take(host, member);
        return true;
      },
    }));
  }
  const seen: PlacedPod[] = [];
  return host.placed!.flatMap((placed) => {
    if (seen.some(({ podClass, rules }) => podClass === placed.podClass && rules === placed.rules)) return [];
    seen.push(placed);
    const take = (): boolean => {
      if (!state.existing.isFree(host, placed)) return false;
      state.existing.take(host, placed);
      return true;
    };
    return [{ unplaced: state.unplacedOf(placed), take }];
  });
}
