import { nodeNameOf } from '../../cluster/cluster.js';
import { listedNames } from '../../core/text.js';
import { consolidatableAt, settlesAt } from '../../disruption/consolidation/consolidatable.js';
import type { ConsolidationCommand } from '../../disruption/consolidation/types.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import type { NodeWait } from '../disruption-context/node-waits.js';
import type { ConcurrentCommands } from './concurrent-commands.js';
import { targetsNotReady } from './unready-commands.js';
import { emptyNodesAwaited } from './waits-for-empty-nodes.js';

const saves = 'nothing blocks it, and removing it saves something; it waits for';

/** Waits of nodes whose command was found but is not started yet (surfaces/one-reason). */
export function waitsOfCommands(
  proposed: readonly ConsolidationCommand[],
  { commands, dependent, notYetConsolidatable }: ConcurrentCommands,
  context: DisruptionContext,
): readonly NodeWait[] {
  const first = [...commands, ...notYetConsolidatable].flatMap(({ candidates }) => candidates);
  return proposed.flatMap((command) => {
    const wait =
      forEmptyNodes(command, context) ??
      (notYetConsolidatable.includes(command)
        ? (forOthersOfIt(command, context) ?? forItsTargets(command, context))
        : undefined) ??
      (dependent.includes(command) && first.length > 0
        ? { what: `${listedNames(first)} to go first, which saves more` }
        : undefined);
    if (wait === undefined) return [];
    return command.candidates.map((node) => ({ node, verdict: 'may go', ...wait, what: `${saves} ${wait.what}` }));
  });
}

type Wait = Pick<NodeWait, 'what' | 'until'>;

function forEmptyNodes(command: ConsolidationCommand, context: DisruptionContext): Wait | undefined {
  const empty = emptyNodesAwaited(command, context);
  if (empty.length === 0) return undefined;
  const until = Math.max(...empty.map(consolidatableAt));
  const nodes = empty.length === 1 ? 'the empty node' : 'the empty nodes';
  return { what: `${nodes} ${listedNames(empty.map(nodeNameOf))} to go first`, until };
}

function forOthersOfIt({ candidates }: ConsolidationCommand, { views, now }: DisruptionContext): Wait | undefined {
  const later = views.filter((view) => candidates.includes(nodeNameOf(view)) && consolidatableAt(view) > now);
  if (later.length === 0) return undefined;
  const until = Math.max(...later.map(consolidatableAt));
  const what = `${listedNames(later.map(nodeNameOf))} to become consolidatable, to go together`;
  return Number.isFinite(until) ? { what, until } : { what };
}

function forItsTargets(command: ConsolidationCommand, context: DisruptionContext): Wait | undefined {
  const later = targetsNotReady(command, context, context.now);
  if (later.length === 0) return undefined;
  return {
    what: `${listedNames(later.map(nodeNameOf))} to take its pods, after consolidateAfter`,
    until: Math.max(...later.map(settlesAt)),
  };
}
