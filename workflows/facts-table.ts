import type { Explanation } from './messages.js';

/** Facts as a Markdown table, with a blank line before it; no lines without facts. */
export function factsTable(facts: Explanation['facts']): string[] {
  const rows = Object.entries(facts).map(([name, value]) => `| ${cell(name)} | ${cell(value)} |`);
  return rows.length === 0 ? [] : ['', '| | |', '| --- | --- |', ...rows];
}

/** Values may contain people's own words: escapes what would break the table. */
function cell(value: string | number | boolean): string {
  return String(value)
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ');
}
