import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Profile } from '../compile/universe.js';
import { numberProblem } from '../place/bin-problem.js';
import { exclusionsOf } from '../place/exclusions.js';
import { openClaimsOf } from '../place/open-claim.js';
import type { Member, Part } from '../place/part.js';
import { lowerBoundOfPlaced } from '../place/lower-bound.js';
import type { Waiting } from './assignment.js';
import { buyCheapest, buyFew } from './buy-bins.js';
import type { WorkingPlan } from './working-plan.js';

/** Buys the nodes of a plan, and computes their lower bound. */
export class NodePurchases {
  private bound = 0;
  /** The bound including the surcharge. */
  private boundWithSurcharge = 0;
  /**
   * Whether pods were assigned to domains or nodes that other plans could leave to other pods; `bound` then holds only
   * for the remaining choice.
   */
  private chosen = false;
  /**
   * Whether pods could ride on nodes that others open, and whether some do. `bound` assumes that all pods of a node
   * open it.
   */
  private mayRide = false;
  private doRide = false;
  /**
   * Whether pods keep preferences. `bound` treats these as requirements, as a search does, but another plan need not
   * keep them.
   */
  private keepPreferences = false;
  /** Number of purchases. The bounds of several purchases do not add up, since pods of both may share nodes. */
  private count = 0;
  /** The last bound that was computed from the placed pods only. */
  private known:
    { readonly placed: ReadonlyMap<PodClass, number>; readonly surcharge: number; readonly bound: number } | undefined;
  /** Whether pods were left over after their domains were decided. */
  isShort = false;

  constructor(private readonly working: WorkingPlan) {}

  /** Buys nodes for the parts; returns the pods that limits left over, to be tried in other pools. */
  launch(parts: readonly Part[]): Waiting[] {
    if (parts.length === 0) return [];
    const { working } = this;
    const exclusions = exclusionsOf(parts, working.book);
    const { problem, rowOfOffer, perNode } = numberProblem(working.compiled, parts, exclusions, working.limits, {
      riding: true,
    });
    const units = parts.reduce((sum, { count }) => sum + count, 0);
    this.chosen ||= parts.some(({ pinnedKeys, together }) => together || pinnedKeys.length > 0);
    this.keepPreferences ||= parts.some(({ members }) => members.some((member) => this.keepsPreferences(member)));
    const { solution, bounds, isRidden, surcharge } = working.isCheapest
      ? buyCheapest(problem, units, working.compiled.input.settings.isCheapest ?? false)
      : buyFew(problem, units, working.surcharge);
    working.surcharge ??= surcharge;
    this.mayRide ||= problem.items.riding !== undefined;
    this.doRide ||= isRidden;
    // No plan has more nodes than pods, so the surcharge is at most this part of the bound.
    this.bound += Math.max(0, bounds.price - perNode * units);
    this.boundWithSurcharge += bounds.withSurcharge;
    this.count++;
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

  /** Lower bound for the placed pods, with or without their preferences, dollars per hour. */
  lowerBound(placed: ReadonlyMap<PodClass, number>): number {
    return this.boundOf(placed, this.mayRide || this.keepPreferences, false);
  }

  /**
   * The same including the surcharge, for a search that ends near the bound. If riding saved nothing, assumes that no
   * pod can ride.
   */
  boundToSearchFor(): number {
    return this.boundOf(this.working.placed(), this.doRide, true);
  }

  private keepsPreferences({ podClass, level }: Member): boolean {
    return level !== this.working.compiled.levelsByShape[podClass.shape.index]!.at(-1);
  }

  /** `isLower`: whether plans that `launch` did not consider may cost less than its bound. */
  private boundOf(placed: ReadonlyMap<PodClass, number>, isLower: boolean, isSurcharged: boolean): number {
    const { compiled, feasibility, book, nodes, free } = this.working;
    const isCovered = compiled.coverage.open.length > 0;
    const isWhole = !isCovered && !this.chosen && !isLower && this.count <= 1;
    if (isWhole && nodes.every(({ pods }) => pods.length === 0))
      return isSurcharged ? this.boundWithSurcharge : this.bound;
    const surcharge = isSurcharged ? (this.working.surcharge ?? 0) : 0;
    const { known } = this;
    if (known?.surcharge === surcharge && hasSamePods(known.placed, placed)) return known.bound;
    const bound = lowerBoundOfPlaced({ compiled, feasibility, book, nodes, free }, placed, surcharge);
    this.known = { placed, surcharge, bound };
    return bound;
  }
}

const hasSamePods = (a: ReadonlyMap<PodClass, number>, b: ReadonlyMap<PodClass, number>): boolean =>
  a.size === b.size && [...a].every(([podClass, pods]) => b.get(podClass) === pods);
