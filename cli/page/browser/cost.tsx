import { useEffect, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { PageSnapshot } from '../snapshot.js';
import { coloursOf } from './colours.js';
import { minuteText, perHour, timeIn } from './format.js';
import { Back } from './parts';
import { past, view } from './state.js';
import { type Happening, happenings } from './view.js';

/** None of those of capacity types on the map. */
const poolColours = ['#7b68d9', '#b49ae6', '#4f8fa3', '#a3b7cf', '#c08aa8', '#8b93a1'];

/** What a line across the chart marks, with its colour. */
const marks: ReadonlyMap<string, readonly [string, string]> = new Map([
  ['pause', ['pause', '#d81b7a']],
  ['drift', ['node drifted', '#00795a']],
  ['rollout', ['rollout', '#00795a']],
  ['interruption', ['interruption', '#d55e00']],
]);

/** The price over time by NodePool, stacked, with the lower bound. */
export function Cost({ page }: { readonly page: PageSnapshot }) {
  const frame = useRef<HTMLDivElement>(null);
  const { value: earlier } = past;
  const { theme, past: since } = view.value;
  const series = earlier.prices?.points ?? page.series;
  const happened = useMemo(() => happenings(page.decisions, earlier.report), [page.decisions, earlier.report]);
  useEffect(() => {
    const { current } = frame;
    if (current === null || series.length < 2) return undefined;
    const plot = chartIn(current, series, happened);
    const observer = new ResizeObserver(() => plot.setSize({ width: current.clientWidth, height: 220 }));
    observer.observe(current);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [series, happened, theme]);
  if (series.length < 2 && since === '') return null;
  const shown = new Set(marksOf(series, happened).map(({ kind }) => marks.get(kind)![0]));
  return (
    <section>
      <h2>
        Cost over time <small>UTC</small>
      </h2>
      <Back />
      {series.length < 2 ? null : <div ref={frame} role="img" aria-label={priceText(series)} />}
      {shown.size === 0 ? null : (
        <p class="legend">
          {[...marks.values()]
            .filter(([name]) => shown.has(name))
            .map(([name, colour]) => (
              <span key={name}>
                <i style={{ background: colour }} /> {name}
              </span>
            ))}
        </p>
      )}
    </section>
  );
}

function priceText(series: PageSnapshot['series']): string {
  const prices = series.map(({ pricePerHour }) => pricePerHour);
  return `Price since ${minuteText(series[0]!.at)} UTC: from ${perHour(Math.min(...prices))} to ${perHour(Math.max(...prices))}`;
}

const marksOf = (series: PageSnapshot['series'], happened: readonly Happening[]): readonly Happening[] =>
  happened.filter(({ kind, at }) => marks.has(kind) && at >= (series[0]?.at ?? Infinity));

function chartIn(frame: HTMLElement, series: PageSnapshot['series'], happened: readonly Happening[]): uPlot {
  const { muted, line, text } = coloursOf(frame);
  const last = series.at(-1)!;
  const named = Object.keys(last.byPool).sort((a, b) => last.byPool[b]! - last.byPool[a]!);
  const pools = named.slice(0, poolColours.length - 1);
  const own = pools.map((name) => series.map(({ byPool }) => byPool[name] ?? 0));
  const others = series.map(({ pricePerHour }, i) =>
    Math.max(0, pricePerHour - own.reduce((sum, each) => sum + each[i]!, 0)),
  );
  const parts = [
    ...pools.map((name, i) => ({ name, values: own[i]!, colour: poolColours[i]! })),
    ...(others.some((price) => price > 1e-6)
      ? [{ name: pools.length === 0 ? 'price' : 'others', values: others, colour: poolColours.at(-1)! }]
      : []),
  ];
  // Each is drawn over those before it, so that what stays visible of it is its own part.
  const stacked = parts.map((_, first) =>
    series.map((__, i) => parts.slice(first).reduce((sum, { values }) => sum + values[i]!, 0)),
  );
  const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const dollars = (price: number | undefined | null): string => (price == null ? '–' : perHour(price));
  const plot = new uPlot(
    {
      width: frame.clientWidth,
      height: 220,
      cursor: { y: false },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => timeIn(last.at, tick * 1000)) },
        { ...axis, size: 60, values: (_, ticks) => ticks.map((tick) => `$${tick}`) },
      ],
      scales: { y: { range: (_, __, most) => [0, most * 1.1] } },
      series: [
        { label: 'at', value: (_, seconds) => (seconds == null ? '–' : timeIn(last.at, seconds * 1000)) },
        ...parts.map(({ name, values, colour }) => ({
          ...{ label: name.length > 32 ? `${name.slice(0, 32)}…` : name, stroke: colour, width: 1, fill: colour },
          points: { show: false },
          value: (_: uPlot, __: number, ___: number, at: number | null) => dollars(at === null ? null : values[at]),
        })),
        {
          label: 'lower bound',
          points: { show: false },
          stroke: text,
          width: 1.5,
          dash: [5, 4],
          value: (_, price) => dollars(price),
        },
      ],
      hooks: {
        drawSeries: [
          (drawn, index) => {
            if (index === parts.length + 1) markIn(drawn, marksOf(series, happened));
          },
        ],
        // Without a pointer the legend has the last values.
        setCursor: [(drawn) => drawn.cursor.idx == null && drawn.setLegend({ idx: series.length - 1 })],
        ready: [(drawn) => drawn.setLegend({ idx: series.length - 1 })],
      },
    },
    [
      series.map(({ at }) => at / 1000),
      ...stacked,
      series.map(({ leastPossiblePerHour }) => leastPossiblePerHour ?? null),
    ],
    frame,
  );
  return plot;
}

function markIn({ ctx, bbox, valToPos }: uPlot, shown: readonly Happening[]): void {
  ctx.save();
  for (const { at, kind } of shown) {
    ctx.fillStyle = marks.get(kind)![1];
    ctx.fillRect(valToPos(at / 1000, 'x', true) - 1, bbox.top, 2 * devicePixelRatio, bbox.height);
  }
  ctx.restore();
}
