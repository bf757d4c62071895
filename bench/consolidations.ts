import Table from 'cli-table3';
import {
  type ConsolidationJson,
  type ConsolidationVerdict,
  checkConsolidation,
} from '../test/checker/consolidation.js';
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
  return {
    kind,
    size,
    seed,
    priceBefore: stowage?.priceBefore ?? karpenter?.priceBefore ?? NaN,
    ...(stowage && { stowage }),
    ...(karpenter && { karpenter }),
    problems: typeof ours === 'string' ? [`nothing: ${ours}`] : problemsOf(stowage, karpenter),
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

function problemsOf(ours: Side | undefined, theirs: Side | undefined): string[] {
  if (ours === undefined) return [];
  const problems = ours.violations.slice(0, 5).map(({ rule, message }) => `violation ${rule} | ${message}`);
  if (ours.violations.length > 5) problems.push(`... ${ours.violations.length} violations in all`);
  if (theirs === undefined) return problems;
  if (ours.priceAfter > theirs.priceAfter + 1e-6) {
    problems.push(`saves less: ends at ${ours.priceAfter.toFixed(4)}, Karpenter at ${theirs.priceAfter.toFixed(4)}`);
  }
  if (ours.evictions > theirs.evictions) problems.push(`evicts more: ${ours.evictions}, Karpenter ${theirs.evictions}`);
  return problems;
}

const number = (value: number | undefined, digits = 0): string =>
  value === undefined || !Number.isFinite(value) ? '-' : value.toFixed(digits);

/** A line a cluster, both engines side by side. */
export function consolidationTable(results: readonly ConsolidationResult[]): string {
  const head = [
    'case',
    'before',
    'after S',
    'after K',
    'of what is left',
    'nodes S/K',
    'evictions S/K',
    'commands S/K',
    'broken S/K',
    'ms S',
    'ms K',
    'faster',
  ];
  const table = new Table({ ...bare, head, colAligns: ['left', ...new Array<'right'>(head.length - 1).fill('right')] });
  for (const { kind, size, seed, priceBefore, stowage, karpenter } of results) {
    const both = (of: (side: Side) => number): string =>
      `${number(stowage && of(stowage))}/${number(karpenter && of(karpenter))}`;
    const less = stowage && karpenter && 1 - stowage.priceAfter / karpenter.priceAfter;
    table.push([
      `${kind} ${size} #${seed}`,
      number(priceBefore, 2),
      number(stowage?.priceAfter, 2),
      number(karpenter?.priceAfter, 2),
      less === undefined ? '-' : `${(less * 100).toFixed(1)}%`,
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
