/** A TOML value of the kinds that Bottlerocket's settings use. */
export type TomlValue = string | number | boolean | TomlValue[] | TomlTable;
export interface TomlTable {
  [key: string]: TomlValue;
}

/** A dotted key, whose parts may be quoted. */
function keyPath(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|([^.\s]+)/g)].map((part) => part[1] ?? part[2] ?? part[3] ?? '');
}

function tableAt(root: TomlTable, path: readonly string[]): TomlTable {
  let at = root;
  for (const step of path) {
    const next = at[step];
    at = typeof next === 'object' && !Array.isArray(next) ? next : (at[step] = {});
  }
  return at;
}

/** The items of an array, which may be arrays and strings that hold commas. */
function splitItems(text: string): string[] {
  const items = [''];
  let depth = 0;
  for (const token of text.match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^"']/g) ?? []) {
    if (token === '[') depth++;
    if (token === ']') depth--;
    if (token === ',' && depth === 0) items.push('');
    else items.push((items.pop() ?? '') + token);
  }
  return items.filter((item) => item.trim() !== '');
}

function parseValue(text: string): TomlValue {
  const value = text.trim();
  if (value.startsWith('[')) {
    return splitItems(value.slice(1, value.lastIndexOf(']'))).map(parseValue);
  }
  if (value.startsWith('"')) return JSON.parse(value.slice(0, value.lastIndexOf('"') + 1)) as string;
  if (value.startsWith("'")) return value.slice(1, value.lastIndexOf("'"));
  if (value === 'true' || value === 'false') return value === 'true';
  const number = Number(value.replace(/\s*#.*$/, '').replaceAll('_', ''));
  if (Number.isNaN(number)) throw new Error(`"${value}" is no TOML value`);
  return number;
}

/** Position of the `=` that ends the key; keys may be quoted and hold one. */
function endOfKey(line: string): number {
  const match = /^\s*(?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*\s*=/.exec(line);
  if (match === null) throw new Error(`"${line}" is no line of TOML`);
  return match[0].length - 1;
}

/** Parses tables, dotted keys, strings, numbers, booleans and arrays (also over several lines). Throws on other lines. */
export function parseToml(document: string): TomlTable {
  const root: TomlTable = {};
  let table = root;
  const lines = document.split('\n');
  for (let index = 0; index < lines.length; index++) {
    let line = lines[index]!.trim();
    if (line === '' || line.startsWith('#')) continue;
    const header = /^\[([^[\]]+)\]\s*(#.*)?$/.exec(line);
    if (header !== null) {
      table = tableAt(root, keyPath(header[1]!));
      continue;
    }
    const at = endOfKey(line);
    while (
      line
        .slice(at + 1)
        .trimStart()
        .startsWith('[') &&
      !line.includes(']', at) &&
      index + 1 < lines.length
    ) {
      line += ` ${lines[++index]!.trim()}`;
    }
    const path = keyPath(line.slice(0, at));
    tableAt(table, path.slice(0, -1))[path.at(-1)!] = parseValue(line.slice(at + 1));
  }
  return root;
}
