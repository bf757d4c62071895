import { z } from 'zod';
import type { PagePoint } from './snapshot.js';

/** A Prometheus that scrapes Stowage. */
export interface PrometheusSource {
  readonly url: string;
  /** Label matchers of this cluster's series, such as `cluster="prod"`. */
  readonly selector: string;
}

const withinMs = 10_000;
const mostPoints = 300;

const answer = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.object({ nodepool: z.string().default('') }),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
});

/** The prices in that time; milliseconds. Rejects if Prometheus does not answer. */
export async function pricesOf(
  { url, selector }: PrometheusSource,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly PagePoint[]> {
  const step = Math.max(60, Math.ceil((to - from) / 1000 / mostPoints));
  const asked = new URL(`${url.replace(/\/$/, '')}/api/v1/query_range`);
  asked.search = new URLSearchParams({
    // Every replica of the operator has the series.
    query: `max by (nodepool) (karpenter_nodepools_cost_total{${selector}})`,
    ...{ start: String(from / 1000), end: String(to / 1000), step: String(step) },
  }).toString();
  const response = await fetch(asked, { signal: AbortSignal.timeout(withinMs) });
  if (!response.ok) throw new Error(`${response.status}: ${(await response.text()).slice(0, 300)}`);
  const { data } = answer.parse(await response.json());
  const points = new Map<number, Map<string, number>>();
  for (const { metric, values } of data.result) {
    for (const [seconds, text] of values) {
      const byPool = points.get(seconds) ?? new Map<string, number>();
      points.set(seconds, byPool.set(metric.nodepool, Number(text)));
    }
  }
  return [...points]
    .sort(([a], [b]) => a - b)
    .map(([seconds, byPool]) => ({
      at: seconds * 1000,
      pricePerHour: [...byPool.values()].reduce((sum, price) => sum + price, 0),
      byPool: Object.fromEntries(byPool),
    }));
}
