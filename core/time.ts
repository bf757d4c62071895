import { timestamp } from './conditions.js';

/**
 * A time for people: in seconds and UTC, as in Kubernetes and Temporal. Milliseconds since the epoch, or ISO 8601;
 * other text is returned unchanged.
 */
export function timeText(at: number | string): string {
  const ms = new Date(at).getTime();
  return Number.isNaN(ms) ? String(at) : timestamp(ms);
}

/** A time or duration in protobuf form, as in Temporal's API: seconds and nanoseconds. */
interface Timestamp {
  readonly seconds?: { toNumber(): number } | null;
  readonly nanos?: number | null;
}

/** In milliseconds; undefined if absent. */
export function millisecondsOf(timestamp: Timestamp | null | undefined): number | undefined {
  if (timestamp === null || timestamp === undefined) return undefined;
  return (timestamp.seconds?.toNumber() ?? 0) * 1000 + Math.floor((timestamp.nanos ?? 0) / 1_000_000);
}
