import type { Compiled } from '../compile/compiled.js';
import type { Group } from '../topology/groups.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import { keepsSkew } from './admission.js';
import { selectsOwn } from './host-rules.js';

type DomainOf = (key: string) => string | undefined;

/**
 * Looks one pod ahead for pods with spread rules by several topology keys. Not all combinations of domains are available, so an
 * allowed place for one pod may leave none for the next.
 */
export class SpreadLookahead {
  private expected: ReadonlyMap<Group, number> | undefined;

  constructor(
    private readonly compiled: Compiled,
    private readonly book: RuleBook,
    private readonly topologyCounts: TopologyCounts,
  ) {}

  /** Whether pods with these rules need the lookahead. */
  concerns({ spread }: Rules): boolean {
    return spread.length > 1;
  }

  /**
   * Whether the next pod with these rules would still have one of the places after one pod is placed `there`. True if
   * there is no next pod.
   */
  leavesPlaceForNext(rules: Rules, there: DomainOf, places: Iterable<DomainOf>): boolean {
    const own = rules.spread.filter((group) => selectsOwn(rules, group));
    if (!own.some((group) => this.isAwaited(group))) return true;
    this.count(own, there, 1);
    let isOpen = false;
    for (const place of places) {
      isOpen = rules.spread.every((group) =>
        keepsSkew(this.topologyCounts, group, place(group.key), own.includes(group)),
      );
      if (isOpen) break;
    }
    this.count(own, there, -1);
    return isOpen;
  }

  private count(groups: readonly Group[], domainOf: DomainOf, pods: number): void {
    for (const group of groups) {
      const domain = domainOf(group.key);
      if (domain !== undefined) this.topologyCounts.addSelected(group, domain, pods);
    }
  }

  /** Whether more than one further pod of the pass has the rule. */
  private isAwaited(group: Group): boolean {
    this.expected ??= this.expectedPods();
    return this.topologyCounts.total(group) + 1 < (this.expected.get(group) ?? 0);
  }

  /** By rule: how many pods it will select when all pods of the pass are placed. */
  private expectedPods(): Map<Group, number> {
    const expected = new Map<Group, number>();
    for (const podClass of this.compiled.queue) {
      const rules = this.book.of(podClass.shape, this.compiled.levelsByShape[podClass.shape.index]![0]!);
      if (!this.concerns(rules)) continue;
      for (const group of rules.spread) {
        const before = expected.get(group) ?? this.topologyCounts.total(group);
        if (selectsOwn(rules, group)) expected.set(group, before + podClass.pods.length);
      }
    }
    return expected;
  }
}
