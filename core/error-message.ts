import { cutText } from './cut-text.js';

/** What a failure says; whatever else was thrown, as text. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Of what a parser says, which may quote the whole text, a message shows this much. */
const longestReason = 500;

/** As `messageOf`, cut where it is long. */
export function briefMessageOf(error: unknown): string {
  return cutText(messageOf(error), longestReason);
}
