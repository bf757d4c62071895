import { backOffMs } from './back-off.js';
import { timeText } from './time.js';

/**
 * Records on a NodePool that the API server refused its NodeClaims (an admission policy, a quota, a CRD validation).
 * Kept as an annotation, so that it survives restarts and users can read it.
 */

/** Back-off of a NodePool after refusals. */
const backOff = { firstMs: 10_000, longestMs: 120_000 };
/** A refusal expires after this time without attempts. */
const rememberedMs = 600_000;
const longestMessage = 500;
/**
 * Maximum number of pods recorded for a refusal, since an annotation is limited in size. With more, the refusal applies
 * to all pods.
 */
const mostPods = 200;

export interface ClaimRefusal {
  /** `metadata.generation` of the refused NodePool: a changed one is tried immediately. */
  readonly generation: number;
  /** Refusals in a row. */
  readonly times: number;
  /**
   * No NodeClaim of the pool is planned until then, milliseconds since the epoch. Applies to `pods` (`namespace/name`)
   * if their requests were refused, otherwise to all pods.
   */
  readonly until: number;
  readonly pods?: readonly string[];
  /** The message of the API server. */
  readonly message: string;
}

/**
 * The pool's refusal, parsed from its annotation `text`; undefined without one, for another generation, and for invalid
 * text.
 */
export function claimRefusalOf(
  text: string | undefined,
  generation: number | undefined,
  now: number,
): ClaimRefusal | undefined {
  const refusal = parse(text);
  if (refusal?.generation !== (generation ?? 0) || refusal.until + rememberedMs <= now) return undefined;
  // Bounded: users can write any time into the annotation.
  return { ...refusal, until: Math.min(refusal.until, now + backOff.longestMs) };
}

/** A refusal to record. `isLasting`: a NodeClaim was created, and writes to it were then refused for minutes. */
export interface Refusing {
  readonly generation?: number | undefined;
  readonly now: number;
  readonly message: string;
  readonly isLasting?: boolean;
  /** The pods whose requests the refused NodeClaims have; absent: a NodeClaim without pods was refused. */
  readonly pods?: readonly string[] | undefined;
}

/** The refusal after `before`, which may be undefined. */
export function nextRefusal(
  before: ClaimRefusal | undefined,
  { generation = 0, now, message, isLasting = false, pods }: Refusing,
): ClaimRefusal {
  const isActive = before !== undefined && before.until > now;
  const isKnown = before !== undefined && covers(before, pods);
  // Several NodeClaims of one plan count as one refusal.
  if (isActive && isKnown && !isLasting) return before;
  const isRepeated = isKnown && (before.pods === undefined) === (pods === undefined);
  const times = isRepeated ? before.times + 1 : 1;
  // If the next NodeClaim is created, the series of refusals ends. Only during a long back-off are the pods planned for
  // other NodePools.
  const until = now + (isLasting ? backOff.longestMs : backOffMs(times, backOff));
  const refusal = { generation, times, until, message: message.slice(0, longestMessage) };
  const all = podsOfBoth(isActive ? before.pods : undefined, pods);
  return all.length === 0 || all.length > mostPods ? refusal : { ...refusal, pods: all };
}

/** Empty if a refusal applies to all pods. */
const podsOfBoth = (before: readonly string[] = [], pods: readonly string[] | undefined): readonly string[] =>
  pods === undefined ? [] : [...new Set([...before, ...pods])];

/** Whether the recorded refusal already applies to these pods, or to all. */
const covers = (refusal: ClaimRefusal, pods: readonly string[] | undefined): boolean =>
  refusal.pods === undefined || pods?.every((pod) => refusal.pods!.includes(pod)) === true;

/** Why no NodeClaim of the pool is planned now; undefined if allowed. */
export function whyBackedOffPool(refusal: ClaimRefusal | undefined, now: number): string | undefined {
  return refusal?.pods === undefined ? whyBackedOff(refusal, now) : undefined;
}

/** The pods for which no NodeClaim of the pool is planned now, and why. */
export function podsBackedOff(
  refusal: ClaimRefusal | undefined,
  now: number,
): { readonly pods: ReadonlySet<string>; readonly why: string } | undefined {
  const why = refusal?.pods === undefined ? undefined : whyBackedOff(refusal, now);
  return why === undefined ? undefined : { pods: new Set(refusal?.pods), why: `for this pod it ${why}` };
}

function whyBackedOff(refusal: ClaimRefusal | undefined, now: number): string | undefined {
  if (refusal === undefined || refusal.until <= now) return undefined;
  return `backs off until ${timeText(refusal.until)}, because the API server refused a NodeClaim: ${refusal.message}`;
}

function parse(text: string | undefined): ClaimRefusal | undefined {
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Partial<Record<keyof ClaimRefusal, unknown>> | null;
    if (typeof value !== 'object' || value === null) return undefined;
    const { generation, times, until, message, pods } = value;
    if (![generation, times, until].every(Number.isFinite) || typeof message !== 'string') return undefined;
    const isList = Array.isArray(pods) && pods.length <= mostPods && pods.every((pod) => typeof pod === 'string');
    const ofPods = isList && pods.length > 0 ? { pods } : {};
    return { generation: Number(generation), times: Number(times), until: Number(until), message, ...ofPods };
  } catch {
    return undefined;
  }
}
