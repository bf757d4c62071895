import type { CandidateRef, ConsolidateResult, DisruptionReason, NodeMemory } from '../messages.js';
import { backOffMs } from '../../core/back-off.js';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** Bounds the state that continue-as-new carries. */
const mostKept = 300;
const failureBackOff = { firstMs: 15_000, longestMs: hour };

/**
 * Updates the memory of nodes after a disruption has ended. For the targets of a command that is done it counts
 * consecutive moves of their pods, which bounds chains of moves. For the candidates of a command that failed it counts
 * the failures, and until when they are not disrupted for the same reason, longer after each failure. Entries without a
 * change for a day are dropped.
 */
export function remember(
  memory: readonly NodeMemory[],
  { outcome, reason, targets = [] }: Pick<ConsolidateResult, 'outcome' | 'reason' | 'targets'>,
  { reason: cause, candidates }: { readonly reason: DisruptionReason; readonly candidates: readonly CandidateRef[] },
  now: number,
): readonly NodeMemory[] {
  if (isOfItsPods(cause, outcome) || isRefusal(outcome)) return memory;
  const byNode = new Map(memory.filter(({ at }) => now - at < day).map((each) => [each.node, each]));
  if (outcome === 'done') noteMoves(byNode, candidates, targets, now);
  else noteFailures(byNode, candidates, { why: `${outcome}: ${reason ?? ''}`.slice(0, 160), cause, now });
  return [...byNode.values()].slice(-mostKept);
}

/** The pods of the candidates are on the targets now. */
function noteMoves(
  byNode: Map<string, NodeMemory>,
  candidates: readonly CandidateRef[],
  targets: NonNullable<ConsolidateResult['targets']>,
  now: number,
): void {
  const depth = 1 + Math.max(0, ...candidates.map(({ node, claim }) => depthOf(byNode, node, claim.name)));
  for (const { node, claim } of candidates) [node, claim.name].forEach((name) => byNode.delete(name));
  for (const { node, nodePool } of targets) {
    const known = byNode.get(node)?.depth ?? 0;
    renew(byNode, { node, nodePool, at: now, depth: Math.max(depth, known) });
  }
}

function noteFailures(
  byNode: Map<string, NodeMemory>,
  candidates: readonly CandidateRef[],
  { why, cause, now }: { readonly why: string; readonly cause: DisruptionReason; readonly now: number },
): void {
  for (const { node, nodePool } of candidates) {
    const known = byNode.get(node);
    const failures = (known?.failures ?? 0) + 1;
    renew(byNode, {
      node,
      nodePool,
      at: now,
      ...(known?.depth === undefined ? {} : { depth: known.depth }),
      failures,
      keptUntil: now + backOffMs(failures, failureBackOff),
      reason: cause,
      why,
    });
  }
}

/** Refusals by people are recorded on the NodePools instead. */
const isRefusal = (outcome: ConsolidateResult['outcome']): boolean => outcome === 'rejected' || outcome === 'aborted';

/**
 * An empty node may get pods and lose them again, so that other outcomes than a failure say nothing about the next
 * attempt.
 */
function isOfItsPods(cause: DisruptionReason, outcome: ConsolidateResult['outcome']): boolean {
  return cause === 'Empty' && outcome !== 'done' && outcome !== 'failed';
}

/** Forgets the chains of moves of a NodePool, after a person resumed it. */
export function withoutMoveChains(memory: readonly NodeMemory[], nodePool: string): readonly NodeMemory[] {
  return memory.filter((each) => each.nodePool !== nodePool || each.depth === undefined);
}

function depthOf(byNode: ReadonlyMap<string, NodeMemory>, node: string, claim: string): number {
  return byNode.get(node)?.depth ?? byNode.get(claim)?.depth ?? 0;
}

/** Moves the entry to the end: the oldest entries are dropped first. */
function renew(byNode: Map<string, NodeMemory>, entry: NodeMemory): void {
  byNode.delete(entry.node);
  byNode.set(entry.node, entry);
}
