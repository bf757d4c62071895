import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../compile/compiled.js';

/** The compiled pass with the nodes that may go still there, and with what stays on them as long as they do. */
export function atLevel(compiled: Compiled, staying: ReadonlyMap<string, readonly Pod[]>): Compiled {
  const bound = new Map(compiled.bound);
  for (const [name, fixed] of staying) {
    if (fixed.length > 0) bound.set(name, fixed);
    for (const pod of fixed) compiled.classes.demandOf(pod);
  }
  const nodes = compiled.nodes.map((view) => (staying.has(view.name) ? { ...view, deleting: false } : view));
  return { ...compiled, bound, nodes };
}
