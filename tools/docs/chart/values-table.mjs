// The values of a chart as a Markdown table: each key with a comment that begins with `# -- `, which may go on over lines.
import { isCollection, isMap, parseDocument } from 'yaml';

export function valuesTable(text) {
  const rows = [...rowsOf(text, parseDocument(text).contents, [])].map(
    ({ path, fallback, description }) => `| \`${path}\` | ${fallback} | ${description} |`,
  );
  return ['| value | default | what it is |', '| --- | --- | --- |', ...rows, ''].join('\n');
}

function* rowsOf(text, map, above) {
  for (const { key, value } of map.items) {
    const path = [...above, key.value];
    const description = commentAbove(text, key.range[0]);
    if (description !== undefined) yield { path: path.join('.'), fallback: shown(value), description };
    else if (isMap(value)) yield* rowsOf(text, value, path);
    else throw new Error(`values.yaml: ${path.join('.')} has no comment that begins with "# -- "`);
  }
}

function shown(value) {
  const plain = isCollection(value) ? value.toJSON() : value.value;
  return `\`${JSON.stringify(plain ?? null)}\``;
}

/** The comment on the lines directly above. */
function commentAbove(text, at) {
  const lines = text.slice(0, at).split('\n').slice(0, -1);
  const comment = [];
  for (let line = lines.pop(); line?.trimStart().startsWith('#'); line = lines.pop()) {
    const said = line.trim().slice(1).trim();
    comment.unshift(said.replace(/^-- /, ''));
    if (said.startsWith('-- ')) return comment.join(' ').replaceAll('|', '\\|');
  }
  return undefined;
}
