import type { z } from 'zod';
import { lookUp } from '../../core/own.js';

/** One error in an object, in terms that its author can act on. */
export interface Issue {
  /** The field, such as `spec.template.spec.requirements[0].key`; map keys are in brackets. */
  readonly path: string;
  /** The value of the field; undefined if it is missing. */
  readonly found: unknown;
  /** The allowed values as text: `1 to 100`, `one of spot, on-demand`, `matching ^...$`. */
  readonly allowed: string;
  /** The whole message as a sentence. */
  readonly message: string;
  /** An `error` makes the object unusable; a `warning` does not. */
  readonly severity: 'error' | 'warning';
}

export type FieldPath = readonly (string | number)[];

/** Formats a path as Kubernetes does: `spec.taints[1].key`, `metadata.labels[example.com/team]`. */
export function formatPath(path: FieldPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number' || !/^[A-Za-z_]\w*$/.test(part)) text += `[${part}]`;
    else text += text === '' ? part : `.${part}`;
  }
  return text;
}

/** The value at `path` inside `value`; undefined if there is none. */
export function valueAt(value: unknown, path: FieldPath): unknown {
  let at = value;
  for (const part of path) {
    if (at === null || typeof at !== 'object') return undefined;
    at = lookUp(at as Record<string, unknown>, String(part));
  }
  return at;
}

/** Shortens the value found for a message. */
export function showFound(found: unknown): string {
  if (found === undefined) return 'nothing';
  const text = JSON.stringify(found);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/** An issue whose message is composed of its parts. `why` explains what is wrong if `allowed` does not. */
export function issue(
  path: FieldPath,
  found: unknown,
  allowed: string,
  why?: string,
  severity: Issue['severity'] = 'error',
): Issue {
  const at = formatPath(path);
  const what = why === undefined ? `found ${showFound(found)}` : `${why} (found ${showFound(found)})`;
  const message = `${at}: ${what}${why === allowed ? '' : `, allowed: ${allowed}`}`;
  return { path: at, found, allowed, message, severity };
}

const nouns: Readonly<Record<string, string>> = {
  string: 'characters',
  array: 'items',
  record: 'entries',
  map: 'entries',
};

function bound(found: z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall): string {
  const noun = nouns[found.origin];
  const [word, limit] = found.code === 'too_big' ? ['at most', found.maximum] : ['at least', found.minimum];
  return `${word} ${String(limit)}${noun === undefined ? '' : ` ${noun}`}`;
}

/** The description of a field's pattern in its schema. */
const inWords = ({ message }: z.core.$ZodIssue): string => (message.startsWith('Invalid ') ? '' : `: ${message}`);

function allowedBy(found: z.core.$ZodIssue): string {
  switch (found.code) {
    case 'invalid_type':
      return `a value of type ${found.expected === 'record' ? 'object' : found.expected}`;
    case 'too_big':
    case 'too_small':
      return bound(found);
    case 'invalid_value':
      return `one of ${found.values.map(String).join(', ')}`;
    case 'invalid_format':
      return found.format === 'datetime'
        ? 'an RFC 3339 date and time'
        : `matching ${(found.pattern ?? found.format).replace(/^\/|\/$/g, '')}${inWords(found)}`;
    case 'custom':
      return String(found.params?.['allowed'] ?? found.message);
    default:
      return found.message;
  }
}

/** Converts zod's issues about `input`. Branches of a union are combined into what any of them allows. */
export function fromZod(error: z.core.$ZodError, input: unknown): Issue[] {
  return error.issues.map((found) => {
    const path = found.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    const allowed =
      found.code === 'invalid_union' && found.errors.length > 0
        ? [...new Set(found.errors.flat().map(allowedBy))].join(' or ')
        : allowedBy(found);
    return issue(path, valueAt(input, path), allowed, found.code === 'custom' ? found.message : undefined);
  });
}
