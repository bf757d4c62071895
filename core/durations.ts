/** A Go duration that does not parse. */
export class DurationError extends Error {
  override readonly name = 'DurationError';
  constructor(
    readonly duration: string,
    readonly field: string,
  ) {
    super(`${field}: "${duration}" is no duration (such as 30s, 15m, 720h, or Never where allowed)`);
  }
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A Go duration such as `1h30m` in milliseconds. Throws `DurationError` naming `field`. */
export function parseDuration(duration: string, field = 'duration'): number {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(duration)) throw new DurationError(duration, field);
  let total = 0;
  for (const part of duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) total += Number(part[1]) * units[part[2]!]!;
  return total;
}

/** As `parseDuration`, with `Never` and an absent field as infinity. */
export function parseNillableDuration(duration: string | undefined, field = 'duration'): number {
  return duration === undefined || duration === 'Never' ? Number.POSITIVE_INFINITY : parseDuration(duration, field);
}
