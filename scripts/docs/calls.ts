import type { Command } from 'commander';

/** A call of a program, as a page shows it. */
export interface Call {
  readonly program: string;
  readonly words: readonly string[];
}

/**
 * Calls of `program` on a page: in a block of code, in backticks, or behind `--` of kubectl; up to a comment, a pipe or a redirection.
 * A line that ends with a backslash goes on.
 */
export function callsOf(text: string, program: string): readonly Call[] {
  const joined = text.replaceAll(/\\\n\s*/g, ' ');
  const start = new RegExp(`(?:^ *|\`|-- |&& |\\$\\()(?:bin/)?${program} (\\w[^\`\\n#|>;]*)`, 'gm');
  return [...joined.matchAll(start)].map(([, rest = '']) => ({ program, words: rest.trim().split(/\s+/) }));
}

/** What is wrong with a call of `stowage`; undefined for nothing. */
export function problemOfCall({ words }: Call, commands: ReadonlyMap<string, readonly Command[]>): string | undefined {
  const [name = '', ...rest] = words;
  // Stands for any of them.
  if (name === 'NAME') return undefined;
  const found = commands.get(name);
  if (found === undefined) return `stowage has no command ${name}`;
  const options = new Set(found.flatMap((each) => each.options.flatMap(({ long, short }) => [long, short])));
  const unknown = rest
    .filter((word) => /^--?[a-z]/.test(word))
    .map((word) => word.replace(/=.*/, ''))
    .filter((word) => !options.has(word) && word !== '--help');
  return unknown.length === 0 ? undefined : `stowage ${name} has no option ${unknown.join(', ')}`;
}
