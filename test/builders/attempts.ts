import type { FleetNode } from '../../disruption/consolidation/fleet.js';
import type { Outcome, Purchase } from '../../disruption/consolidation/outcome.js';
import type { Launch } from '../../packing/trial.js';

/** Nodes whose names are letters, as a word. */
export const letters = (nodes: readonly FleetNode[]): string => nodes.map(({ name }) => name).join('');

export interface RecordedAttempts {
  /** The groups that were tried, and what was asked for each. */
  readonly tried: string[];
  readonly purchases: Purchase[];
  readonly attempts: { readonly byPlacing: (group: readonly FleetNode[], purchase: Purchase) => Outcome | undefined };
}

/** Attempts to replace groups of nodes, with what was tried; `offer` gives the prices at which nodes are found for a group, undefined for none. */
export function recordedAttempts(offer: (group: string) => readonly number[] | undefined): RecordedAttempts {
  const tried: string[] = [];
  const purchases: Purchase[] = [];
  const byPlacing = (group: readonly FleetNode[], purchase: Purchase): Outcome | undefined => {
    tried.push(letters(group));
    purchases.push(purchase);
    const found = offer(letters(group))?.map((price) => ({ price }) as Launch);
    return found && { candidates: group, placements: [], launches: found };
  };
  return { tried, purchases, attempts: { byPlacing } };
}
