import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Profile } from '../compile/universe.js';
import { numberProblem } from '../place/bin-problem.js';
import { exclusionsOf } from '../place/exclusions.js';
import { openClaimsOf } from '../place/open-claim.js';
import type { Part } from '../place/part.js';
import type { Waiting } from './assignment.js';
import { buyBins } from './buy-bins.js';
import type { WorkingPlan } from './working-plan.js';

/** Buys the nodes of a plan. */
export class NodePurchases {
  /** Whether pods were left over after their domains were decided. */
  isShort = false;

  constructor(private readonly working: WorkingPlan) {}

  /** Buys nodes for the parts; returns the pods that limits left over, to be tried in other pools. */
  launch(parts: readonly Part[]): Waiting[] {
    if (parts.length === 0) return [];
    const { working } = this;
    const exclusions = exclusionsOf(parts, working.book);
    const { problem, rowOfOffer } = numberProblem(working.compiled, parts, exclusions, working.limits, {
      riding: true,
    });
    const units = parts.reduce((sum, { count }) => sum + count, 0);
    const { isCheapest = false } = working.compiled.input.settings;
    const { solution, surcharge } = buyBins(problem, units, working.surcharge, isCheapest);
    working.surcharge ??= surcharge;
    const bins = solution.bins.map(({ offer, items, pods }) => ({ row: rowOfOffer[offer]!, items, units: pods }));
    const { claims, given } = openClaimsOf(parts, bins);
    for (const claim of claims) {
      working.charge(claim.row, 1);
      working.topologyCounts.recordDaemons(working.compiled.universe.rows[claim.row]!.profile, 1);
      working.claims.push(claim);
    }
    return this.leftOver(parts, given);
  }

  private leftOver(parts: readonly Part[], given: Int32Array): Waiting[] {
    const { working } = this;
    const waiting = new Map<PodClass, Pod[]>();
    const full = new Set<Profile>();
    parts.forEach((part, item) => {
      const left = part.count - given[item]!;
      if (left === 0) return;
      for (const profile of part.profiles) full.add(profile);
      for (const { podClass, level, pods } of part.members) {
        const rest = part.together ? pods : pods.slice(given[item]);
        const there = waiting.get(podClass);
        if (there === undefined) waiting.set(podClass, [...rest]);
        else there.push(...rest);
        working.uncount(part.profiles[0]!, podClass, level, rest.length);
      }
    });
    if (full.size === 0) return [];
    this.isShort = true;
    const before = working.exhausted.size;
    for (const profile of full) working.exhausted.add(profile);
    const list = [...waiting].map(([podClass, pods]) => ({ podClass, pods }));
    if (working.exhausted.size > before) return list;
    for (const { podClass, pods } of list) working.unplaced.add(podClass, pods);
    return [];
  }
}
