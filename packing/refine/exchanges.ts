import type { NodeState, Landed } from '../place/node-states.js';
import type { Board, Draft } from './board.js';
import type { Incumbent } from './incumbent.js';
import { insertAll, PlacingOrder, type Loose } from './loose.js';

/** A pod on a node, and how to take it away: false where others are there for it. */
interface Guest {
  readonly loose: Loose;
  readonly take: () => boolean;
}

/** How many pods make room for others at once. */
const mostGuests = 6;
/** Drafts with more pods are none that exchange a pod pays for. */
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
      for (const host of [...board.drafts, ...board.berths.occupied()]) {
        const guests = guestsOf(board, host);
        for (let i = 0; i < guests.length && best.left.length > 0; i++) {
          if (board.work >= end) return best.left.length < before;
          if (!this.makeRoomOn(host, guests.slice(i, i + 1)) && !this.makeRoomOn(host, guests.slice(i, i + mostGuests)))
            continue;
          progress = true;
          break;
        }
      }
    }
    return best.left.length < before;
  }

  /** Takes the guests off the host one by one until pods left out come in; whether fewer are out in the end. */
  private makeRoomOn(host: Draft | NodeState, guests: readonly Guest[]): boolean {
    const { best, board } = this;
    best.begin();
    const out: Loose[] = [];
    let waiting = this.order.of(best.left).reverse();
    board.work += waiting.length;
    for (const guest of guests) {
      if (!guest.take()) break;
      out.push(guest.loose);
      const rest = insertAll(waiting, (loose) => this.putOn(host, loose));
      const isIn = rest.length < waiting.length;
      waiting = rest;
      if (isIn) break;
    }
    if (waiting.length === best.left.length) {
      board.undo();
      return false;
    }
    if ('members' in host && host.members.length === 0) board.remove(host);
    const stay = insertAll(this.order.of(out), ({ podClass, pod, mostRung }) =>
      board.insert(podClass, pod, mostRung, { mode: 'cheap' }),
    );
    return best.accept([...waiting, ...stay]);
  }

  private putOn(host: Draft | NodeState, { podClass, pod, mostRung }: Loose): boolean {
    return this.board.insertInto(host, podClass, pod, mostRung);
  }

  /** Exchanges pods of drafts with few for others one by one, where a draft then costs less. */
  exchange(units: number): void {
    const { board } = this;
    const end = board.work + units;
    for (let found = true; found && board.work < end;) {
      found = board.drafts.some((from) => from.count <= mostExchanged && this.exchangeFrom(from, end));
    }
  }

  private exchangeFrom(from: Draft, end: number): boolean {
    const { board } = this;
    for (const own of guestsOf(board, from)) {
      for (const into of board.drafts) {
        if (into === from) continue;
        for (const other of guestsOf(board, into)) {
          if (board.work++ >= end) return false;
          if (other.loose.podClass !== own.loose.podClass && this.swap(own, from, other, into)) return true;
        }
      }
    }
    return false;
  }

  private swap(own: Guest, from: Draft, other: Guest, into: Draft): boolean {
    const { best, board } = this;
    best.begin();
    const isDone = own.take() && other.take() && this.putOn(into, own.loose) && this.putOn(from, other.loose);
    if (isDone) return best.accept(best.left);
    board.undo();
    return false;
  }

  /** Puts the pods of two drafts in one wherever that costs no more: equal prices prefer fewer nodes. */
  join(units: number): void {
    const { board } = this;
    const end = board.work + units;
    for (let before = Infinity; board.drafts.length < before;) {
      before = board.drafts.length;
      for (let at = 0; at < board.drafts.length; at++) this.joinOthers(board.drafts[at]!, at + 1, end);
    }
  }

  /** Those from the `first`-th on. */
  private joinOthers(into: Draft, first: number, end: number): void {
    const { drafts } = this.board;
    const refused = new Set<string>();
    for (let other = first; other < drafts.length && this.board.work < end;) {
      const text = likeness(drafts[other]!);
      if (!refused.has(text) && this.joinInto(into, drafts[other]!)) continue;
      refused.add(text);
      other++;
    }
  }

  private joinInto(into: Draft, from: Draft): boolean {
    const { best, board } = this;
    best.begin();
    const members = from.members.map(({ podClass, rung, pods }) => ({ podClass, rung, pods: [...pods] }));
    board.remove(from);
    for (const { podClass, rung, pods } of members) {
      for (const pod of pods) {
        if (board.insertInto(into, podClass, pod, rung)) continue;
        board.undo();
        return false;
      }
    }
    return best.accept(best.left);
  }
}

/** Drafts of equal text are the same but for their pods' names. */
const likeness = ({ row, members }: Draft): string =>
  `${row}:${members.map(({ podClass, rung, pods }) => `${podClass.index}.${rung}.${pods.length}`).join()}`;

/** One pod of each kind that is on the host, those that ask for most first. */
function guestsOf(board: Board, host: Draft | NodeState): Guest[] {
  if ('members' in host) {
    return [...host.members].map((member) => ({
      loose: { podClass: member.podClass, pod: member.pods.at(-1)!, mostRung: member.rung },
      take: () => {
        if (!board.isFree(host, member)) return false;
        board.take(host, member);
        return true;
      },
    }));
  }
  const seen: Landed[] = [];
  return host.landed!.flatMap((landed) => {
    if (seen.some(({ podClass, rules }) => podClass === landed.podClass && rules === landed.rules)) return [];
    seen.push(landed);
    const take = (): boolean => {
      if (!board.berths.isFree(host, landed)) return false;
      board.berths.take(host, landed);
      return true;
    };
    return [{ loose: board.looseOf(landed), take }];
  });
}
