import { performance } from 'node:perf_hooks';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { labels } from '../api/labels.js';
import type { DisruptionPolicy } from '../api/stowage/disruption-policy.js';
import { lookUp } from '../core/own.js';
import { podKey } from '../core/pods.js';
import { budgetProblems } from '../disruption/budgets/budget-problems.js';
import { consolidateFleet } from '../disruption/consolidation/search.js';
import type { Consolidation, LeastSaving } from '../disruption/consolidation/types.js';
import { effectivePolicyOf } from '../disruption/policies/effective-policy.js';
import { policyProblems } from '../disruption/budgets/policy-problems.js';
import { rulesOf } from '../disruption/policies/pool-rules.js';
import { comingAgain } from '../packing/compile/moved-pods.js';
import type { ClusterObjects } from '../packing/types.js';
import { asAtRest } from './objects/complete.js';
import { consolidationDocument } from './output/consolidation-json.js';
import { consolidationText } from './output/consolidation-table.js';
import { packingInputOfFiles, toStderr, type PlanOptions } from './plan.js';

export interface ConsolidateOptions extends Omit<PlanOptions, 'repeat'> {
  /** Whether spot nodes may be replaced by spot. */
  readonly spotToSpot: boolean;
}

/**
 * `stowage consolidate` on files: the commands that would run until no more are found, as text to print. `warn` reports
 * suspicious input.
 */
export function consolidateOffline(options: ConsolidateOptions, warn: (line: string) => void = toStderr): string {
  const input = packingInputOfFiles(options, warn);
  const objects = asAtRest(input.objects);
  const started = performance.now();
  const result = consolidateFleet({
    ...input,
    objects,
    spotToSpot: options.spotToSpot,
    leastSavings: leastSavingsOf(objects),
  });
  const totalMs = performance.now() - started;
  [...missingFrom(objects), ...resizedAmong(objects), ...problemsOf(objects, input.now)].forEach(warn);
  for (const name of takenNames(result, objects))
    warn(`Node ${name} has the name that a replacement of this plan has too`);
  return options.output === 'json'
    ? `${JSON.stringify(consolidationDocument(result, totalMs), null, 1)}\n`
    : consolidationText(result, totalMs);
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
    `resized in place, and counted as large as the template of their owner where they move: ${resized.slice(0, 3).map(podKey).join(', ')}${more}`,
  ];
}

/** Minimum savings of a move according to the DisruptionPolicies. */
function leastSavingsOf({ nodePools, disruptionPolicies = [] }: ClusterObjects): ReadonlyMap<string, LeastSaving> {
  return new Map(
    nodePools.flatMap((pool) => {
      const { leastShare: share, leastDollarsPerHour: dollarsPerHour } = rulesOf(pool, disruptionPolicies);
      return share > 0 || dollarsPerHour > 0 ? [[pool.metadata.name ?? '', { share, dollarsPerHour }] as const] : [];
    }),
  );
}

/** Existing nodes with the name of a planned replacement, which makes `moves` ambiguous. */
function takenNames({ commands }: Consolidation, { nodes = [] }: ClusterObjects): readonly string[] {
  const there = new Set(nodes.map(({ metadata }) => metadata.name ?? ''));
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

const nameOf = ({ metadata }: NodePool | DisruptionPolicy): string => metadata.name ?? '';
