const begin = '<!-- import-table: npm run import-table -->';
const end = '<!-- /import-table -->';

/** The alternatives of a path's pattern, those in brackets written out. */
function alternatives(pattern) {
  const parts = [];
  let depth = 0;
  let part = '';
  for (const letter of pattern) {
    if (letter === '(') depth += 1;
    if (letter === ')') depth -= 1;
    if (letter === '|' && depth === 0) {
      parts.push(part);
      part = '';
    } else part += letter;
  }
  return [...parts, part].flatMap((each) => (each.startsWith('(node:)?') ? ['node:'] : spelledOut(each)));
}

function spelledOut(pattern) {
  const group = /^(.*?)\(([^()?]+)\)(.*)$/.exec(pattern);
  if (group === null) return [pattern];
  const [, before, inside, after] = group;
  return inside.split('|').flatMap((each) => spelledOut(`${before}${each}${after}`));
}

/** Modules of Node's own are one word; folders and packages are named as they are. */
function nameOf(pattern) {
  if (/^(node:|[a-z0-9_]+\??\$?)$/.test(pattern)) return 'Node';
  const path = pattern.replace('node_modules/', '').replaceAll('\\', '').replace(/\$$/, '');
  return path.replace('[a-z]+', '*').replace(/\/$/, '');
}

const listOf = (pattern) => [...new Set(alternatives(pattern).map(nameOf))].join(', ');

export function tableOf(rows) {
  const lines = rows.map(({ name, allowed, types, comment }) => {
    const own = types === undefined ? '-' : listOf(types);
    return `| ${name} | ${listOf(allowed)} | ${own} | ${comment.replaceAll('|', '/')} |`;
  });
  return ['| from | may import | and types of | why |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

/** The page with the table between its marks. */
export function withTable(page, table) {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/architecture.md: found no "${begin}" before "${end}"`);
  return `${page.slice(0, from)}${begin}\n\n${table}\n\n${page.slice(to)}`;
}

/** The cells of the table in a page, however wide its columns are. */
export function rowsIn(page) {
  const table = page.slice(page.indexOf(begin), page.indexOf(end));
  return table
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^[|\s-]+$/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}
