/** Truncates a text to `most` characters and says how much was cut. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = ` … (${text.length} characters)`;
  return text.slice(0, Math.max(0, most - end.length)) + end;
}

/** Maximum length of an error message for users. */
export const longestMessage = 4000;

/** Maximum length of user input quoted in an error message. */
const mostQuoted = 200;

/** User input quoted for an error message. */
export function quoted(text: string): string {
  return `"${cutText(text, mostQuoted)}"`;
}

/** Order by UTF-16 code units: independent of the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The first few names, and the number of the others. */
export function listedNames(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}

/** A count with its noun: `1 pod`, `3 pods`. Used for every text with a count. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** The verb for a count: `1 pod is`, `2 pods are`. */
export function verb(count: number, singular: string, plural: string): string {
  return count === 1 ? singular : plural;
}

/** Without a dollar sign: the Temporal UI renders text between two of them as a formula. */
export function dollars(amount: number): string {
  return `${String(Math.round(amount * 1e4) / 1e4)} USD`;
}

/**
 * Names of types and reasons in metric labels, as in Karpenter: `AcceleratedHardwareReady` becomes
 * `accelerated_hardware_ready`.
 */
export const snakeCase = (text: string): string =>
  text
    .replace(/(.)([A-Z][a-z]+)/g, '$1_$2')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();

/**
 * Control characters except tab and newline, and those that change the direction of text: a terminal must not interpret
 * user input.
 */
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Escapes control characters for a terminal, such as `\u001b`. */
export const printable = (text: string): string =>
  text.replace(obeyed, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);

const breaks = /[\s\u0085]*[\n\r\v\f\u0085\u2028\u2029]\s*|\s{2,}/g;

/**
 * The value with each text in it on one line and with runs of spaces shortened, so that text of other origin, such as
 * messages of events and conditions, cannot imitate lines of output.
 */
export function onOneLine<T>(value: T, known = new Map<object, unknown>()): T {
  if (typeof value === 'string') return value.replace(breaks, ' ') as T;
  if (typeof value !== 'object' || value === null) return value;
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return value;
  const before = known.get(value);
  if (before !== undefined) return before as T;
  const copy = (Array.isArray(value) ? [] : {}) as Record<string, unknown>;
  known.set(value, copy);
  for (const [key, each] of Object.entries(value)) copy[key] = onOneLine(each, known);
  return copy as T;
}

/** The name without the kind of blocker in brackets that `StowageBlockedBy` has: `pdb/shop/web (never)` becomes `pdb/shop/web`. */
export const blockerName = (name: string): string => name.replace(/ \([\w-]+\)$/, '');

/** `pdb/shop/web can never allow an eviction`. */
export const blockerText = ({ name, why }: { readonly name: string; readonly why: string }): string =>
  `${blockerName(name)} ${why}`;
