const begin = '<!-- workflow-graph: npm run workflow-graph -->';
const end = '<!-- /workflow-graph -->';

/** The page with the chart between its marks. */
export function withChart(page, chart) {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/architecture.md: found no "${begin}" before "${end}"`);
  return `${page.slice(0, from)}${begin}\n\n${chart}\n\n${page.slice(to)}`;
}
