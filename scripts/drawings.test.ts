import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { arrowsOf, isInCode } from './docs/arrows.js';
import type { Code } from './docs/arrows.js';
import { markdownPages } from './docs/pages.js';

const drawingsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^```mermaid\n([^]*?)^```/gm)].map(([, drawing = '']) => drawing);

test('the drawings of docs/architecture.md name files that are there', () => {
  const drawings = drawingsOf(readFileSync('docs/architecture.md', 'utf8'));
  const named = drawings.flatMap((drawing) => drawing.match(/[a-z-]+(?:\/[\w-]+)+\.(?:ts|md)/g) ?? []);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});

const code: Code = {
  textOf: (path) => readFileSync(path, 'utf8'),
  filesIn: (folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => `${folder}/${name}`),
};

test('the arrows of docs/architecture.md between files are in the code', () => {
  const arrows = drawingsOf(readFileSync('docs/architecture.md', 'utf8')).flatMap(arrowsOf);
  expect(arrows.length).toBeGreaterThan(20);
  const wrong = arrows.filter((arrow) => !isInCode(arrow, code));
  expect(wrong.map(({ from, label, to }) => `${from} -- ${label} --> ${to}`)).toEqual([]);
});

test('an arrow that is not in the code is found', () => {
  const isIn = (label: string, to: string): boolean => isInCode({ from: 'operator/pending-pods.ts', to, label }, code);
  expect(isIn('starter.podsPending', 'operator/starter.ts')).toBe(true);
  expect(isIn('starter.podsPending', 'workflows/launch/launch-node.ts')).toBe(false);
  expect(isIn('signals', 'operator/starter.ts')).toBe(false);
  expect(isIn('in-span.ts starts', 'operator/starter.ts')).toBe(false);
});

test.each([
  ...['budgets', 'commands', 'consolidation', 'drift', 'expiration', 'interruption', 'launch', 'provisioning'],
  ...['repair', 'static-capacity', 'termination'],
])('docs/behaviour/%s.md begins with a drawing of the whole', (name) => {
  const [introduction = ''] = readFileSync(`docs/behaviour/${name}.md`, 'utf8').split(/^### /m);
  expect(drawingsOf(introduction)).toHaveLength(1);
});

/** Words of the language of drawings: as the name of a box they make a page that shows an error. */
const reserved = ['call', 'class', 'classDef', 'click', 'default', 'end', 'href', 'linkStyle', 'style', 'subgraph'];
const asBox = new RegExp(`(?:^|--> |-- .* --> )\\s*(${reserved.join('|')})\\s*(?:[[({]|--)`, 'm');

test('no box of a drawing is named by a word of the language', () => {
  const drawings = markdownPages().flatMap(({ path, text }) => drawingsOf(text).map((drawing) => ({ path, drawing })));
  expect(drawings.length).toBeGreaterThan(15);
  expect(drawings.filter(({ drawing }) => asBox.test(drawing)).map(({ path }) => path)).toEqual([]);
  expect(asBox.test('flowchart LR\n  a[one] --> class{two}')).toBe(true);
});
