/** A text of `most` characters at most; what is left out is said. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = ` … (${text.length} characters)`;
  return text.slice(0, Math.max(0, most - end.length)) + end;
}
