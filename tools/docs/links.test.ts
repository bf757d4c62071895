import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], { encoding: 'utf8' });
const pages = listed.split('\n').filter((path) => path !== '' && existsSync(path));

/** The text without blocks of code, in which nothing is a link or a heading. */
const proseOf = (text: string): string => text.replaceAll(/^( *)```[^]*?^\1```$/gm, '');

/** The anchors of a page as GitHub makes them of its headings. */
function anchorsOf(text: string): ReadonlySet<string> {
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

/** The links of a page within the repository that lead nowhere. */
function brokenLinks(path: string, text: string): readonly string[] {
  const targets = [...proseOf(text).matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [to = '', anchor] = target.split('#');
    const file = to === '' ? path : join(dirname(path), to);
    if (!existsSync(file)) return true;
    return anchor !== undefined && file.endsWith('.md') && !anchorsOf(readFileSync(file, 'utf8')).has(anchor);
  });
}

test('every link between pages of the repository leads to an existing file and heading', () => {
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.flatMap((path) => brokenLinks(path, readFileSync(path, 'utf8')).map((to) => `${path}: ${to}`))).toEqual(
    [],
  );
});

test('a link to a missing file or heading is reported', () => {
  const text = '[a](none.md) [b](README.md#none) [c](README.md#stowage) [d](README.md)';
  expect(brokenLinks('README.md', text)).toEqual(['none.md', 'README.md#none']);
});
