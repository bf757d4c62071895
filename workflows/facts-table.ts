import type { Explanation } from './messages.js';

/** Facts as the lines of a Markdown table with a blank line before it; none without facts. */
export function factsTable(facts: Explanation['facts']): string[] {
  const rows = Object.entries(facts).map(([name, value]) => `| ${cell(name)} | ${cell(value)} |`);
  return rows.length === 0 ? [] : ['', '| | |', '| --- | --- |', ...rows];
}

/** Reasons are people's own words: none ends its cell. */
function cell(value: string | number | boolean): string {
  return String(value)
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ');
}
