import { compile as compileBins } from '../bins/compile.js';
import type { OpenBin } from '../bins/problem.js';
import { relax } from '../bins/relaxation.js';
import type { Compiled } from '../compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { RuleBook } from '../topology/rules.js';
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
  /** By node: what it had free before the pass. */
  readonly free: readonly Float64Array[];
}

/**
 * What the pods placed cost at least, wherever they might have been put: over all choices of domains and nodes, preferences
 * and limits left out. Dollars per hour.
 */
export function boundOfAll(context: BoundContext, placed: ReadonlyMap<PodClass, number>): number {
  const { compiled, feasibility, book, nodes, free } = context;
  const parts: Part[] = [];
  for (const [podClass, count] of placed) {
    const level = compiled.ladders[podClass.shape.index]!.at(-1)!;
    const members = [{ podClass, level, pods: podClass.pods }];
    const profiles = feasibility.holding(podClass, level);
    const demand = feasibility.demand(podClass);
    parts.push({ members, together: false, profiles, pinnedKeys: [], demand, count });
  }
  const { problem, perNode } = numberProblem(compiled, parts, exclusionsOf(parts, book), []);
  const admitted = new Map<NodeState['kind'], Uint32Array>();
  const noUse = new Int32Array(problem.caps.length);
  const openBins = nodes.map(({ kind }, n): OpenBin => {
    let allowed = admitted.get(kind);
    if (allowed === undefined) admitted.set(kind, (allowed = bitsFor(parts, feasibility, kind)));
    return { free: free[n]!, allowed, capUse: noUse, holds: [] };
  });
  const whole = { ...problem, openBins };
  const units = parts.reduce((sum, { count }) => sum + count, 0);
  return Math.max(0, relax(whole, compileBins(whole)).bound - perNode * units);
}

function bitsFor(parts: readonly Part[], feasibility: Feasibility, kind: NodeState['kind']): Uint32Array {
  const bits = new Uint32Array((parts.length + 31) >>> 5);
  parts.forEach(({ members }, item) => {
    if (feasibility.admitsKind(members[0]!.level, kind)) bits[item >>> 5] = bits[item >>> 5]! | (1 << (item & 31));
  });
  return bits;
}
