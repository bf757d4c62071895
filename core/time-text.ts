import { timestamp } from './conditions.js';

/**
 * A time for people: to the second, in UTC, as everything that Kubernetes and Temporal print. Milliseconds of the epoch, or ISO 8601; a
 * text that is no time is given as it is.
 */
export function timeText(at: number | string): string {
  const ms = new Date(at).getTime();
  return Number.isNaN(ms) ? String(at) : timestamp(ms);
}
