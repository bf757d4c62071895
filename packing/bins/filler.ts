import type { CompiledProblem } from './compile.js';

/** Which pods a bin may admit. */
export interface BinAdmission {
  /** Remaining pods, by item. */
  left: Int32Array;
  /** If given, only items of sets that have `rank` here. */
  sets: Uint8Array | undefined;
  rank: number;
}

/** CPU, memory and pods. Most problems have no other dimension; these three are handled without a loop. */
const fewDims = 3;

/** One bin while it is filled. Scratch space is reused: read `items` and `count` before the next `begin`. */
export class Filler {
  /** The items inside, in order of arrival: the first `size` entries. */
  readonly items: Int32Array;
  size = 0;
  readonly count: Int32Array;
  readonly residual: Float64Array;
  private readonly capUse: Int32Array;
  private readonly capsTouched: Int32Array;
  private caps = 0;
  private readonly blocked: Int32Array;
  /** Items whose conflicts are counted in `blocked`. */
  private readonly blockers: Int32Array;
  private blocking = 0;
  private readonly kinds: Int32Array;
  private readonly weight: Float64Array;
  private readonly slack: Float64Array;
  /** Twice the free amounts beyond the slack. */
  private readonly gap: Float64Array;
  /** Demand of a pod of each kind, in rows of `width`, at least `fewDims`. */
  private readonly needs: Float64Array;
  private readonly width: number;

  constructor(private readonly compiled: CompiledProblem) {
    this.items = new Int32Array(compiled.items);
    this.capsTouched = new Int32Array(compiled.capMax.length);
    this.blockers = new Int32Array(compiled.items);
    this.width = Math.max(compiled.dims, fewDims);
    this.gap = new Float64Array(this.width);
    this.needs = needsOf(compiled, this.width);
    this.count = new Int32Array(compiled.items);
    this.residual = new Float64Array(this.width);
    this.capUse = new Int32Array(compiled.capMax.length);
    this.blocked = new Int32Array(compiled.items);
    this.kinds = new Int32Array(compiled.kinds);
    this.slack = new Float64Array(this.width);
    this.weight = new Float64Array(this.width);
  }

  /** Empties the bin and gives it the amounts at `capacity[at]` onwards. */
  begin(capacity: Float64Array, at: number): void {
    const { items, count, residual, capUse, capsTouched, blockers } = this;
    for (let k = 0; k < this.size; k++) count[items[k]!] = 0;
    this.size = 0;
    for (let k = 0; k < this.caps; k++) capUse[capsTouched[k]!] = 0;
    this.caps = 0;
    for (let k = 0; k < this.blocking; k++) this.block(blockers[k]!, -1);
    this.blocking = 0;
    const { dims } = this.compiled;
    for (let d = 0; d < dims; d++) residual[d] = capacity[at + d]!;
  }

  /** How many more pods of `item` caps and conflicts admit. Resources are not checked. */
  admits(item: number): number {
    if (this.blocked[item]! > 0) return 0;
    const { capsOf, capMax } = this.compiled;
    let most = 0x7fffffff;
    const caps = capsOf[item]!;
    for (let k = 0; k < caps.length; k++) {
      const room = capMax[caps[k]!]! - this.capUse[caps[k]!]!;
      if (room < most) most = room;
    }
    return most;
  }

  /** How many more pods of `shape` the free amounts hold, at most `limit`. */
  fits(shape: number, limit: number): number {
    const { dims, demand } = this.compiled;
    let most = limit;
    for (let d = 0; d < dims; d++) {
      const amount = demand[shape * dims + d]!;
      if (amount * most > this.residual[d]!) {
        most = Math.floor(this.residual[d]! / amount);
        while (amount * most > this.residual[d]!) most--;
      }
    }
    return Math.max(0, most);
  }

  add(item: number, pods: number): void {
    const { dims, demand, shapeOf, capsOf, conflictsOf } = this.compiled;
    const { residual, capUse, count } = this;
    const at = shapeOf[item]! * dims;
    for (let d = 0; d < dims; d++) residual[d] = residual[d]! - pods * demand[at + d]!;
    if (count[item] === 0) {
      this.items[this.size++] = item;
      if (conflictsOf[item]!.length > 0) {
        this.block(item, 1);
        this.blockers[this.blocking++] = item;
      }
    }
    count[item] = count[item]! + pods;
    const caps = capsOf[item]!;
    for (let k = 0; k < caps.length; k++) {
      const cap = caps[k]!;
      if (capUse[cap] === 0) this.capsTouched[this.caps++] = cap;
      capUse[cap] = capUse[cap]! + pods;
    }
  }

  /**
   * Sets the amounts that `grow` aims at, and the weight of each dimension. The target is below the capacity where the
   * remaining pods need less of one resource than of another.
   */
  aim(target: Float64Array, importance: Float64Array): void {
    const { slack, weight, residual } = this;
    for (let d = 0; d < target.length; d++) {
      slack[d] = residual[d]! - target[d]!;
      weight[d] = target[d]! > 0 ? importance[d]! / (target[d]! * target[d]!) : 0;
    }
  }

  /**
   * Adds pods of `candidates` (kinds) until nothing fits: each time the kind that leaves the free amounts nearest to
   * the target, in the weighted square norm. Large bins take several pods at a time.
   */
  grow(candidates: Int32Array, candidateCount: number, admit: BinAdmission): void {
    const { kinds, residual, weight, slack, gap, needs, width } = this;
    let live = candidateCount;
    for (let k = 0; k < live; k++) kinds[k] = candidates[k]!;
    while (live > 0) {
      let kept = 0;
      let best = -1;
      let highest = -Infinity;
      for (let d = 0; d < width; d++) gap[d] = 2 * (residual[d]! - slack[d]!);
      const room0 = residual[0]!;
      const room1 = residual[1]!;
      const room2 = residual[2]!;
      const weight0 = weight[0]!;
      const weight1 = weight[1]!;
      const weight2 = weight[2]!;
      const gap0 = gap[0]!;
      const gap1 = gap[1]!;
      const gap2 = gap[2]!;
      for (let k = 0; k < live; k++) {
        const kind = kinds[k]!;
        const at = kind * width;
        const need0 = needs[at]!;
        const need1 = needs[at + 1]!;
        const need2 = needs[at + 2]!;
        if (need0 > room0 || need1 > room1 || need2 > room2) continue;
        let score = weight0 * need0 * (gap0 - need0) + weight1 * need1 * (gap1 - need1);
        score += weight2 * need2 * (gap2 - need2);
        let d = fewDims;
        for (; d < width; d++) {
          const need = needs[at + d]!;
          if (need > residual[d]!) break;
          score += weight[d]! * need * (gap[d]! - need);
        }
        if (d < width) continue;
        if (score > highest) {
          highest = score;
          best = kept;
        }
        kinds[kept++] = kind;
      }
      live = kept;
      if (best < 0) break;
      if (!this.take(kinds[best]!, admit)) {
        for (let k = best + 1; k < live; k++) kinds[k - 1] = kinds[k]!;
        live--;
      }
    }
  }

  /** Adds some pods of the first item of `kind` that is admitted; returns false if none is. */
  private take(kind: number, admit: BinAdmission): boolean {
    const { shapeStart, kindStart, setOf } = this.compiled;
    const { left, sets } = admit;
    for (let shape = kindStart[kind]!; shape < kindStart[kind + 1]!; shape++) {
      if (sets !== undefined && sets[setOf[shape]!] !== admit.rank) continue;
      for (let item = shapeStart[shape]!; item < shapeStart[shape + 1]!; item++) {
        let most = left[item]! - this.count[item]!;
        if (most <= 0) continue;
        most = Math.min(most, this.admits(item));
        if (most <= 0) continue;
        this.add(item, Math.max(1, Math.min(most, this.fits(shape, 0x7fffffff) >> 3)));
        return true;
      }
    }
    return false;
  }

  private block(item: number, by: number): void {
    const conflicts = this.compiled.conflictsOf[item]!;
    for (let k = 0; k < conflicts.length; k++) this.blocked[conflicts[k]!] = this.blocked[conflicts[k]!]! + by;
  }
}

function needsOf({ dims, demand, kinds, kindStart }: CompiledProblem, width: number): Float64Array {
  const needs = new Float64Array(kinds * width);
  for (let kind = 0; kind < kinds; kind++) {
    for (let d = 0; d < dims; d++) needs[kind * width + d] = demand[kindStart[kind]! * dims + d]!;
  }
  return needs;
}
