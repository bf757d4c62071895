import { whyPaused } from '../../cluster/pauses.js';
import { whyNotCandidate, type NodeView } from '../../disruption/candidates/candidates.js';
import { type DisruptionContext, pausableOf } from './disruption-context.js';
import { whyBackedOff } from './node-memory.js';
import { whyAnswered } from './open-questions.js';

/**
 * Why a drifted node is not disrupted now, in words, apart from budgets: because of people, of its last command, or of
 * the node and its pods.
 */
export function whyNotDrift(view: NodeView, context: DisruptionContext): string | undefined {
  return (
    whyPaused(context.pauses, 'Drifted', pausableOf(view)) ??
    whyAnswered(context, view, 'Drifted') ??
    whyBackedOff(context, view, 'Drifted') ??
    whyNotCandidate(view, context, 'eventual')
  );
}
