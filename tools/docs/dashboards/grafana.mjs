// A dashboard as Grafana imports it: panels three in a row, each a time series, against a Prometheus that the viewer picks.
const columns = 3;
const size = { w: 24 / columns, h: 8 };
const datasource = { type: 'prometheus', uid: '${datasource}' };

/** The JSON of one of `definitions.mjs`. */
export function grafanaJson({ name, title, pools, panels }) {
  const dashboard = {
    uid: `stowage-${name}`,
    title,
    tags: ['stowage'],
    schemaVersion: 39,
    editable: true,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [datasourceVariable, ...(pools ? [poolVariable] : [])] },
    panels: panels.map(timeSeries),
  };
  return `${JSON.stringify(dashboard, null, 1)}\n`;
}

const datasourceVariable = { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' };
const poolVariable = {
  name: 'nodepool',
  label: 'NodePool',
  type: 'query',
  datasource,
  query: 'label_values(karpenter_nodepools_cost_total, nodepool)',
  refresh: 2,
  includeAll: true,
  multi: true,
  allValue: '.*',
  current: { text: 'All', value: '$__all' },
};

function timeSeries({ title, unit, targets }, index) {
  return {
    id: index + 1,
    type: 'timeseries',
    title,
    datasource,
    gridPos: { ...size, x: (index % columns) * size.w, y: Math.floor(index / columns) * size.h },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { tooltip: { mode: 'multi', sort: 'desc' } },
    targets: targets.map(({ expr, legend }, i) => ({
      refId: String.fromCharCode(65 + i),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}
