import { annotations, labels } from '../../api/labels.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { doNotDisruptUntil } from '../../core/do-not-disrupt.js';
import { consolidatableAt, settlesAt } from '../../disruption/consolidation/consolidatable.js';
import type { Consolidation, ConsolidationInput } from '../../disruption/consolidation/types.js';
import { hasOwn, lookUp } from '../../core/own.js';
import { nameOf } from '../../core/names.js';

/** A search, and its repetition with the nodes that have open questions or refusals. */
const mostKept = 2;

interface Kept {
  readonly input: ConsolidationInput;
  readonly answer: Consolidation;
}

/**
 * The last searches whose results do not depend on the time: the same input has the same result at any later time. Thus
 * an idle cluster is not searched again every five minutes (consolidation/when-it-searches).
 */
export class SearchMemory {
  private kept: readonly Kept[] = [];

  /** The result of an earlier search with the same input; undefined if there is none. */
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

/** Whether nothing in the input begins, ends or becomes due after the input's own time. */
function isTimeless(input: ConsolidationInput): boolean {
  const { objects, settings, now } = input;
  const by = Math.min(now, byOf(input));
  const pools = new Map(objects.nodePools.map((pool) => [nameOf(pool), pool]));
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

/** Budgets with a schedule open and close, and a NodePool whose NodeClaims were refused is excluded for a while. */
const isPoolTimeless = ({ metadata, spec }: NodePool): boolean =>
  metadata.annotations?.[annotations.refusals] === undefined &&
  spec.disruption.budgets.every(({ schedule }) => schedule === undefined);

const isPolicyTimeless = ({ spec }: DisruptionPolicy): boolean =>
  (spec.maintenanceWindows ?? []).length === 0 && (spec.rates ?? []).length === 0;

/**
 * Deep equality of plain objects, arrays, maps and sets. Identical objects are not descended into; members of sets and
 * keys of maps are not compared deeply.
 */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  const areAlike = isObject(a) && isObject(b) && Object.getPrototypeOf(a) === Object.getPrototypeOf(b);
  return areAlike && arePartsSame(a, b);
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** For two objects with the same prototype. */
function arePartsSame(a: object, b: object): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((each, at) => isSame(each, b[at]));
  }
  if (a instanceof Map && b instanceof Map) return areMapsSame(a, b);
  if (a instanceof Set && b instanceof Set) return a.size === b.size && [...a].every((each) => b.has(each));
  return areObjectsSame(a, b);
}

function areMapsSame(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.has(key) && isSame(value, b.get(key)));
}

function areObjectsSame(a: object, b: object): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  const valueOf = (of: object, key: string): unknown => lookUp(of as Record<string, unknown>, key);
  return keys.every((key) => hasOwn(b, key) && isSame(valueOf(a, key), valueOf(b, key)));
}
