import { quoted } from './text.js';
import { lookUp } from './own.js';

/** Longer than any valid duration. Longer texts are not parsed, since objects may contain any text. */
const longestText = 128;

/** A Go duration that does not parse. */
export class DurationError extends Error {
  override readonly name = 'DurationError';
  constructor(
    readonly duration: string,
    readonly field: string,
  ) {
    const length = duration.length > longestText ? `; ${longestText} characters at most` : '';
    super(`${field}: ${quoted(duration)} is not a duration (such as 30s, 15m, 720h, or Never where allowed${length})`);
  }
}

const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  // The micro sign has two code points.
  '\u00b5s': 1e-3,
  '\u03bcs': 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const whole = /^\+?((\d+(\.\d*)?|\.\d+)(ns|us|[\u00b5\u03bc]s|ms|s|m|h))+$/;
const parts = /(\d+(?:\.\d*)?|\.\d+)(ns|us|[\u00b5\u03bc]s|ms|s|m|h)/g;

/**
 * Go's longest duration, 292 years, in milliseconds. Longer ones count as this, so that date arithmetic stays valid.
 */
export const longestDurationMs = 9_223_372_036_854;

/**
 * A Go duration such as `1h30m` in milliseconds, parsed like time.ParseDuration; negative ones are rejected. Throws
 * `DurationError` naming `field`.
 */
export function parseDuration(duration: string, field = 'duration'): number {
  if (duration.length > longestText || !whole.test(duration)) throw new DurationError(duration, field);
  let total = 0;
  for (const [, amount, unit] of duration.matchAll(parts)) total += Number(amount) * lookUp(units, unit!)!;
  return Math.min(total, longestDurationMs);
}

/** Like `parseDuration`; `Never` and an absent field give infinity. */
export function parseNillableDuration(duration: string | undefined, field = 'duration'): number {
  return duration === undefined || duration === 'Never' ? Number.POSITIVE_INFINITY : parseDuration(duration, field);
}
