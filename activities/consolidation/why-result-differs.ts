import { counted } from '../../core/text.js';
import type { ConsolidationCommand } from '../../disruption/consolidation/types.js';
import type { ActivityDeps } from '../deps.js';
import { rulesByPool, type DisruptionContext } from '../disruption-context/disruption-context.js';
import { contextInput, leastSavingsOf } from './search-input.js';
import { waitsForEmptyNodes } from './waits-for-empty-nodes.js';

/** A command that was decided: its nodes by name, and the names of the NodeClaims that were created for it so far. */
export interface DecidedCommand extends Pick<ConsolidationCommand, 'candidates' | 'replacements' | 'moves'> {
  readonly created: readonly string[];
}

/**
 * Searches again for exactly the nodes of a command (commands/validation): why the result would differ; undefined if
 * the command is still valid. `consolidatableBy`: the time for which consolidateAfter is evaluated; by default now.
 */
export async function whyResultDiffers(
  deps: ActivityDeps,
  context: DisruptionContext,
  command: DecidedCommand,
  consolidatableBy: number = context.now,
): Promise<string | undefined> {
  const { candidates, replacements, moves, created } = command;
  const isCreated = created.length > 0;
  // Once the replacements are launched no further one may be needed.
  const most = isCreated ? 0 : replacements.length;
  const input = {
    ...(await contextInput(deps, context)),
    claimed: context.claimed,
    spotToSpot: deps.gates.SpotToSpotConsolidation,
    leastSavings: leastSavingsOf(context, rulesByPool(context)),
    mostReplacements: most,
    launched: new Set(created),
    consolidatableBy,
  };
  // The best command for these nodes alone may differ from that within a plan: the decided one may still be valid.
  const decided = isCreated ? [] : replacements;
  const same = await deps.packer.reconsider({ ...input, decided, decidedMoves: moves }, candidates);
  if (same !== undefined && (isCreated || !waitsForEmptyNodes(same, context))) return undefined;
  const now = await deps.packer.reconsider(input, candidates);
  if (now === undefined) return 'removing it no longer saves anything, or there is no place for its pods';
  if (!isCreated && waitsForEmptyNodes(now, context))
    return 'its pods would move to an empty node that may be removed itself';
  return whyOtherReplacements(now, command, most);
}

/** Why the decided replacements do not match the command that the search finds now; undefined if they do. */
function whyOtherReplacements(
  now: ConsolidationCommand,
  { replacements, created }: DecidedCommand,
  most: number,
): string | undefined {
  if (now.replacements.length > most)
    return `it would need ${counted(now.replacements.length, 'new node')} now, not ${most}`;
  if (created.length > 0 || now.replacements.length < replacements.length || fits(replacements, now)) return undefined;
  return 'its pods, their places or prices have changed: not every instance type planned would still do';
}

/** Whether all planned types are still among those of the new command. */
function fits(planned: ConsolidationCommand['replacements'], now: ConsolidationCommand): boolean {
  return planned.every(({ nodePool, instanceTypes }) =>
    now.replacements.some(
      (other) => other.nodePool === nodePool && instanceTypes.every((name) => other.instanceTypes.includes(name)),
    ),
  );
}
