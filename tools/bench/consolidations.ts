import Table from 'cli-table3';
import {
  type ConsolidationJson,
  type ConsolidationVerdict,
  checkConsolidation,
} from '../../test/checker/consolidation.js';
import { fleetBound } from '../../test/checker/fleet-bound.js';
import type { CaseFiles } from './case-files.js';
import type { Peer } from './peer.js';
import { bare } from './report.js';
import { stowageConsolidate } from './stowage.js';

interface Side {
  readonly commands: number;
  readonly nodesAfter: number;
  readonly priceAfter: number;
  readonly evictions: number;
  readonly ms: number;
  readonly maxRssMb: number | undefined;
  readonly violations: ConsolidationVerdict['violations'];
}

export interface ConsolidationResult {
  readonly kind: string;
  readonly size: number;
  readonly seed: number;
  readonly priceBefore: number;
  /** What no fleet for the pods costs less than; see `fleetBound`. */
  readonly bound: number;
  readonly stowage?: Side;
  readonly karpenter?: Side;
  readonly problems: readonly string[];
  readonly failed: { readonly stowage?: string; readonly karpenter?: string };
}

/** Has both engines consolidate one cluster until nothing is left to gain, and judges every command. */
export async function measureConsolidations(
  peer: Peer | undefined,
  files: CaseFiles,
  options: { timeoutMs: number; peerTimeoutMs: number },
): Promise<ConsolidationResult> {
  const ours = await stowageConsolidate(files.objects, files.catalogue, options.timeoutMs);
  const theirs =
    peer === undefined ? 'not run' : await peer.consolidate(files.objects, files.catalogue, options.peerTimeoutMs);
  const stowage = typeof ours === 'string' ? undefined : sideOf(files, ours.result, ours.maxRssMb);
  const karpenter = typeof theirs === 'string' ? undefined : sideOf(files, theirs, theirs.maxRssMb);
  const { kind, size, seed } = files;
  const bound = fleetBound(files.list, files.entries);
  return {
    kind,
    size,
    seed,
    priceBefore: stowage?.priceBefore ?? karpenter?.priceBefore ?? NaN,
    bound,
    ...(stowage && { stowage }),
    ...(karpenter && { karpenter }),
    problems: typeof ours === 'string' ? [`nothing: ${ours}`] : problemsOf(stowage, karpenter, bound),
    failed: {
      ...(typeof ours === 'string' && { stowage: ours }),
      ...(typeof theirs === 'string' && { karpenter: theirs }),
    },
  };
}

function sideOf(
  files: CaseFiles,
  result: ConsolidationJson,
  maxRssMb: number | undefined,
): Side & { priceBefore: number } {
  const verdict = checkConsolidation(files.list, files.entries, result);
  return {
    commands: result.commands.length,
    nodesAfter: verdict.nodesAfter,
    priceBefore: verdict.priceBefore,
    priceAfter: verdict.priceAfter,
    evictions: verdict.evictions,
    ms: result.totalMs,
    maxRssMb,
    violations: verdict.violations,
  };
}

function problemsOf(ours: Side | undefined, theirs: Side | undefined, bound: number): string[] {
  if (ours === undefined) return [];
  const problems = ours.violations.slice(0, 5).map(({ rule, message }) => `violation ${rule} | ${message}`);
  if (ours.violations.length > 5) problems.push(`... ${ours.violations.length} violations in all`);
  if (ours.violations.length === 0 && ours.priceAfter < bound * (1 - 1e-6)) {
    problems.push(`below the bound: ends at ${ours.priceAfter} of at least ${bound} (a fault of the checker?)`);
  }
  if (theirs === undefined) return problems;
  if (ours.priceAfter > theirs.priceAfter + 1e-6) {
    problems.push(`saves less: ends at ${ours.priceAfter.toFixed(4)}, Karpenter at ${theirs.priceAfter.toFixed(4)}`);
  }
  if (ours.evictions > theirs.evictions) problems.push(`evicts more: ${ours.evictions}, Karpenter ${theirs.evictions}`);
  return problems;
}

const number = (value: number | undefined, digits = 0): string =>
  value === undefined || !Number.isFinite(value) ? '-' : value.toFixed(digits);

const percent = (ratio: number | undefined): string =>
  ratio === undefined || !Number.isFinite(ratio) ? '-' : `${(ratio * 100).toFixed(1)}%`;

/** A line a cluster, both engines side by side. */
export function consolidationTable(results: readonly ConsolidationResult[]): string {
  const head = [
    'case',
    'before',
    'after S',
    'after K',
    'of what is left',
    'over bound S/K',
    'nodes S/K',
    'evictions S/K',
    'commands S/K',
    'broken S/K',
    'ms S',
    'ms K',
    'faster',
  ];
  const table = new Table({ ...bare, head, colAligns: ['left', ...new Array<'right'>(head.length - 1).fill('right')] });
  for (const { kind, size, seed, priceBefore, bound, stowage, karpenter } of results) {
    const both = (of: (side: Side) => number): string =>
      `${number(stowage && of(stowage))}/${number(karpenter && of(karpenter))}`;
    const less = stowage && karpenter && 1 - stowage.priceAfter / karpenter.priceAfter;
    const over = (side: Side | undefined): string => percent(side && side.priceAfter / bound - 1);
    table.push([
      `${kind} ${size} #${seed}`,
      number(priceBefore, 2),
      number(stowage?.priceAfter, 2),
      number(karpenter?.priceAfter, 2),
      percent(less),
      `${over(stowage)}/${over(karpenter)}`,
      both((side) => side.nodesAfter),
      both((side) => side.evictions),
      both((side) => side.commands),
      both((side) => side.violations.length),
      number(stowage?.ms),
      number(karpenter?.ms),
      stowage && karpenter ? `${(karpenter.ms / stowage.ms).toFixed(1)}x` : '-',
    ]);
  }
  return table.toString();
}

/** What the clusters that both engines have finished come to, in a line; undefined when there is none. */
export function consolidationSummary(results: readonly ConsolidationResult[]): string | undefined {
  const both = results.flatMap(({ bound, stowage, karpenter }) =>
    stowage && karpenter ? [{ bound, stowage, karpenter }] : [],
  );
  if (both.length === 0) return undefined;
  const mean = (of: (one: (typeof both)[number]) => number): number =>
    both.reduce((sum, one) => sum + of(one), 0) / both.length;
  const sum = (of: (one: (typeof both)[number]) => number): number => mean(of) * both.length;
  const worse = (of: (side: Side) => number): number =>
    both.filter(({ stowage, karpenter }) => of(stowage) > of(karpenter) + 1e-6).length;
  const evictions = sum(({ stowage }) => stowage.evictions) / sum(({ karpenter }) => karpenter.evictions) - 1;
  const times = mean(({ stowage, karpenter }) => karpenter.ms / stowage.ms);
  return [
    `${both.length} clusters: ${worse(({ priceAfter }) => priceAfter)} where Stowage saves less`,
    `it leaves ${percent(mean(({ stowage, karpenter }) => 1 - stowage.priceAfter / karpenter.priceAfter))} less to pay, mean`,
    `where the bound would leave ${percent(mean(({ bound, karpenter }) => 1 - bound / karpenter.priceAfter))} less`,
    `over the bound ${percent(mean(({ bound, stowage }) => stowage.priceAfter / bound - 1))}, Karpenter ${percent(mean(({ bound, karpenter }) => karpenter.priceAfter / bound - 1))}`,
    `evictions ${percent(evictions)}, more in ${worse((side) => side.evictions)}`,
    `broken ${both.filter(({ stowage }) => stowage.violations.length > 0).length}, Karpenter ${both.filter(({ karpenter }) => karpenter.violations.length > 0).length}`,
    `faster ${number(sum(({ karpenter }) => karpenter.ms) / sum(({ stowage }) => stowage.ms))}x in all, ${number(times)}x mean`,
  ].join('; ');
}
