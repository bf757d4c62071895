import type { PodClass } from '../compile/classes.js';
import type { NodeState } from '../place/node-states.js';
import { selectingOthers } from '../topology/rules.js';
import { Xorshift } from '../xorshift.js';
import type { Board } from './board.js';
import type { PlacementChoice } from './moves.js';
import type { ClassAtLevel, TentativeNode } from './tentative-node.js';
import type { Incumbent } from './incumbent.js';
import { insertAll, PlacingOrder, type UnplacedPod } from './unplaced-pods.js';

/** What is taken away to be placed anew. */
interface Area {
  readonly tentativeNodes?: readonly TentativeNode[];
  readonly nodes?: readonly NodeState[];
}

const modes = ['fill', 'cheap'] as const;
/** Pods on nodes that exist that are placed anew all together. */
const mostMoved = 400;
/** What was gained after so much work is worth looking for more until this many times as much is done. */
const patience = 2.5;
/** Rounds in which those left out go first, while none comes of it; and work for them. */
const mostComplaints = 30;
const complaintUnits = 100_000;

interface Effort {
  /** Rows that may be looked at. */
  readonly units: number;
  /** As far as that they are extended while there is something to gain; absent: not at all. */
  readonly most?: number;
  /** A plan that costs no more than this needs no search. */
  readonly target: number;
}

/**
 * Large neighbourhood search: takes a few nodes of a plan away, places their pods one by one again, and keeps what leaves fewer
 * pods out or costs less. Every rule is in force all the time. Ends with the units; equal inputs give equal results.
 */
export class Search {
  private readonly board: Board;
  private readonly random = new Xorshift(0x9e3779b9);
  private readonly order: PlacingOrder;
  /** How often pods of the class were left out; they go first. */
  private readonly complaints = new Map<PodClass, number>();
  /** Pods whose spread counts others that do not have it. */
  private readonly countOthers: ReadonlySet<PodClass>;

  constructor(private readonly best: Incumbent) {
    const { board } = best;
    this.board = board;
    this.order = new PlacingOrder(board.context.compiled);
    this.countOthers = countingOthers(board.required());
  }

  /** Places what it can of the pods left out, and moves no other. */
  addLeft(): void {
    if (this.best.left.length > 0) this.attempt({}, { mode: 'cheap' }, false);
  }

  run(effort: Effort): void {
    const { board } = this;
    const { units, target } = effort;
    const begun = board.work;
    const end = begun + units;
    const enough = (): boolean => this.best.isEnough(target);
    for (const choice of this.choices()) {
      if (board.work >= end || enough()) return;
      this.attempt(board, choice, false);
      const nodes = board.existing.occupied();
      if (nodes.length > 0 && podsOn(nodes) <= mostMoved)
        this.attempt({ tentativeNodes: board.tentativeNodes, nodes }, choice, false);
    }
    const spent = board.work - begun;
    this.lookAround({ units: units - spent, most: (effort.most ?? units) - spent, target });
    for (const choice of this.lastChoices()) {
      if (!enough() && this.attempt(board, choice, false)) this.lookAround(effort);
    }
    while (this.favourLeft(board.work + complaintUnits)) this.lookAround(effort);
  }

  /** Takes few nodes at a time away until nothing has come of it for long, the price is the target, or so many units are used. */
  lookAround({ units, most = units, target }: Effort): void {
    const { board } = this;
    const begun = board.work;
    let end = begun + units;
    let idle = 0;
    const mostIdle = 40 + 20 * (board.tentativeNodes.length + board.existing.occupied().length);
    while (
      board.work < end &&
      !this.best.isEnough(target) &&
      board.tentativeNodes.length + this.best.left.length > 0 &&
      idle < mostIdle
    ) {
      const choice: PlacementChoice = { mode: this.random.next() % 4 === 0 ? 'fill' : 'cheap', ...this.anyFavour() };
      const isBetter = this.attempt(this.pick(), choice, this.random.next() % 3 > 0);
      idle = isBetter ? 0 : idle + 1;
      if (isBetter) end = Math.min(begun + most, Math.max(end, begun + (board.work - begun) * patience));
      board.work += 20;
    }
  }

  /** Places everything anew again and again, those first that were most often left out; whether fewer are out in the end. */
  private favourLeft(end: number): boolean {
    const { board } = this;
    const before = this.best.left.length;
    const choices = this.choices();
    let left = this.best.left;
    for (let idle = 0; idle < mostComplaints && this.best.left.length > 0 && board.work < end; idle++) {
      for (const podClass of new Set(left.map((each) => each.podClass))) {
        this.complaints.set(podClass, (this.complaints.get(podClass) ?? 0) + 1);
      }
      const nodes = board.existing.occupied();
      const area = podsOn(nodes) <= mostMoved ? { tentativeNodes: board.tentativeNodes, nodes } : board;
      left = this.replace(area, choices[idle % choices.length]!, false);
      if (this.best.accept(left)) idle = -1;
    }
    this.complaints.clear();
    return this.best.left.length < before;
  }

  /** How everything may be placed anew: as Karpenter does, and with each domain in turn preferred. */
  private choices(): PlacementChoice[] {
    return modes.flatMap((mode): PlacementChoice[] => [
      { mode },
      ...this.domains().map(({ key, domain }) => ({ mode, favour: { key, domain, factor: 0.1 } })),
    ]);
  }

  /**
   * What is tried when nothing else helps any more: a plan made in one of these ways is improved less well, so it has to cost
   * less than the best of the others.
   */
  private lastChoices(): PlacementChoice[] {
    return [
      { mode: 'fill', anyWeight: true },
      ...(this.countOthers.size === 0 ? [] : modes.map((mode) => ({ mode, countersLast: true }))),
    ];
  }

  private known: readonly { key: string; domain: string }[] | undefined;

  /** Every domain of every topology key that some tentative node is bound by. */
  private domains(): readonly { key: string; domain: string }[] {
    if (this.known !== undefined) return this.known;
    const { compiled } = this.board.context;
    const keys = new Set(this.board.tentativeNodes.flatMap(({ pins }) => [...pins]));
    const found: { key: string; domain: string }[] = [];
    for (const key of [...keys].sort()) {
      const index = compiled.space.find(key);
      if (index === undefined) continue;
      const values = new Set(compiled.universe.profiles.map((profile) => profile.values[index]));
      for (const domain of [...values].sort()) if (domain !== undefined) found.push({ key, domain });
    }
    return (this.known = found);
  }

  private anyFavour(): Pick<PlacementChoice, 'favour'> {
    const domains = this.domains();
    if (domains.length === 0 || this.random.next() % 2 === 0) return {};
    return {
      favour: { ...domains[this.random.next() % domains.length]!, factor: this.random.next() % 2 === 0 ? 0.3 : 3 },
    };
  }

  /** Some tentative nodes at random, or all that hold pods of one class; now and then the pods of a node that exists with them. */
  private pick(): Area {
    const occupied = this.board.existing.occupied();
    if (occupied.length === 0) return { tentativeNodes: this.pickTentativeNodes() };
    const kind = this.random.next() % 3;
    if (kind > 0) return { tentativeNodes: this.pickTentativeNodes() };
    const nodes = new Set([occupied[this.random.next() % occupied.length]!]);
    if (this.random.next() % 2 === 0) nodes.add(occupied[this.random.next() % occupied.length]!);
    return { tentativeNodes: this.pickTentativeNodes(), nodes: [...nodes] };
  }

  private pickTentativeNodes(): TentativeNode[] {
    const { tentativeNodes } = this.board;
    if (tentativeNodes.length === 0) return [];
    const first = tentativeNodes[this.random.next() % tentativeNodes.length]!;
    if (this.random.next() % 4 === 0) {
      const { podClass } = first.members[this.random.next() % first.members.length]!;
      return tentativeNodes.filter(({ members }) => members.some((member) => member.podClass.shape === podClass.shape));
    }
    const chosen = new Set([first]);
    for (let more = this.random.next() % 4; more > 0; more--)
      chosen.add(tentativeNodes[this.random.next() % tentativeNodes.length]!);
    return [...chosen];
  }

  /** Takes the area away and places all that and what is left out anew; whether that is better. */
  private attempt(area: Area, choice: PlacementChoice, mixed: boolean): boolean {
    return this.best.accept(this.replace(area, choice, mixed));
  }

  /** Takes the tentative nodes, and the pods on these nodes, away and places all that and what is left out anew. Gives those left out. */
  private replace({ tentativeNodes = [], nodes = [] }: Area, choice: PlacementChoice, mixed: boolean): UnplacedPod[] {
    const { board } = this;
    this.best.begin();
    const unplaced = [...this.best.left];
    for (const tentative of [...tentativeNodes]) {
      for (const { podClass, pods, levelIndex } of tentative.members) {
        for (const pod of pods) unplaced.push({ podClass, pod, lastLevel: levelIndex });
      }
      board.remove(tentative);
    }
    for (const node of nodes) {
      for (const placed of [...node.placed!]) {
        unplaced.push(board.unplacedOf(placed));
        board.existing.take(node, placed);
      }
    }
    const order = this.inOrder(unplaced, mixed, choice.countersLast);
    return insertAll(order, ({ podClass, pod, lastLevel }) => board.insert(podClass, pod, lastLevel, choice));
  }

  /** Those that were left out before first, then as always; now and then smallest first, or in any order. */
  private inOrder(unplaced: readonly UnplacedPod[], mixed: boolean, countersLast = false): UnplacedPod[] {
    const { complaints, random } = this;
    const classes = this.board.context.compiled.queue.length;
    const kind = mixed ? random.next() % 3 : 0;
    const key = (rank: number): number => {
      if (kind === 1) return -rank;
      return kind === 2 ? rank + (random.next() % classes) : rank;
    };
    return this.order.of(unplaced, { complaints, key, ...(countersLast && { last: this.countOthers }) });
  }
}

function countingOthers(required: readonly ClassAtLevel[]): Set<PodClass> {
  const groups = selectingOthers(
    'spread',
    required.map(({ rules }) => rules),
  );
  const counts = ({ rules }: ClassAtLevel): boolean =>
    [...rules.spread, ...rules.hostSpread].some((group) => groups.has(group));
  return new Set(required.filter(counts).map(({ podClass }) => podClass));
}

const podsOn = (nodes: readonly NodeState[]): number => nodes.reduce((sum, { pods }) => sum + pods.length, 0);
