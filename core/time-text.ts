/**
 * A time for people: to the second, in UTC, as everything that Kubernetes and Temporal print. Milliseconds of the epoch, or ISO 8601; a
 * text that is no time is given as it is.
 */
export function timeText(at: number | string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString().replace(/\.\d+Z$/, 'Z');
}
