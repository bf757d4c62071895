import type { NodeState, PlacedPod } from '../place/node-states.js';
import type { Board } from './board.js';
import type { TentativeNode } from './tentative-node.js';
import type { Incumbent } from './incumbent.js';
import { insertAll, PlacingOrder, type UnplacedPod } from './unplaced-pods.js';

/** A pod on a node, and how to take it away: false where others are there for it. */
interface RemovablePod {
  readonly unplaced: UnplacedPod;
  readonly take: () => boolean;
}

/** How many pods make room for others at once. */
const mostRemoved = 6;
/** How many nodes that are alike are tried in one. */
const alikeTogether = [3, 4, 6, 8];
/** Tentative nodes with more pods are none that exchange a pod pays for. */
const mostExchanged = 8;

/** Improves a plan by a few pods at a time: pods make room for others, change places, and move in together. */
export class Exchanges {
  private readonly board: Board;
  private readonly order: PlacingOrder;

  constructor(private readonly best: Incumbent) {
    this.board = best.board;
    this.order = new PlacingOrder(best.board.context.compiled);
  }

  /**
   * Has others make room for pods left out where that leaves fewer out: they go elsewhere, or one large pod stays out for
   * several small ones. Whether that came about.
   */
  makeRoom(units: number): boolean {
    const { best, board } = this;
    const end = board.work + units;
    const before = best.left.length;
    for (let progress = true; progress;) {
      progress = false;
      for (const host of [...board.tentativeNodes, ...board.existing.occupied()]) {
        const removable = removablePodsOf(board, host);
        for (let i = 0; i < removable.length && best.left.length > 0; i++) {
          if (board.work >= end) return best.left.length < before;
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
    return best.left.length < before;
  }

  /** Takes the pods off the host one by one until pods left out come in; whether fewer are out in the end. */
  private makeRoomOn(host: TentativeNode | NodeState, removables: readonly RemovablePod[]): boolean {
    const { best, board } = this;
    best.begin();
    const out: UnplacedPod[] = [];
    let waiting = this.order.of(best.left).reverse();
    board.work += waiting.length;
    for (const removable of removables) {
      if (!removable.take()) break;
      out.push(removable.unplaced);
      const rest = insertAll(waiting, (unplaced) => this.putOn(host, unplaced));
      const isIn = rest.length < waiting.length;
      waiting = rest;
      if (isIn) break;
    }
    if (waiting.length === best.left.length) {
      board.undo();
      return false;
    }
    if ('members' in host && host.members.length === 0) board.remove(host);
    const onNode = insertAll(this.order.of(out), ({ podClass, pod, lastLevel }) =>
      board.insert(podClass, pod, lastLevel, { mode: 'cheap' }),
    );
    return best.accept([...waiting, ...onNode]);
  }

  private putOn(host: TentativeNode | NodeState, { podClass, pod, lastLevel }: UnplacedPod): boolean {
    return this.board.insertInto(host, podClass, pod, lastLevel);
  }

  /** Exchanges pods of tentative nodes with few for others one by one, where a tentative node then costs less. */
  exchange(units: number): void {
    const { board } = this;
    const end = board.work + units;
    for (let found = true; found && board.work < end;) {
      found = board.tentativeNodes.some((from) => from.count <= mostExchanged && this.exchangeFrom(from, end));
    }
  }

  private exchangeFrom(from: TentativeNode, end: number): boolean {
    const { board } = this;
    for (const own of removablePodsOf(board, from)) {
      for (const into of board.tentativeNodes) {
        if (into === from) continue;
        for (const other of removablePodsOf(board, into)) {
          if (board.work++ >= end) return false;
          if (other.unplaced.podClass !== own.unplaced.podClass && this.swap(own, from, other, into)) return true;
        }
      }
    }
    return false;
  }

  private swap(own: RemovablePod, from: TentativeNode, other: RemovablePod, into: TentativeNode): boolean {
    const { best, board } = this;
    best.begin();
    const isDone = own.take() && other.take() && this.putOn(into, own.unplaced) && this.putOn(from, other.unplaced);
    if (isDone) return best.accept(best.left);
    board.undo();
    return false;
  }

  /** Puts the pods of two tentative nodes in one wherever that costs no more: equal prices prefer fewer nodes. */
  join(units: number): void {
    const { board } = this;
    const end = board.work + units;
    for (let before = Infinity; board.tentativeNodes.length < before;) {
      before = board.tentativeNodes.length;
      for (let at = 0; at < board.tentativeNodes.length; at++) {
        this.joinOthers(board.tentativeNodes[at]!, at + 1, end);
        this.joinAlike(board.tentativeNodes[at]!, end);
      }
    }
  }

  /** Several that are alike in one: there may be no size for two of them. */
  private joinAlike(into: TentativeNode, end: number): void {
    const text = likeness(into);
    const others = this.board.tentativeNodes.filter((each) => each !== into && likeness(each) === text);
    for (const together of alikeTogether) {
      if (others.length < together - 1 || this.board.work >= end) return;
      if (this.joinInto(into, others.slice(0, together - 1))) return;
    }
  }

  /** Those from the `first`-th on. */
  private joinOthers(into: TentativeNode, first: number, end: number): void {
    const { tentativeNodes } = this.board;
    const refused = new Set<string>();
    for (let other = first; other < tentativeNodes.length && this.board.work < end;) {
      const text = likeness(tentativeNodes[other]!);
      if (!refused.has(text) && this.joinInto(into, [tentativeNodes[other]!])) continue;
      refused.add(text);
      other++;
    }
  }

  private joinInto(into: TentativeNode, from: readonly TentativeNode[]): boolean {
    const { best, board } = this;
    best.begin();
    const members = from.flatMap((each) =>
      each.members.map(({ podClass, levelIndex, pods }) => ({ podClass, levelIndex, pods: [...pods] })),
    );
    for (const each of from) board.remove(each);
    for (const { podClass, levelIndex, pods } of members) {
      for (const pod of pods) {
        if (board.insertInto(into, podClass, pod, levelIndex)) continue;
        board.undo();
        return false;
      }
    }
    return best.accept(best.left);
  }
}

/** Tentative nodes of equal text are the same but for their pods' names. */
const likeness = ({ row, members }: TentativeNode): string =>
  `${row}:${members.map(({ podClass, levelIndex, pods }) => `${podClass.index}.${levelIndex}.${pods.length}`).join()}`;

/** One pod of each kind that is on the host, those that ask for most first. */
function removablePodsOf(board: Board, host: TentativeNode | NodeState): RemovablePod[] {
  if ('members' in host) {
    return [...host.members].map((member) => ({
      unplaced: { podClass: member.podClass, pod: member.pods.at(-1)!, lastLevel: member.levelIndex },
      take: () => {
        if (!board.isFree(host, member)) return false;
        board.take(host, member);
        return true;
      },
    }));
  }
  const seen: PlacedPod[] = [];
  return host.placed!.flatMap((placed) => {
    if (seen.some(({ podClass, rules }) => podClass === placed.podClass && rules === placed.rules)) return [];
    seen.push(placed);
    const take = (): boolean => {
      if (!board.existing.isFree(host, placed)) return false;
      board.existing.take(host, placed);
      return true;
    };
    return [{ unplaced: board.unplacedOf(placed), take }];
  });
}
