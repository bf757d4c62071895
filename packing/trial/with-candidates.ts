import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../compile/compiled.js';

/** The compiled pass with the candidates still present, and with the pods that stay on them. */
export function withCandidates(compiled: Compiled, candidates: ReadonlyMap<string, readonly Pod[]>): Compiled {
  const bound = new Map(compiled.bound);
  for (const [name, fixed] of candidates) {
    if (fixed.length > 0) bound.set(name, fixed);
    for (const pod of fixed) compiled.classes.demandOf(pod);
  }
  const nodes = compiled.nodes.map((view) => (candidates.has(view.name) ? { ...view, deleting: false } : view));
  return { ...compiled, bound, nodes };
}
