import { backOffMs } from './back-off.js';
import { timeText } from './time-text.js';

/*
 * What a NodePool remembers of NodeClaims that the API server refused (an admission policy, a quota, a rule of the CRD): kept as an
 * annotation on the NodePool, so that every planner and every restart knows it, and people can read it.
 */

/** For how long a NodePool backs off after a refusal. */
const backOff = { firstMs: 10_000, longestMs: 120_000 };
/** A refusal is forgotten after this time, if nothing was tried since. */
const rememberedMs = 600_000;
const longestMessage = 500;

export interface ClaimRefusal {
  /** `metadata.generation` of the NodePool that was refused: a changed one is tried at once. */
  readonly generation: number;
  /** Refusals in a row. */
  readonly times: number;
  /** No NodeClaim of the pool is planned until then, milliseconds of the epoch. */
  readonly until: number;
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
}

/** The refusal after `before`, which may be none. */
export function nextRefusal(
  before: ClaimRefusal | undefined,
  { generation = 0, now, message, isLasting = false }: Refusing,
): ClaimRefusal {
  // Several NodeClaims of one plan are one refusal.
  if (before !== undefined && before.until > now && !isLasting) return before;
  const times = (before?.times ?? 0) + 1;
  // If the next NodeClaim is created, the series of refusals ends. Only during a long back-off are the pods planned for other NodePools.
  const until = now + (isLasting ? backOff.longestMs : backOffMs(times, backOff));
  return { generation, times, until, message: message.slice(0, longestMessage) };
}

/** Why no NodeClaim of the pool is planned now; undefined if they may be. */
export function whyBackedOffPool(refusal: ClaimRefusal | undefined, now: number): string | undefined {
  if (refusal === undefined || refusal.until <= now) return undefined;
  return `backs off until ${timeText(refusal.until)}, because the API server refused a NodeClaim: ${refusal.message}`;
}

function parse(text: string | undefined): ClaimRefusal | undefined {
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Partial<Record<keyof ClaimRefusal, unknown>> | null;
    if (typeof value !== 'object' || value === null) return undefined;
    const { generation, times, until, message } = value;
    if (![generation, times, until].every(Number.isFinite) || typeof message !== 'string') return undefined;
    return { generation: Number(generation), times: Number(times), until: Number(until), message };
  } catch {
    return undefined;
  }
}
