import { emptyNodes } from '../disruption/emptiness.js';
import { candidateOf } from './cluster.js';
import type { DisruptionContext } from './disruption-context.js';
import { allowedFor, pausableOf, whyPaused } from './disruption-context.js';
import type { Found } from './decision-record.js';

/** One payload holds this many candidates at most; the others are found in the next look. */
const candidatesPerCommand = 100;

/** Section 4.5: every empty node that budgets let go, in one command. */
export function findEmpty(context: DisruptionContext): Found {
  const free = context.views.filter((view) => whyPaused(context.pauses, 'Empty', pausableOf(view)) === undefined);
  const allowed = (nodePool: string): ReturnType<typeof allowedFor> => allowedFor(context, nodePool, 'Empty');
  const decision = emptyNodes(free, allowed, context);
  const candidates = decision.remove.slice(0, candidatesPerCommand).map(candidateOf);
  return {
    findings:
      candidates.length === 0
        ? []
        : [{ reason: 'Empty', method: 'empty', candidates, replacements: [], moves: [], alternatives: [] }],
    held: decision.held,
    checks: decision.nextCheckAt === undefined ? [] : [decision.nextCheckAt],
  };
}
