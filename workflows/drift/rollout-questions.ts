import type { Question } from '../people/consent.js';

const protectionHolds = 'PodDisruptionBudgets and do-not-disrupt hold';

/** The approval question before the first wave; `nodes`: how many, in words. */
export function questionBeforeWaves(nodePool: string, nodes: string): Question {
  return {
    what: `approval to replace ${nodes} of NodePool ${nodePool} in waves`,
    yes: `launches the replacements first and then drains node by node; ${protectionHolds}`,
  };
}

/** The approval question of a rollout that stopped because too many replacements failed. */
export function questionAfterFailures(nodePool: string, why: string): Question {
  return {
    what: `approval to let the rollout of NodePool ${nodePool} go on (${why})`,
    yes: `replaces further nodes, replacements first, and ${protectionHolds}`,
    no: 'ends it, and the nodes that are left stay',
  };
}
