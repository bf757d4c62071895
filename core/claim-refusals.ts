import { backOffMs } from './back-off.js';
import { timeText } from './time.js';

/*
 * What a NodePool remembers of NodeClaims that the API server refused (an admission policy, a quota, a rule of the CRD): kept as an
 * annotation on the NodePool, so that every planner and every restart knows it, and people can read it.
 */

/** For how long a NodePool backs off after a refusal. */
const backOff = { firstMs: 10_000, longestMs: 120_000 };
/** A refusal is forgotten after this time, if nothing was tried since. */
const rememberedMs = 600_000;
const longestMessage = 500;
/** A refusal is of these pods alone if they are no more than this: an annotation is no list of a cluster's pods. */
const mostPods = 200;

export interface ClaimRefusal {
  /** `metadata.generation` of the NodePool that was refused: a changed one is tried at once. */
  readonly generation: number;
  /** Refusals in a row. */
  readonly times: number;
  /** No NodeClaim of the pool is planned until then, milliseconds of the epoch: for `pods` (`namespace/name`), where what they ask for was refused, else for any. */
  readonly until: number;
  readonly pods?: readonly string[];
  /** What the API server said. */
  readonly message: string;
}

/** The pool's refusal, as its annotation `text` tells; undefined without one, for another generation, and for text that is none. */
export function claimRefusalOf(
  text: string | undefined,
  generation: number | undefined,
  now: number,
): ClaimRefusal | undefined {
  const refusal = parse(text);
  if (refusal?.generation !== (generation ?? 0) || refusal.until + rememberedMs <= now) return undefined;
  // No back-off is longer than this, whoever wrote the annotation.
  return { ...refusal, until: Math.min(refusal.until, now + backOff.longestMs) };
}

/** What was refused. `isLasting`: a NodeClaim was created, and then refused for minutes. */
export interface Refusing {
  readonly generation?: number | undefined;
  readonly now: number;
  readonly message: string;
  readonly isLasting?: boolean;
  /** The pods whose demands the refused NodeClaims have; absent: a NodeClaim without any was refused. */
  readonly pods?: readonly string[] | undefined;
}

/** The refusal after `before`, which may be none. */
export function nextRefusal(
  before: ClaimRefusal | undefined,
  { generation = 0, now, message, isLasting = false, pods }: Refusing,
): ClaimRefusal {
  const isActive = before !== undefined && before.until > now;
  const isKnown = before !== undefined && covers(before, pods);
  // Several NodeClaims of one plan are one refusal.
  if (isActive && isKnown && !isLasting) return before;
  const isRepeated = isKnown && (before.pods === undefined) === (pods === undefined);
  const times = isRepeated ? before.times + 1 : 1;
  // If the next NodeClaim is created, the series of refusals ends. Only during a long back-off are the pods planned for other NodePools.
  const until = now + (isLasting ? backOff.longestMs : backOffMs(times, backOff));
  const refusal = { generation, times, until, message: message.slice(0, longestMessage) };
  const all = podsOfBoth(isActive ? before.pods : undefined, pods);
  return all.length === 0 || all.length > mostPods ? refusal : { ...refusal, pods: all };
}

/** None where a refusal is of any pod. */
const podsOfBoth = (before: readonly string[] = [], pods: readonly string[] | undefined): readonly string[] =>
  pods === undefined ? [] : [...new Set([...before, ...pods])];

/** Whether what is refused of these pods, or of any, is so by this refusal already. */
const covers = (refusal: ClaimRefusal, pods: readonly string[] | undefined): boolean =>
  refusal.pods === undefined || pods?.every((pod) => refusal.pods!.includes(pod)) === true;

/** Why no NodeClaim of the pool is planned now; undefined if they may be. */
export function whyBackedOffPool(refusal: ClaimRefusal | undefined, now: number): string | undefined {
  return refusal?.pods === undefined ? whyBackedOff(refusal, now) : undefined;
}

/** The pods that no NodeClaim of the pool is planned for now, and why. */
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
