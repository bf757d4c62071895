/** A time for people: to the second, in UTC, as everything that Kubernetes and Temporal print. Milliseconds of the epoch, or ISO 8601. */
export function timeText(at: number | string): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
