import { consolidateFleet, reconsiderNodes, whyStays } from '../disruption/consolidation/search.js';
import { waitingRooms } from '../disruption/consolidation/fleet-setup.js';
import type { ConsolidationInput } from '../disruption/consolidation/types.js';
import { leastPossible } from '../packing/least-possible.js';
import { plan } from '../packing/plan.js';
import type { PackingInput } from '../packing/types.js';

/**
 * The jobs of packing threads, by name. Each takes a cluster with additional input (see `snapshots.ts`) and returns one
 * result; both can be cloned. A search polls `isOver` to end early with what it has.
 */
export const jobs = {
  plan: (input: PackingInput) => plan(input),
  leastPossible: (input: PackingInput) => leastPossible(input),
  consolidate: (input: ConsolidationInput, isOver?: () => boolean) => consolidateFleet(input, isOver),
  reconsider: ({ candidates, ...input }: ConsolidationInput & { readonly candidates: readonly string[] }) =>
    reconsiderNodes(input, candidates),
  waitingRooms: (input: PackingInput) => waitingRooms(input),
  whyStays: ({ node, ...input }: ConsolidationInput & { readonly node: string }) => whyStays(input, node),
} as const;

export type Job = keyof typeof jobs;
export type JobInput<J extends Job> = Parameters<(typeof jobs)[J]>[0];
export type JobResult<J extends Job> = ReturnType<(typeof jobs)[J]>;
