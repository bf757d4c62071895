/** Control characters but tab and newline, and those that turn the direction of text: what users wrote is shown, never obeyed. */
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text as a terminal may have it: what it would act on stands as its code, such as `\u001b`. */
export const printable = (text: string): string =>
  text.replace(obeyed, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);

const breaks = /[\s\u0085]*[\n\r\v\f\u0085\u2028\u2029]\s*|\s{2,}/g;

/**
 * The same with each text in it on one line, in which no run of spaces fills a line of the terminal: texts that others wrote, such as messages of events and
 * conditions, stand among lines of ours, and are none.
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
