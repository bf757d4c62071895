import { compareText } from '../../core/text.js';
import type { FleetNode } from './fleet.js';
import type { Rejection } from './types.js';

/** How many are kept, for people to see the alternatives. */
const most = 5;

/** The best rejected commands, one for each set of nodes. */
export class Rejections {
  private readonly best = new Map<string, Rejection>();
  private least = -Infinity;
  /** The best for each single node. */
  private readonly alone = new Map<string, Rejection>();

  /** Notes a rejected command; `why` is called only if it is kept. */
  note(candidates: readonly FleetNode[], saving: number, why: () => string): void {
    const [only] = candidates;
    if (candidates.length === 1 && only !== undefined && saving > (this.alone.get(only.name)?.saving ?? -Infinity)) {
      this.alone.set(only.name, { candidates: [only.name], why: why(), saving });
    }
    if (saving <= this.least) return;
    const names = candidates.map(({ name }) => name);
    const key = [...names].sort().join();
    const known = this.best.get(key);
    if (known !== undefined && known.saving >= saving) return;
    this.best.set(key, { candidates: names, why: why(), saving });
    if (this.best.size <= most) return;
    const sorted = this.sorted();
    this.best.delete([...sorted.at(-1)!.candidates].sort().join());
    this.least = sorted.at(-2)!.saving;
  }

  /** Rejected commands whose nodes still exist, highest saving first. */
  among(alive: readonly FleetNode[]): readonly Rejection[] {
    const there = new Set(alive.map(({ name }) => name));
    return this.sorted().filter(({ candidates }) => candidates.every((name) => there.has(name)));
  }

  /** The rejected command for this node alone. */
  of(node: string): Rejection | undefined {
    return this.alone.get(node);
  }

  private sorted(): Rejection[] {
    return [...this.best.values()].sort(
      (a, b) => b.saving - a.saving || compareText(a.candidates.join(), b.candidates.join()),
    );
  }
}
