import { annotations, labels } from '../../api/labels.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { doNotDisruptUntil } from '../../core/do-not-disrupt.js';
import { isSame } from '../../core/same.js';
import { consolidatableAt, settlesAt } from '../../disruption/consolidation/consolidatable.js';
import type { Consolidation, ConsolidationInput } from '../../disruption/consolidation/types.js';

/** A search and its repetition with what nobody had answered. */
const mostKept = 2;

interface Kept {
  readonly input: ConsolidationInput;
  readonly answer: Consolidation;
}

/**
 * The last searches whose answers time alone does not change: the same input has the same answer at any later time. So a cluster at rest is not
 * searched again every five minutes (consolidation/when-it-searches).
 */
export class SearchMemory {
  private kept: readonly Kept[] = [];

  /** What a search of `input` answered before. */
  find(input: ConsolidationInput): Consolidation | undefined {
    return this.kept.find((known) => isRepetition(known.input, input))?.answer;
  }

  note(input: ConsolidationInput, answer: Consolidation): void {
    if (answer.cutShort === true || answer.setAside !== undefined || !isTimeless(input)) return;
    this.kept = [{ input, answer }, ...this.kept].slice(0, mostKept);
  }
}

function isRepetition(known: ConsolidationInput, input: ConsolidationInput): boolean {
  return input.now >= known.now && byOf(input) >= byOf(known) && isSame(atNoTime(input), atNoTime(known));
}

const byOf = ({ now, consolidatableBy = now }: ConsolidationInput): number => consolidatableBy;

const atNoTime = (input: ConsolidationInput): object => ({ ...input, now: 0, consolidatableBy: 0 });

/** Whether nothing of it begins, ends or becomes due after its own time. */
function isTimeless(input: ConsolidationInput): boolean {
  const { objects, settings, now } = input;
  const by = Math.min(now, byOf(input));
  const pools = new Map(objects.nodePools.map((pool) => [pool.metadata.name ?? '', pool]));
  return (
    objects.nodePools.every(isPoolTimeless) &&
    (objects.disruptionPolicies ?? []).every(isPolicyTimeless) &&
    (settings.commitments ?? []).every(({ until }) => until === undefined) &&
    (objects.nodeClaims ?? []).every((claim) => {
      const view = {
        claim,
        node: undefined,
        pool: pools.get(claim.metadata.labels?.[labels.nodePool] ?? ''),
        pods: [],
        pricePerHour: 0,
      };
      return [consolidatableAt(view), settlesAt(view)].every((at) => at <= by || !Number.isFinite(at));
    }) &&
    objects.pods.every((pod) => !Number.isFinite(doNotDisruptUntil(pod, now)))
  );
}

/** Budgets with a schedule open and close, and a NodePool whose NodeClaims were refused rests for a while. */
const isPoolTimeless = ({ metadata, spec }: NodePool): boolean =>
  metadata.annotations?.[annotations.claimsRefused] === undefined &&
  spec.disruption.budgets.every(({ schedule }) => schedule === undefined);

const isPolicyTimeless = ({ spec }: DisruptionPolicy): boolean =>
  (spec.maintenanceWindows ?? []).length === 0 && (spec.rates ?? []).length === 0;
