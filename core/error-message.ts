import { cutText } from './text.js';

/**
 * The message of an error, or any other thrown value as text. For a call that Temporal refused, includes the server's
 * message.
 */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = error.name === 'ServiceError' ? serverSaid(error.cause) : '';
  return said === '' || error.message.includes(said) ? error.message : `${error.message}: ${said}`;
}

/** The underlying gRPC error has the server's message in `details`; its `message` starts with the code. */
function serverSaid(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  const { details } = cause as { readonly details?: unknown };
  return typeof details === 'string' && details !== '' ? details : cause.message;
}

/**
 * The error of a YAML, TOML or JSON parser for a text that may contain secrets: position and cause, without the quoted
 * text that all of them include. File system errors are returned unchanged.
 */
export function parserMessageOf(error: unknown): string {
  const { syscall, code, codeblock, line, column, linePos, mark } = Object(error) as Partial<ParserError>;
  if (syscall !== undefined) return messageOf(error);
  const [at] = linePos ?? [];
  const place =
    codeblock === undefined ? (at ?? (mark && { line: mark.line + 1, col: mark.column + 1 })) : { line, col: column };
  // smol-toml has the cause in its first line; of the others only the code of yaml contains no quoted text.
  const why = codeblock === undefined ? code?.toLowerCase().replaceAll('_', ' ') : messageOf(error).split('\n')[0];
  return `${why ?? 'it cannot be parsed'}${place === undefined ? '' : ` at line ${place.line}, column ${place.col}`}`;
}

/**
 * Fields in the errors of smol-toml (`codeblock`), yaml (`linePos`, `code`), js-yaml (`mark`) and the file system
 * (`syscall`).
 */
interface ParserError {
  readonly syscall: string;
  readonly code: string;
  readonly codeblock: string;
  readonly line: number;
  readonly column: number;
  readonly linePos: readonly { readonly line: number; readonly col: number }[];
  readonly mark: { readonly line: number; readonly column: number };
}

/** Limit for a parser's message, which may quote the whole text. */
const longestReason = 500;

/** Like `messageOf`, truncated. */
export function briefMessageOf(error: unknown): string {
  return cutText(messageOf(error), longestReason);
}
