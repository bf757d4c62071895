import { hasBit } from '../bins/bits.js';
import { compileProblem as compileBins } from '../bins/compile.js';
import type { BinProblem, OpenBin } from '../bins/problem.js';
import { relax } from '../bins/relaxation.js';
import { withSurcharge } from '../bins/surcharge.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import { numberProblem } from './bin-problem.js';
import { exclusionsOf } from './exclusions.js';
import type { Feasibility } from './feasibility.js';
import type { NodeState } from './node-states.js';
import type { Part } from './part.js';

interface BoundContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly book: RuleBook;
  readonly nodes: readonly NodeState[];
  /** By node: its free resources before the pass. */
  readonly free: readonly Float64Array[];
}

/**
 * A lower bound for the price of the placed pods over all choices of domains and nodes, with `surcharge` added to each
 * node. Ignores preferences and limits. Dollars per hour.
 */
export function lowerBoundOfPlaced(
  context: BoundContext,
  placed: ReadonlyMap<PodClass, number>,
  surcharge = 0,
): number {
  const { compiled, feasibility, book, nodes, free } = context;
  const parts: (Part & { count: number })[] = [];
  const alike = new Map<Part['profiles'], Map<number, number>>();
  for (const [podClass, count] of placed) {
    const level = compiled.levelsByShape[podClass.shape.index]!.at(-1)!;
    const profiles = feasibility.holding(podClass, level);
    // Without existing nodes, classes without host-name rules differ only by their demand.
    if (nodes.length === 0 && hasNoHostRules(podClass, book.of(podClass.shape, level))) {
      let byDemand = alike.get(profiles);
      if (byDemand === undefined) alike.set(profiles, (byDemand = new Map<number, number>()));
      const known = byDemand.get(podClass.demand.index);
      if (known !== undefined) {
        parts[known]!.count += count;
        continue;
      }
      byDemand.set(podClass.demand.index, parts.length);
    }
    const members = [{ podClass, level, pods: podClass.pods }];
    const demand = feasibility.demand(podClass);
    parts.push({ members, together: false, profiles, pinnedKeys: [], demand, count });
  }
  const kinds = new Map<NodeState['kind'], Uint32Array>();
  for (const { kind } of nodes) if (!kinds.has(kind)) kinds.set(kind, bitsFor(parts, feasibility, kind));
  const openBins = nodes.map(({ kind }, n): OpenBin => ({ free: free[n]!, allowed: kinds.get(kind)! }));
  const whole = boundOf(context, { parts, surcharge, openBins });
  // With many kinds of nodes the relaxation would let free room hold pods that none of these nodes admits.
  const stranded = parts.filter((_, item) => ![...kinds.values()].some((bits) => hasBit(bits, item)));
  if (nodes.length === 0 || stranded.length === 0) return whole;
  return Math.max(whole, boundOf(context, { parts: stranded, surcharge, openBins: [] }));
}

interface BoundedParts {
  readonly parts: readonly Part[];
  readonly surcharge: number;
  readonly openBins: readonly OpenBin[];
}

function boundOf({ compiled, book }: BoundContext, { parts, surcharge, openBins }: BoundedParts): number {
  const { problem, perNode, rowOfOffer } = numberProblem(compiled, parts, exclusionsOf(parts, book), []);
  const whole = { ...withSurcharge(problem, surcharge), openBins };
  const units = parts.reduce((sum, { count }) => sum + count, 0);
  const bound = relax(compileBins(whole)).bound;
  return Math.max(0, Math.max(bound, boundUncovered(compiled, whole, rowOfOffer)) - perNode * units);
}

/**
 * The lower bound at full prices, minus the most that the remaining commitments can save. With prices under commitments
 * the bound would be too low: limits are ignored, so the commitments would seem to cover everything.
 */
function boundUncovered(compiled: Compiled, problem: BinProblem, rowOfOffer: readonly number[]): number {
  if (compiled.coverage.open.length === 0) return 0;
  const { rows } = compiled.universe;
  const savingOf = (offer: number): number => rows[rowOfOffer[offer]!]!.offering.commitment?.saving ?? 0;
  const price = problem.offers.price.map((each, offer) => each + savingOf(offer));
  const uncovered = { ...problem, offers: { ...problem.offers, price } };
  return relax(compileBins(uncovered)).bound - mostSaved(compiled);
}

/** The most that the remaining commitments can save, dollars per hour. */
function mostSaved({ universe, coverage }: Compiled): number {
  const best = new Map<string, number>();
  for (const { offering } of universe.rows) {
    if (offering.commitment === undefined) continue;
    const { name, use, saving } = offering.commitment;
    best.set(name, Math.max(best.get(name) ?? 0, saving / use));
  }
  let most = 0;
  for (const [name, rate] of best) most += rate * (coverage.left.get(name) ?? 0);
  return most;
}

function hasNoHostRules({ shape }: PodClass, { hostSpread, hostAntiAffinity, matched }: Rules): boolean {
  if (hostSpread.length + hostAntiAffinity.length + shape.hostPorts.length > 0) return false;
  for (const { hostname, kind } of matched) if (hostname && kind !== 'affinity') return false;
  return true;
}

function bitsFor(parts: readonly Part[], feasibility: Feasibility, kind: NodeState['kind']): Uint32Array {
  const bits = new Uint32Array((parts.length + 31) >>> 5);
  parts.forEach(({ members }, item) => {
    if (feasibility.admitsKind(members[0]!.level, kind)) bits[item >>> 5] = bits[item >>> 5]! | (1 << (item & 31));
  });
  return bits;
}
