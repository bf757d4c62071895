const integer = /^[+-]?\d+$/;
const least = -(2n ** 63n);
const most = 2n ** 63n - 1n;

/** The largest integer in Kubernetes comparisons of label values. */
export const largestInt64 = most;

/**
 * The integer that Kubernetes parses from a label value, a bound or a taint; undefined if it is invalid or exceeds 64
 * bits.
 */
export function int64Of(text: string | undefined): bigint | undefined {
  if (text === undefined || !integer.test(text)) return undefined;
  const number = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return number < least || number > most ? undefined : number;
}
