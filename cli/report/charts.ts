import { BarChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import { init, use, type EChartsCoreOption } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { ActivityReport, ReasonSum, TimePart } from './sums.js';

/** A chart as SVG, rendered here so that the page needs no script. */
export interface Chart {
  readonly title: string;
  /** Legend; the page renders it, since the width of text is known only there. */
  readonly legend: readonly { readonly name: string; readonly colour: string }[];
  readonly svg: string;
}

const size = { width: 920, height: 250 };
/** Distinguishable with colour blindness (Okabe and Ito, then Tol). */
const colours = [
  ...['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#7f7f7f'],
  ...['#332288', '#117733', '#882255', '#999933'],
];
const text = { fontFamily: 'system-ui, sans-serif', fontSize: 12, color: '#24292f' };

use([BarChart, GridComponent, SVGRenderer]);

/** Nodes launched and removed over time. */
export function nodesChart({ reasons }: ActivityReport, parts: readonly TimePart[]): Chart {
  const launched = { name: 'launched', data: parts.map((part) => part.launched), stack: 'launched' };
  const terminated = reasons.map(({ reason }, n) => ({
    name: `terminated: ${reasonText(reason)}`,
    data: parts.map((part) => part.terminated[n] ?? 0),
    stack: 'terminated',
  }));
  const shown = terminated.filter(({ data }) => data.some((count) => count > 0));
  return drawn('Nodes launched and terminated', {
    names: parts.map(({ from }) => new Date(from).toISOString().slice(5, 16).replace('T', ' ')),
    series: [launched, ...shown],
    unit: 'nodes',
  });
}

/** Predicted and measured savings of the same commands, by reason. */
export function savingsChart({ reasons }: ActivityReport): Chart {
  const measured = reasons.filter(({ measuredCommands }) => measuredCommands > 0);
  const of = (name: string, amount: (sum: ReasonSum) => number) => ({ name, data: measured.map(amount) });
  return drawn('Savings of the commands that were measured, USD per hour', {
    names: measured.map(({ reason }) => reasonText(reason)),
    series: [
      of('predicted', ({ measuredPredictedPerHour }) => measuredPredictedPerHour),
      of('realised', ({ measuredRealisedPerHour }) => measuredRealisedPerHour),
    ],
    unit: 'USD per hour',
  });
}

const reasonText = (reason: string): string => (reason === '' ? 'no reason given' : reason);

interface Bars {
  readonly names: readonly string[];
  readonly series: readonly { readonly name: string; readonly data: readonly number[]; readonly stack?: string }[];
  readonly unit: string;
}

function drawn(title: string, { names, series, unit }: Bars): Chart {
  const legend = series.map(({ name }, n) => ({ name, colour: colours[n % colours.length]! }));
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...size });
  try {
    chart.setOption({
      animation: false,
      color: colours,
      textStyle: text,
      grid: { left: 56, right: 40, top: 32, bottom: 32 },
      xAxis: { type: 'category', data: names, axisLabel: text },
      yAxis: {
        ...{ type: 'value', name: unit, nameTextStyle: { ...text, align: 'left' }, axisLabel: text },
        // Numbers of nodes are integers.
        ...(unit === 'nodes' ? { minInterval: 1 } : {}),
      },
      series: series.map((each) => ({ type: 'bar', barMaxWidth: 32, silent: true, ...each })),
    } satisfies EChartsCoreOption);
    return { title, legend, svg: chart.renderToSVGString() };
  } finally {
    chart.dispose();
  }
}
