import type { Pod } from '../../api/kubernetes.js';
import { isBufferPod } from '../compile/buffers.js';
import type { PodClass } from '../compile/classes.js';
import { wantsCompany } from '../compile/ladder.js';
import type { Landed, NodeState } from '../place/node-states.js';
import type { Group } from '../topology/groups.js';
import { selectingOthers } from '../topology/rules.js';
import type { Board, Draft, Standing, Taste } from './board.js';
import { RuleCheck, type Broken } from './rule-check.js';

/** A pod that is to be placed, and the last rung that it may fall to. */
export interface Loose {
  readonly podClass: PodClass;
  readonly pod: Pod;
  readonly mostRung: number;
}

/** What is taken away to be placed anew. */
interface Area {
  readonly drafts?: readonly Draft[];
  readonly nodes?: readonly NodeState[];
}

/** A pod on a node, and how to take it away: false where others are there for it. */
interface Guest {
  readonly loose: Loose;
  readonly take: () => boolean;
}

const modes = ['fill', 'cheap'] as const;
/** How many pods make room for others at once. */
const mostGuests = 6;
/** Pods on nodes that exist that are placed anew all together. */
const mostMoved = 400;
/** Drafts with more pods are none that exchange a pod pays for. */
const mostExchanged = 8;
/** Rounds in which those left out go first, while none comes of it; and work for them. */
const mostComplaints = 30;
const complaintUnits = 100_000;

/** What plans are compared by: pods left out count most, those of buffers less, then the price, then the nodes. */
interface Score {
  readonly left: number;
  readonly buffers: number;
  readonly price: number;
  readonly nodes: number;
}

interface Effort {
  /** Rows that may be looked at. */
  readonly units: number;
  /** A plan that costs no more than this needs no search. */
  readonly target: number;
}

/**
 * Large neighbourhood search: takes a few nodes of a plan away, places their pods one by one again, and keeps what leaves fewer
 * pods out or costs less. Every rule is in force all the time. Ends with the units; equal inputs give equal results.
 */
export class Search {
  private state = 0x9e3779b9;
  private score: Score;
  /** What did not hold after the last change that was made lasting. */
  private brokenBefore: Broken | undefined;
  /** How often pods of the class were left out; they go first. */
  private readonly complaints = new Map<PodClass, number>();
  private readonly rules: RuleCheck;
  /** Pods whose spread counts others that do not have it. */
  private readonly countOthers: ReadonlySet<PodClass>;

  constructor(
    private readonly board: Board,
    private left: Loose[],
  ) {
    this.score = this.scoreOf(left);
    const { queue, ladders } = board.context.compiled;
    const standings = queue.map((podClass) => board.standing(podClass, ladders[podClass.shape.index]!.length - 1));
    const required = standings.map(({ rules }) => rules);
    this.rules = new RuleCheck(board, required);
    this.countOthers = countingAny(standings, selectingOthers('spread', required));
  }

  /** Pods that found no place. */
  get unplaced(): readonly Loose[] {
    return this.left;
  }

  /** Places what it can of the pods left out, and moves no other. */
  addLeft(): void {
    if (this.left.length > 0) this.attempt({}, { mode: 'cheap' }, false);
  }

  /**
   * Has others make room for pods left out where that leaves fewer out: they go elsewhere, or one large pod stays out for
   * several small ones. Whether that came about.
   */
  makeRoom(units: number): boolean {
    const { board } = this;
    const end = board.work + units;
    const before = this.left.length;
    for (let progress = true; progress;) {
      progress = false;
      for (const host of [...board.drafts, ...board.berths.occupied()]) {
        const guests = guestsOf(board, host);
        for (let i = 0; i < guests.length && this.left.length > 0; i++) {
          if (board.work >= end) return this.left.length < before;
          if (!this.makeRoomOn(host, guests.slice(i, i + 1)) && !this.makeRoomOn(host, guests.slice(i, i + mostGuests)))
            continue;
          progress = true;
          break;
        }
      }
    }
    return this.left.length < before;
  }

  /** Takes the guests off the host one by one until pods left out come in; whether fewer are out in the end. */
  private makeRoomOn(host: Draft | NodeState, guests: readonly Guest[]): boolean {
    const { board } = this;
    this.brokenBefore ??= this.rules.broken();
    const out: Loose[] = [];
    let waiting = this.smallestFirst(this.left);
    board.work += waiting.length;
    for (const guest of guests) {
      if (!guest.take()) break;
      out.push(guest.loose);
      const rest = this.insertAll(waiting, (loose) => this.putOn(host, loose));
      const isIn = rest.length < waiting.length;
      waiting = rest;
      if (isIn) break;
    }
    if (waiting.length === this.left.length) {
      board.undo();
      return false;
    }
    if ('members' in host && host.members.length === 0) board.remove(host);
    const stay = this.insertAll(this.inOrder(out, false), ({ podClass, pod, mostRung }) =>
      board.insert(podClass, pod, mostRung, { mode: 'cheap' }),
    );
    return this.accept([...waiting, ...stay]);
  }

  private putOn(host: Draft | NodeState, { podClass, pod, mostRung }: Loose): boolean {
    return this.board.insertInto(host, podClass, pod, mostRung);
  }

  private smallestFirst(loose: readonly Loose[]): Loose[] {
    return this.inOrder(loose, false).reverse();
  }

  /** Those that found no place; once one of a class has none, no other of it is tried. */
  private insertAll(loose: readonly Loose[], insert: (each: Loose) => boolean): Loose[] {
    const failed = new Set<PodClass>();
    return loose.filter((each) => {
      if (!failed.has(each.podClass) && insert(each)) return false;
      failed.add(each.podClass);
      return true;
    });
  }

  run({ units, target }: Effort): void {
    const { board } = this;
    const end = board.work + units;
    const enough = (): boolean => this.score.left + this.score.buffers === 0 && this.score.price <= target;
    for (const taste of this.tastes()) {
      if (board.work >= end || enough()) return;
      this.attempt(board, taste, false);
      const nodes = board.berths.occupied();
      if (nodes.length > 0 && podsOn(nodes) <= mostMoved) this.attempt({ drafts: board.drafts, nodes }, taste, false);
    }
    this.lookAround(end, enough);
    for (const taste of this.lastTastes()) {
      if (!enough() && this.attempt(board, taste, false)) this.lookAround(board.work + units, enough);
    }
    while (this.favourLeft(board.work + complaintUnits)) this.lookAround(board.work + units, enough);
  }

  /** Takes few nodes at a time away until nothing has come of it for long. */
  private lookAround(end: number, enough: () => boolean): void {
    const { board } = this;
    let idle = 0;
    const mostIdle = 40 + 20 * (board.drafts.length + board.berths.occupied().length);
    while (board.work < end && !enough() && board.drafts.length + this.left.length > 0 && idle < mostIdle) {
      const taste: Taste = { mode: this.next() % 4 === 0 ? 'fill' : 'cheap', ...this.anyFavour() };
      idle = this.attempt(this.pick(), taste, this.next() % 3 > 0) ? 0 : idle + 1;
      board.work += 20;
    }
  }

  /** Places everything anew again and again, those first that were most often left out; whether fewer are out in the end. */
  private favourLeft(end: number): boolean {
    const { board } = this;
    const before = this.left.length;
    const tastes = this.tastes();
    let left = this.left;
    for (let idle = 0; idle < mostComplaints && this.left.length > 0 && board.work < end; idle++) {
      for (const podClass of new Set(left.map((each) => each.podClass))) {
        this.complaints.set(podClass, (this.complaints.get(podClass) ?? 0) + 1);
      }
      const nodes = board.berths.occupied();
      const area = podsOn(nodes) <= mostMoved ? { drafts: board.drafts, nodes } : board;
      left = this.replace(area, tastes[idle % tastes.length]!, false);
      if (this.accept(left)) idle = -1;
    }
    this.complaints.clear();
    return this.left.length < before;
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
    const { board } = this;
    this.brokenBefore ??= this.rules.broken();
    const isDone = own.take() && other.take() && this.putOn(into, own.loose) && this.putOn(from, other.loose);
    if (isDone) return this.accept(this.left);
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
    const { board } = this;
    this.brokenBefore ??= this.rules.broken();
    const members = from.members.map(({ podClass, rung, pods }) => ({ podClass, rung, pods: [...pods] }));
    board.remove(from);
    for (const { podClass, rung, pods } of members) {
      for (const pod of pods) {
        if (board.insertInto(into, podClass, pod, rung)) continue;
        board.undo();
        return false;
      }
    }
    return this.accept(this.left);
  }

  /** How everything may be placed anew: as Karpenter does, and with each domain in turn preferred. */
  private tastes(): Taste[] {
    return modes.flatMap((mode): Taste[] => [
      { mode },
      ...this.domains().map(({ key, domain }) => ({ mode, favour: { key, domain, factor: 0.1 } })),
    ]);
  }

  /**
   * What is tried when nothing else helps any more: a plan made in one of these ways is improved less well, so it has to cost
   * less than the best of the others.
   */
  private lastTastes(): Taste[] {
    return [
      { mode: 'fill', anyWeight: true },
      ...(this.countOthers.size === 0 ? [] : modes.map((mode) => ({ mode, countersLast: true }))),
    ];
  }

  private known: readonly { key: string; domain: string }[] | undefined;

  /** Every domain of every topology key that some draft is bound by. */
  private domains(): readonly { key: string; domain: string }[] {
    if (this.known !== undefined) return this.known;
    const { compiled } = this.board.context;
    const keys = new Set(this.board.drafts.flatMap(({ pins }) => [...pins]));
    const found: { key: string; domain: string }[] = [];
    for (const key of [...keys].sort()) {
      const index = compiled.space.find(key);
      if (index === undefined) continue;
      const values = new Set(compiled.universe.profiles.map((profile) => profile.values[index]));
      for (const domain of [...values].sort()) if (domain !== undefined) found.push({ key, domain });
    }
    return (this.known = found);
  }

  private anyFavour(): Pick<Taste, 'favour'> {
    const domains = this.domains();
    if (domains.length === 0 || this.next() % 2 === 0) return {};
    return { favour: { ...domains[this.next() % domains.length]!, factor: this.next() % 2 === 0 ? 0.3 : 3 } };
  }

  /** Some drafts at random, or all that hold pods of one class; now and then the pods of a node that exists with them. */
  private pick(): Area {
    const occupied = this.board.berths.occupied();
    if (occupied.length === 0) return { drafts: this.pickDrafts() };
    const kind = this.next() % 3;
    if (kind > 0) return { drafts: this.pickDrafts() };
    const nodes = new Set([occupied[this.next() % occupied.length]!]);
    if (this.next() % 2 === 0) nodes.add(occupied[this.next() % occupied.length]!);
    return { drafts: this.pickDrafts(), nodes: [...nodes] };
  }

  private pickDrafts(): Draft[] {
    const { drafts } = this.board;
    if (drafts.length === 0) return [];
    const first = drafts[this.next() % drafts.length]!;
    if (this.next() % 4 === 0) {
      const { podClass } = first.members[this.next() % first.members.length]!;
      return drafts.filter(({ members }) => members.some((member) => member.podClass.shape === podClass.shape));
    }
    const chosen = new Set([first]);
    for (let more = this.next() % 4; more > 0; more--) chosen.add(drafts[this.next() % drafts.length]!);
    return [...chosen];
  }

  /** Takes the area away and places all that and what is left out anew; whether that is better. */
  private attempt(area: Area, taste: Taste, mixed: boolean): boolean {
    return this.accept(this.replace(area, taste, mixed));
  }

  /** Takes the drafts, and the pods on these nodes, away and places all that and what is left out anew. Gives those left out. */
  private replace({ drafts = [], nodes = [] }: Area, taste: Taste, mixed: boolean): Loose[] {
    const { board } = this;
    this.brokenBefore ??= this.rules.broken();
    const loose = [...this.left];
    for (const draft of [...drafts]) {
      for (const { podClass, pods, rung } of draft.members) {
        for (const pod of pods) loose.push({ podClass, pod, mostRung: rung });
      }
      board.remove(draft);
    }
    for (const node of nodes) {
      for (const landed of [...node.landed!]) {
        loose.push(board.looseOf(landed));
        board.berths.take(node, landed);
      }
    }
    const order = this.inOrder(loose, mixed, taste.countersLast);
    return this.insertAll(order, ({ podClass, pod, mostRung }) => board.insert(podClass, pod, mostRung, taste));
  }

  /** Makes what was done lasting where it is better, and takes it back otherwise. */
  private accept(left: Loose[]): boolean {
    const { board, brokenBefore } = this;
    const score = this.scoreOf(left);
    if (!isBetter(score, this.score) || this.rules.breaksMore(brokenBefore!, isFuller(score, this.score))) {
      board.undo();
      return false;
    }
    board.commit();
    this.brokenBefore = undefined;
    this.score = score;
    this.left = left;
    return true;
  }

  /** Those that were left out first, then largest first, company last; now and then smallest first, or in any order. */
  private inOrder(loose: readonly Loose[], mixed: boolean, countersLast = false): Loose[] {
    const { compiled } = this.board.context;
    const rank = new Map(compiled.queue.map((podClass, i) => [podClass, i]));
    const kind = mixed ? this.next() % 3 : 0;
    const key = ({ podClass }: Loose): number => {
      const place = rank.get(podClass)!;
      if (kind === 1) return -place;
      return kind === 2 ? place + (this.next() % compiled.queue.length) : place;
    };
    const later = ({ podClass }: Loose): number => {
      if (countersLast && this.countOthers.has(podClass)) return 2;
      return compiled.ladders[podClass.shape.index]!.some(wantsCompany) ? 1 : 0;
    };
    const complaints = ({ podClass }: Loose): number => this.complaints.get(podClass) ?? 0;
    return loose
      .map((each, i) => ({ each, i, complaints: complaints(each), key: key(each), later: later(each) }))
      .sort((a, b) => b.complaints - a.complaints || a.later - b.later || a.key - b.key || a.i - b.i)
      .map(({ each }) => each);
  }

  private scoreOf(left: readonly Loose[]): Score {
    const buffers = left.filter(({ podClass }) => isBufferPod(podClass.shape.exemplar)).length;
    const { drafts } = this.board;
    return { left: left.length - buffers, buffers, price: this.board.price(), nodes: drafts.length };
  }

  /** Xorshift: the same numbers for the same problem. */
  private next(): number {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x | 0;
    return x & 0x7fffffff;
  }
}

/** Those whose spread is one of these rules. */
function countingAny(standings: readonly Standing[], groups: ReadonlySet<Group>): Set<PodClass> {
  const counts = ({ rules }: Standing): boolean =>
    [...rules.spread, ...rules.hostSpread].some((group) => groups.has(group));
  return new Set(standings.filter(counts).map(({ podClass }) => podClass));
}

/** Drafts of equal text are the same but for their pods' names. */
const likeness = ({ row, members }: Draft): string =>
  `${row}:${members.map(({ podClass, rung, pods }) => `${podClass.index}.${rung}.${pods.length}`).join()}`;

const podsOn = (nodes: readonly NodeState[]): number => nodes.reduce((sum, { pods }) => sum + pods.length, 0);

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

/** Whether more pods have a place. */
const isFuller = (a: Score, b: Score): boolean => (a.left === b.left ? a.buffers < b.buffers : a.left < b.left);

function isBetter(a: Score, b: Score): boolean {
  if (a.left !== b.left || a.buffers !== b.buffers) return isFuller(a, b);
  if (Math.abs(a.price - b.price) > 1e-9) return a.price < b.price;
  return a.nodes < b.nodes;
}
