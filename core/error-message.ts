import { cutText } from './text.js';

/** What a failure says; whatever else was thrown, as text. Of a call that Temporal refused, what the server said, too. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = error.name === 'ServiceError' ? serverSaid(error.cause) : '';
  return said === '' || error.message.includes(said) ? error.message : `${error.message}: ${said}`;
}

/** The error of gRPC beneath has what the server said as `details`, and before that its code in words in its message. */
function serverSaid(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  const { details } = cause as { readonly details?: unknown };
  return typeof details === 'string' && details !== '' ? details : cause.message;
}

/**
 * What a parser of YAML, TOML or JSON says of a text that may hold secrets: where it breaks and why, without anything of the text, which all of them quote.
 * What a file system says of the file is said as it is.
 */
export function parserMessageOf(error: unknown): string {
  const { syscall, code, codeblock, line, column, linePos, mark } = Object(error) as Partial<ParserError>;
  if (syscall !== undefined) return messageOf(error);
  const [at] = linePos ?? [];
  const place =
    codeblock === undefined ? (at ?? (mark && { line: mark.line + 1, col: mark.column + 1 })) : { line, col: column };
  // smol-toml has the reason in its first line; of the others only the code of yaml has nothing of the text.
  const why = codeblock === undefined ? code?.toLowerCase().replaceAll('_', ' ') : messageOf(error).split('\n')[0];
  return `${why ?? 'it cannot be parsed'}${place === undefined ? '' : ` at line ${place.line}, column ${place.col}`}`;
}

/** What smol-toml (`codeblock`), yaml (`linePos`, `code`), js-yaml (`mark`) and the file system (`syscall`) have in their errors. */
interface ParserError {
  readonly syscall: string;
  readonly code: string;
  readonly codeblock: string;
  readonly line: number;
  readonly column: number;
  readonly linePos: readonly { readonly line: number; readonly col: number }[];
  readonly mark: { readonly line: number; readonly column: number };
}

/** Of what a parser says, which may quote the whole text, a message shows this much. */
const longestReason = 500;

/** As `messageOf`, cut where it is long. */
export function briefMessageOf(error: unknown): string {
  return cutText(messageOf(error), longestReason);
}
