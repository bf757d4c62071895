import { cutText } from './cut-text.js';

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

/** Of what a parser says, which may quote the whole text, a message shows this much. */
const longestReason = 500;

/** As `messageOf`, cut where it is long. */
export function briefMessageOf(error: unknown): string {
  return cutText(messageOf(error), longestReason);
}
