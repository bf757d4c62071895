import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { PageDecision, PageSnapshot } from '../snapshot.js';
import { coloursOf } from './colours.js';
import { clock, perHour } from './format.js';
import { view } from './state.js';

/** None of those of capacity types on the map. */
const poolColours = ['#7b68d9', '#b49ae6', '#4f8fa3', '#a3b7cf', '#c08aa8', '#8b93a1'];

/** What a line across the chart marks, with its colour. */
const marks: Partial<Record<PageDecision['kind'], readonly [string, string]>> = {
  pause: ['pause', '#d81b7a'],
  drift: ['node drifted', '#00795a'],
  interruption: ['interruption', '#d55e00'],
};

/** The price over time by NodePool, stacked, with the lower bound. */
export function Cost({ page }: { readonly page: PageSnapshot }) {
  const frame = useRef<HTMLDivElement>(null);
  const { series, decisions } = page;
  const { theme } = view.value;
  useEffect(() => {
    const { current } = frame;
    if (current === null || series.length < 2) return undefined;
    const plot = chartIn(current, series, decisions);
    const observer = new ResizeObserver(() => plot.setSize({ width: current.clientWidth, height: 220 }));
    observer.observe(current);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [series, decisions, theme]);
  if (series.length < 2) return null;
  const prices = series.map(({ pricePerHour }) => pricePerHour);
  const said = `Price since ${clock(series[0]!.at)} UTC: from ${perHour(Math.min(...prices))} to ${perHour(Math.max(...prices))}`;
  const shown = new Set(marksOf(series, decisions).map(({ kind }) => kind));
  return (
    <section>
      <h2>
        Cost over time <small>UTC</small>
      </h2>
      <div ref={frame} role="img" aria-label={said} />
      {shown.size === 0 ? null : (
        <p class="legend">
          {[...shown].map((kind) => (
            <span key={kind}>
              <i style={{ background: marks[kind]![1] }} /> {marks[kind]![0]}
            </span>
          ))}
        </p>
      )}
    </section>
  );
}

const marksOf = (series: PageSnapshot['series'], decisions: readonly PageDecision[]): readonly PageDecision[] =>
  decisions.filter(({ kind, at }) => marks[kind] !== undefined && at >= series[0]!.at);

function chartIn(frame: HTMLElement, series: PageSnapshot['series'], decisions: readonly PageDecision[]): uPlot {
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
        { ...axis, values: (_, ticks) => ticks.map((tick) => clock(tick * 1000).slice(0, 5)) },
        { ...axis, size: 60, values: (_, ticks) => ticks.map((tick) => `$${tick}`) },
      ],
      scales: { y: { range: (_, __, most) => [0, most * 1.1] } },
      series: [
        { label: 'at', value: (_, seconds) => (seconds == null ? '–' : clock(seconds * 1000).slice(0, 5)) },
        ...parts.map(({ name, values, colour }) => ({
          ...{ label: name.length > 32 ? `${name.slice(0, 32)}…` : name, stroke: colour, width: 1, fill: colour },
          value: (_: uPlot, __: number, ___: number, at: number | null) => dollars(at === null ? null : values[at]),
        })),
        { label: 'lower bound', stroke: text, width: 1.5, dash: [5, 4], value: (_, price) => dollars(price) },
      ],
      hooks: {
        drawSeries: [
          (drawn, index) => {
            if (index === parts.length + 1) markIn(drawn, marksOf(series, decisions));
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

function markIn({ ctx, bbox, valToPos }: uPlot, shown: readonly PageDecision[]): void {
  ctx.save();
  for (const { at, kind } of shown) {
    ctx.fillStyle = marks[kind]![1];
    ctx.fillRect(valToPos(at / 1000, 'x', true) - 1, bbox.top, 2 * devicePixelRatio, bbox.height);
  }
  ctx.restore();
}
