import { performance } from 'node:perf_hooks';
import { consolidate } from '../disruption/consolidation/search.js';
import { asAtRest } from './objects/complete.js';
import { consolidationDocument } from './output/consolidation-json.js';
import { consolidationText } from './output/consolidation-table.js';
import { packingInput, type PlanOptions } from './plan.js';

export interface ConsolidateOptions extends Omit<PlanOptions, 'repeat'> {
  /** Whether spot nodes alone may be replaced by spot. */
  readonly spotToSpot: boolean;
}

/** `stowage consolidate` on files: the commands that would run until nothing is left to gain, as text to print. */
export function consolidateOffline(options: ConsolidateOptions): string {
  const input = packingInput(options);
  const objects = asAtRest(input.objects);
  const started = performance.now();
  const result = consolidate({ ...input, objects, spotToSpot: options.spotToSpot });
  const totalMs = performance.now() - started;
  return options.output === 'json'
    ? `${JSON.stringify(consolidationDocument(result, totalMs), null, 1)}\n`
    : consolidationText(result, totalMs);
}
