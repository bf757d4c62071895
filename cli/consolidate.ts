import { performance } from 'node:perf_hooks';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { labels } from '../api/labels.js';
import { lookUp } from '../core/own.js';
import { budgetProblems } from '../disruption/budgets/budget-problems.js';
import { consolidateFleet } from '../disruption/consolidation/search.js';
import type { Consolidation, ConsolidationCommand } from '../disruption/consolidation/types.js';
import { effectivePolicyOf } from '../disruption/policies/effective-policy.js';
import { policyProblems } from '../disruption/budgets/policy-problems.js';
import { comingAgain } from '../packing/compile/moved-pods.js';
import type { ClusterObjects, PackingInput } from '../packing/types.js';
import { packingInputOfFiles, type PlanOptions, toStderr } from './plan.js';
import { asAtRest, leastSavingsByPool } from './objects/at-rest.js';
import { claimDocument } from './output/plan-json.js';
import { excludedObjectsText } from './output/excluded-objects.js';
import { counted, onOneLine } from '../core/text.js';
import { hourly, renderTable } from './output/table.js';
import { nameOf, fullName } from '../core/names.js';

const shownNames = 3;
const shownReasons = 10;

/** A consolidation as text: the nodes removed and added in each step, the saving, and why other nodes stay. */
function consolidationText(given: Consolidation, totalMs: number): string {
  const result = onOneLine(given);
  const sections = [
    steps(result.commands),
    kept(result.held),
    excludedObjectsText(result.setAside),
    total(result, totalMs),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

function steps(commands: readonly ConsolidationCommand[]): string {
  if (commands.length === 0) return '';
  const rows = commands.map((command, i) => [
    i,
    `${command.method} ${command.decision}`,
    names(command.candidates),
    names(command.replacements.map(({ cheapest }) => `${cheapest.instanceType} (${cheapest.capacityType})`)),
    command.moves.length,
    hourly(command.priceBefore),
    hourly(command.priceAfter),
  ]);
  return renderTable(['STEP', 'WHAT', 'NODES REMOVED', 'NODES ADDED', 'PODS MOVED', 'PER HOUR', 'THEN'], rows);
}

function names(all: readonly string[]): string {
  const more = all.length > shownNames ? ` and ${all.length - shownNames} more` : '';
  return `${all.slice(0, shownNames).join(', ')}${more}`;
}

function kept(held: Consolidation['held']): string {
  if (held.length === 0) return '';
  const lines = held.slice(0, shownReasons).map(({ node, why }) => `  ${node}: ${why}`);
  if (held.length > shownReasons) lines.push(`  ... and ${held.length - shownReasons} more; -o json lists them all`);
  return `${counted(held.length, 'node')} cannot be disrupted\n${lines.join('\n')}`;
}

function total({ commands, nodesBefore, nodesAfter, priceBefore, priceAfter }: Consolidation, totalMs: number): string {
  if (nodesBefore === 0) return 'There is no node among the objects.';
  if (commands.length === 0)
    return `No cheaper fleet was found for ${counted(nodesBefore, 'node')} at ${hourly(priceBefore)} per hour.`;
  const moved = commands.reduce((sum, { moves }) => sum + moves.length, 0);
  const fleet = `${counted(nodesBefore, 'node')} at ${hourly(priceBefore)} per hour become ${nodesAfter} at ${hourly(priceAfter)}`;
  return `${fleet}, in ${counted(commands.length, 'step')} that ${commands.length === 1 ? 'moves' : 'move'} ${counted(moved, 'pod')}; found in ${totalMs.toFixed(1)} ms.`;
}

export interface ConsolidateOptions extends Omit<PlanOptions, 'repeat'> {
  /** Whether spot nodes may be replaced by spot. */
  readonly spotToSpot: boolean;
}

/**
 * `stowage consolidate` on files: the commands that would run until no more are found, as text to print. `warn` reports
 * suspicious input.
 */
export function consolidateOffline(options: ConsolidateOptions, warn: (line: string) => void = toStderr): string {
  const { result, totalMs } = consolidationOfFiles(options, warn);
  return options.output === 'json'
    ? `${JSON.stringify(consolidationDocument(result, totalMs), null, 1)}\n`
    : consolidationText(result, totalMs);
}

/** The same as data, with the input that it is of. */
export function consolidationOfFiles(
  options: ConsolidateOptions,
  warn: (line: string) => void = toStderr,
): { readonly input: PackingInput; readonly result: Consolidation; readonly totalMs: number } {
  const read = packingInputOfFiles(options, warn);
  const objects = asAtRest(read.objects);
  const input = { ...read, objects };
  const started = performance.now();
  const result = consolidateFleet({
    ...input,
    spotToSpot: options.spotToSpot,
    leastSavings: leastSavingsByPool(objects),
  });
  const totalMs = performance.now() - started;
  [...missingFrom(objects), ...resizedAmong(objects), ...problemsOf(objects, input.now)].forEach(warn);
  for (const name of takenNames(result, objects))
    warn(`Node ${name} has the name that a replacement of this plan has too`);
  return { input, result, totalMs };
}

/** Kinds that a cluster with such nodes and pods would have: probably missing in an export. */
function missingFrom({ nodes = [], pods, nodeClaims = [], podDisruptionBudgets = [] }: ClusterObjects): string[] {
  const isBound = pods.some(({ spec }) => (spec.nodeName ?? '') !== '');
  const isPooled = nodes.some(({ metadata }) => lookUp(metadata.labels, labels.nodePool) !== undefined);
  return [
    ...(isBound && podDisruptionBudgets.length === 0
      ? ['no PodDisruptionBudget among the objects: none holds a pod back']
      : []),
    ...(isPooled && nodeClaims.length === 0 ? ['no NodeClaim among the objects: no node can be disrupted'] : []),
  ];
}

/**
 * Pods that count as larger than they are now, since their owner creates them again from its template when they move.
 */
function resizedAmong(objects: ClusterObjects): string[] {
  const comesAgain = comingAgain(objects);
  const resized = objects.pods.filter((pod) => comesAgain(pod) !== pod);
  if (resized.length === 0) return [];
  const more = resized.length > 3 ? ` and ${resized.length - 3} more` : '';
  return [
    `resized in place, and counted as large as the template of their owner where they move: ${resized.slice(0, 3).map(fullName).join(', ')}${more}`,
  ];
}

/** Existing nodes with the name of a planned replacement, which makes `moves` ambiguous. */
function takenNames({ commands }: Consolidation, { nodes = [] }: ClusterObjects): readonly string[] {
  const there = new Set(nodes.map(nameOf));
  return commands.flatMap(({ candidates, replacements }, n) => {
    const taken = replacements.map((_, i) => `replacement-${n}-${i}`).filter((name) => there.has(name));
    for (const name of candidates) there.delete(name);
    return taken;
  });
}

/** Objects that have no effect or prevent all disruption, as conditions in a live cluster would show. */
function problemsOf({ nodePools, disruptionPolicies = [] }: ClusterObjects, now: number): readonly string[] {
  const ruledBy = (name: string): readonly NodePool[] =>
    nodePools.filter((pool) => effectivePolicyOf(pool, disruptionPolicies).policy === name);
  return [
    ...nodePools.flatMap((pool) => budgetProblems(pool, now).map((problem) => `NodePool ${nameOf(pool)}: ${problem}`)),
    ...disruptionPolicies.flatMap((policy) =>
      policyProblems(policy, ruledBy(nameOf(policy)), now).map(
        (problem) => `DisruptionPolicy ${nameOf(policy)}: ${problem}`,
      ),
    ),
  ];
}

/** A consolidation in the format of `stowage consolidate -o json`. */
interface ConsolidationDocument {
  readonly engine: 'stowage';
  readonly nodesBefore: number;
  readonly nodesAfter: number;
  /** Of the nodes whose price is in the catalogue, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  /** Time to evaluate the parsed objects and to find every command, milliseconds. */
  readonly totalMs: number;
  readonly commands: readonly object[];
  /** Why nodes cannot be disrupted. */
  readonly held: Consolidation['held'];
  /** Objects that could not be read and were left out. */
  readonly setAside: NonNullable<Consolidation['setAside']>;
}

function consolidationDocument(result: Consolidation, totalMs: number): ConsolidationDocument {
  return {
    engine: 'stowage',
    nodesBefore: result.nodesBefore,
    nodesAfter: result.nodesAfter,
    priceBefore: dollars(result.priceBefore),
    priceAfter: dollars(result.priceAfter),
    totalMs: Math.round(totalMs * 1000) / 1000,
    commands: result.commands.map(commandDocument),
    held: result.held,
    setAside: result.setAside ?? [],
  };
}

function commandDocument(command: ConsolidationCommand): object {
  return {
    ...command,
    replacements: command.replacements.map(claimDocument),
    priceBefore: dollars(command.priceBefore),
    priceAfter: dollars(command.priceAfter),
  };
}

/** Rounds sums of prices, whose last digits are inexact. */
function dollars(amount: number): number {
  return Math.round(amount * 1e9) / 1e9;
}
