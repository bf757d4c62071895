import { join } from 'node:path';
import type { ConsolidationJson } from '../../test/checker/consolidation.js';
import type { PlanJson } from '../../test/checker/types.js';
import { median } from './median.js';
import { complaint, runNode } from './processes.js';
import { repositoryRoot } from './repository.js';
import { withoutPieces, type Piece } from './without.js';

export interface StowageRun {
  readonly plan: PlanJson;
  /** The first solve of a fresh process, from parsed objects; the median where there were several. */
  readonly coldMs: number;
  /** The median of later solves in one process, each from parsed objects. */
  readonly warmMs: number;
  /** The whole command: start, reading files, solving, printing. */
  readonly wallMs: number;
  readonly maxRssMb: number | undefined;
}

const program = (): string => join(repositoryRoot(), 'bin', 'stowage');

/** `stowage plan` on the files, in processes of their own; or why there is no plan. */
export async function stowagePlan(
  objects: string,
  catalogue: string,
  options: { coldRepeats?: number; warmRepeats: number; timeoutMs: number; without?: readonly Piece[] },
): Promise<StowageRun | string> {
  const args = [
    ...withoutPieces(options.without ?? []),
    program(),
    'plan',
    '--objects',
    objects,
    '--catalogue',
    catalogue,
    '-o',
    'json',
  ];
  const cold = await runNode(args, options.timeoutMs);
  if (cold.status !== 0) return complaint(cold);
  const plan = JSON.parse(cold.stdout) as PlanJson;
  const firstMs = [milliseconds(plan)];
  const wholeMs = [cold.wallMs];
  while (firstMs.length < (options.coldRepeats ?? 1)) {
    const again = await runNode(args, options.timeoutMs);
    if (again.status !== 0) return complaint(again);
    firstMs.push(milliseconds(JSON.parse(again.stdout) as PlanJson));
    wholeMs.push(again.wallMs);
  }
  const coldMs = median(firstMs);
  let warmMs = coldMs;
  if (options.warmRepeats > 1) {
    const warm = await runNode([...args, '--repeat', String(options.warmRepeats)], options.timeoutMs);
    if (warm.status !== 0) return complaint(warm);
    warmMs = milliseconds(JSON.parse(warm.stdout) as PlanJson);
  }
  return { plan, coldMs, warmMs, wallMs: median(wholeMs), maxRssMb: cold.maxRssMb };
}

const milliseconds = (plan: PlanJson): number => (typeof plan.solveMs === 'number' ? plan.solveMs : NaN);

export interface StowageConsolidation {
  readonly result: ConsolidationJson;
  readonly wallMs: number;
  readonly maxRssMb: number | undefined;
}

/** `stowage consolidate` on the files; or why it gave nothing. */
export async function stowageConsolidate(
  objects: string,
  catalogue: string,
  timeoutMs: number,
): Promise<StowageConsolidation | string> {
  const args = [program(), 'consolidate', '--objects', objects, '--catalogue', catalogue, '-o', 'json'];
  const finished = await runNode(args, timeoutMs);
  if (finished.status !== 0) return complaint(finished);
  return {
    result: JSON.parse(finished.stdout) as ConsolidationJson,
    wallMs: finished.wallMs,
    maxRssMb: finished.maxRssMb,
  };
}
