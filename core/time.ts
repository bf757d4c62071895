import { timestamp } from './conditions.js';

/**
 * A time for people: to the second, in UTC, as everything that Kubernetes and Temporal print. Milliseconds of the epoch, or ISO 8601; a
 * text that is no time is given as it is.
 */
export function timeText(at: number | string): string {
  const ms = new Date(at).getTime();
  return Number.isNaN(ms) ? String(at) : timestamp(ms);
}

/** A point in time or a duration as protobuf has it: Temporal's API, in seconds and nanoseconds. */
interface Timestamp {
  readonly seconds?: { toNumber(): number } | null;
  readonly nanos?: number | null;
}

/** Its milliseconds; undefined where there is none. */
export function millisecondsOf(timestamp: Timestamp | null | undefined): number | undefined {
  if (timestamp === null || timestamp === undefined) return undefined;
  return (timestamp.seconds?.toNumber() ?? 0) * 1000 + Math.floor((timestamp.nanos ?? 0) / 1_000_000);
}
