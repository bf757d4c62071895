import { proseOf } from './pages.js';

/** A row of a table by the heads of its columns. */
export type Row = Readonly<Record<string, string>>;

/** The tables of a page, each with its rows. */
export function tablesOf(text: string): readonly (readonly Row[])[] {
  const tables = proseOf(text).match(/^\|.*\|$(?:\n\|.*\|$)*/gm) ?? [];
  return tables.map((table) => {
    const [heads = [], , ...rows] = table.split('\n').map(cellsOf);
    return rows.map((cells) => Object.fromEntries(heads.map((head, at) => [head, cells[at] ?? ''])));
  });
}

const cellsOf = (line: string): string[] =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());

/** What a cell names as tests: files, each with what of a test's title stands behind it in quotes. */
export const testsIn = (cell: string): readonly { readonly file: string; readonly title?: string | undefined }[] =>
  [...cell.matchAll(/`([^`]+\.test\.ts)`(?:, "([^"]+)")?/g)].map(([, file = '', title]) => ({ file, title }));
