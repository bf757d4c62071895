import { pauseScopeText, pauseStops } from '../../core/pause-scope.js';
import { timeText } from '../../core/time.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { Pause } from '../../workflows/messages.js';
import { poolNameOf } from './disruption-context.js';

/** The names of a node that a pause may have in its scope. */
export interface Pausable {
  readonly node: string;
  readonly nodePool: string;
}

export function pausableOf(view: NodeView): Pausable {
  return { node: nodeNameOf(view), nodePool: poolNameOf(view) };
}

/** The pause that stops a disruption of the node for this reason, in words; undefined if there is none. */
export function whyPaused(pauses: readonly Pause[], reason: string, node: Pausable): string | undefined {
  const pause = pauses.find(({ scope }) => pauseStops(scope, reason, node));
  if (pause === undefined) return undefined;
  const { scope, actor, reason: why, until } = pause;
  const end = until === undefined ? '' : ` until ${timeText(until)}`;
  return `${pauseScopeText(scope)} is paused by ${actor}${end}: ${why}`;
}
