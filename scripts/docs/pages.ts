import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Page {
  /** Its path from the root. */
  readonly path: string;
  readonly text: string;
}

/** Every Markdown page of the repository. */
export function markdownPages(): readonly Page[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], { encoding: 'utf8' });
  return listed
    .split('\n')
    .filter((path) => path !== '')
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
}

/** The text without blocks of code, in which nothing is a link or a heading. */
export const proseOf = (text: string): string => text.replaceAll(/^( *)```[^]*?^\1```$/gm, '');

/** The anchors of a page as GitHub makes them of its headings. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, title = ''] of proseOf(text).matchAll(/^#+ +(.*?)\s*$/gm)) {
    const slug = title
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-');
    let anchor = slug;
    for (let i = 1; anchors.has(anchor); i++) anchor = `${slug}-${i}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** What a page links to within the repository. */
export function linksOf(text: string): readonly string[] {
  const targets = [...proseOf(text).matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

/** What stands in backticks in its prose. */
export const quotedIn = (text: string): readonly string[] =>
  [...proseOf(text).matchAll(/`([^`\n]+)`/g)].map(([, quoted = '']) => quoted);

/** What a page shows of a shell, in order: blocks that say so, lines that are set off as code and begin with one of `programs`, and such calls in a sentence. */
export function shellIn(text: string, programs: readonly string[]): readonly string[] {
  const called = new RegExp(`^(?:\\$ )?((?:${programs.map((name) => name.replaceAll('/', '\\/')).join('|')}) .*)$`);
  const blocks = [...text.matchAll(/^( *)```(?:sh|bash)\n([^]*?)^\1```$/gm)].map(([, , body = '']) => body);
  const prose = proseOf(text);
  const lines = [...prose.matchAll(/^ {4,}(.+)$/gm)].map(([, line = '']) => line);
  const sentences = quotedIn(text);
  return [...blocks, ...[...lines, ...sentences].flatMap((line) => called.exec(line)?.[1] ?? [])];
}
