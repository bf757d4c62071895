/** A text of `most` characters at most; what is left out is said. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = ` … (${text.length} characters)`;
  return text.slice(0, Math.max(0, most - end.length)) + end;
}

/** The longest message of an error for a user. */
export const longestMessage = 4000;

/** Of what somebody wrote an error message shows this much. */
const mostQuoted = 200;

/** What somebody wrote, as an error message shows it. */
export function quoted(text: string): string {
  return `"${cutText(text, mostQuoted)}"`;
}
