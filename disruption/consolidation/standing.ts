import type { Compiled } from '../../packing/compiled.js';
import { isTerminal } from '../pods.js';
import type { ExaminedNode } from './eligibility.js';

/** The compiled pass with the nodes that may go still there, and with what stays on them. */
export function standing(compiled: Compiled, examined: readonly ExaminedNode[]): Compiled {
  const mayGo = new Map(examined.filter(({ why }) => why === undefined).map((each) => [each.name, each]));
  const bound = new Map(compiled.bound);
  for (const [name, { pods, movable }] of mayGo) {
    const moving = new Set(movable);
    const fixed = pods.filter((pod) => !moving.has(pod) && !isTerminal(pod));
    if (fixed.length > 0) bound.set(name, fixed);
    for (const pod of fixed) compiled.classes.demandOf(pod);
  }
  const nodes = compiled.nodes.map((view) => (mayGo.has(view.name) ? { ...view, leaving: false } : view));
  return { ...compiled, bound, nodes };
}
