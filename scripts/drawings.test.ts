import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/architecture.md', 'utf8');
const drawings = [...page.matchAll(/^```mermaid\n([^]*?)^```/gm)].map(([, drawing = '']) => drawing);
const named = drawings.flatMap((drawing) => drawing.match(/[a-z-]+(?:\/[\w-]+)+\.(?:ts|md)/g) ?? []);

test('the drawings of docs/architecture.md name files that are there', () => {
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});
