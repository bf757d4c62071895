import type { Pod } from '../../api/kubernetes.js';
import { isBufferPod } from '../compile/buffers.js';
import type { PodClass } from '../compile/classes.js';
import { selectsOwn } from '../place/host-rules.js';
import type { Group } from '../topology/groups.js';
import type { Board, Draft, Taste } from './board.js';

/** A pod that is to be placed, and the last rung that it may fall to. */
export interface Loose {
  readonly podClass: PodClass;
  readonly pod: Pod;
  readonly mostRung: number;
}

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

  constructor(
    private readonly board: Board,
    private left: Loose[],
  ) {
    this.score = this.scoreOf(left);
  }

  /** Pods that found no place. */
  get unplaced(): readonly Loose[] {
    return this.left;
  }

  /** Places what it can of the pods left out, and moves no other. */
  addLeft(): void {
    if (this.left.length > 0) this.attempt([], { mode: 'cheap' }, false);
  }

  run({ units, target }: Effort): void {
    const { board } = this;
    const end = board.work + units;
    const enough = (): boolean => this.score.left + this.score.buffers === 0 && this.score.price <= target;
    for (const taste of this.tastes()) {
      if (board.work >= end || enough()) return;
      this.attempt(board.drafts, taste, false);
    }
    let idle = 0;
    while (board.work < end && !enough() && board.drafts.length > 0 && idle < 40 + 20 * board.drafts.length) {
      const taste: Taste = { mode: this.next() % 4 === 0 ? 'fill' : 'cheap', ...this.anyFavour() };
      idle = this.attempt(this.pick(), taste, this.next() % 3 > 0) ? 0 : idle + 1;
      board.work += 20;
    }
  }

  /** How everything may be placed anew: as Karpenter does, and with each domain in turn preferred. */
  private tastes(): Taste[] {
    const modes = ['fill', 'cheap'] as const;
    return modes.flatMap((mode) => [
      { mode },
      ...this.domains().map(({ key, domain }): Taste => ({ mode, favour: { key, domain, factor: 0.1 } })),
    ]);
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

  /** Some drafts at random, or all that hold pods of one class. */
  private pick(): Draft[] {
    const { drafts } = this.board;
    const first = drafts[this.next() % drafts.length]!;
    if (this.next() % 4 === 0) {
      const { podClass } = first.members[this.next() % first.members.length]!;
      return drafts.filter(({ members }) => members.some((member) => member.podClass.shape === podClass.shape));
    }
    const chosen = new Set([first]);
    for (let more = this.next() % 4; more > 0; more--) chosen.add(drafts[this.next() % drafts.length]!);
    return [...chosen];
  }

  /** Takes the drafts away and places their pods and those left out anew; whether that is better. */
  private attempt(drafts: readonly Draft[], taste: Taste, mixed: boolean): boolean {
    const { board } = this;
    const before = this.broken();
    const loose = [...this.left];
    for (const draft of [...drafts]) {
      for (const { podClass, pods, rung } of draft.members) {
        for (const pod of pods) loose.push({ podClass, pod, mostRung: rung });
      }
      board.remove(draft);
    }
    const left: Loose[] = [];
    const failed = new Set<PodClass>();
    for (const each of this.inOrder(loose, mixed)) {
      if (failed.has(each.podClass) || !board.insert(each.podClass, each.pod, each.mostRung, taste)) {
        left.push(each);
        failed.add(each.podClass);
      }
    }
    const score = this.scoreOf(left);
    if (!isBetter(score, this.score) || this.breaksMore(before)) {
      board.undo();
      return false;
    }
    board.commit();
    this.score = score;
    this.left = left;
    return true;
  }

  /** Largest first, company last; now and then smallest first, or in any order. */
  private inOrder(loose: readonly Loose[], mixed: boolean): Loose[] {
    const { compiled } = this.board.context;
    const rank = new Map(compiled.queue.map((podClass, i) => [podClass, i]));
    const kind = mixed ? this.next() % 3 : 0;
    const key = ({ podClass }: Loose): number => {
      const place = rank.get(podClass)!;
      if (kind === 1) return -place;
      return kind === 2 ? place + (this.next() % compiled.queue.length) : place;
    };
    const later = ({ podClass: { shape } }: Loose): number =>
      compiled.ladders[shape.index]!.some(({ affinity }) => affinity.length > 0) ? 1 : 0;
    return loose
      .map((each, i) => ({ each, i, key: key(each), later: later(each) }))
      .sort((a, b) => a.later - b.later || a.key - b.key || a.i - b.i)
      .map(({ each }) => each);
  }

  private scoreOf(left: readonly Loose[]): Score {
    const buffers = left.filter(({ podClass }) => isBufferPod(podClass.shape.exemplar)).length;
    const { drafts } = this.board;
    return { left: left.length - buffers, buffers, price: this.board.price(), nodes: drafts.length };
  }

  /** Spread and affinity that do not hold as counts are now, with the least count of each. */
  private broken(): Map<string, number> {
    const { ledger, compiled } = this.board.context;
    const found = new Map<string, number>();
    const look = (group: Group, own: boolean, domain: string | undefined): void => {
      if (domain === undefined || group.hostname) return;
      if (group.kind === 'affinity' && ledger.count(group, domain) === 0) found.set(`${group.index} ${domain}`, -1);
      if (group.kind === 'spread' && own && ledger.count(group, domain) - ledger.least(group) > group.maxSkew) {
        found.set(`${group.index} ${domain}`, ledger.least(group));
      }
    };
    const seen = new Set<string>();
    for (const draft of this.board.drafts) {
      const { values } = draft.profiles[0]!;
      for (const { rules } of draft.members) {
        for (const group of [...rules.spread, ...rules.affinity]) {
          const domain = values[compiled.space.find(group.key)!];
          const text = `${group.index} ${domain ?? ''}`;
          if (seen.has(text)) continue;
          seen.add(text);
          look(group, selectsOwn(rules, group), domain);
        }
      }
    }
    for (const { kind, ruled } of this.board.context.nodes) {
      for (const { rules } of ruled ?? []) {
        for (const group of [...rules.spread, ...rules.affinity]) {
          look(group, selectsOwn(rules, group), kind.values[compiled.space.find(group.key)!]);
        }
      }
    }
    return found;
  }

  /** Whether something does not hold that held before, or holds less. */
  private breaksMore(before: ReadonlyMap<string, number>): boolean {
    for (const [text, least] of this.broken()) {
      const known = before.get(text);
      if (known === undefined || known < 0 || least < known) return true;
    }
    return false;
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

function isBetter(a: Score, b: Score): boolean {
  if (a.left !== b.left) return a.left < b.left;
  if (a.buffers !== b.buffers) return a.buffers < b.buffers;
  if (Math.abs(a.price - b.price) > 1e-9) return a.price < b.price;
  return a.nodes < b.nodes;
}
