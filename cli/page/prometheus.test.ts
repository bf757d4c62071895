import { createServer } from 'node:http';
import { afterAll, describe, expect, test } from '@jest/globals';
import { listenLocally } from '../../test/builders/local-server.js';
import { installedPrometheus, startPrometheus } from '../../test/builders/prometheus.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { pricesOf } from './prometheus.js';

const { prometheus: program } = installedPrometheus();
const withPrometheus = program === undefined ? describe.skip : describe;
const closing: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

const served = `# TYPE karpenter_nodepools_cost_total gauge
karpenter_nodepools_cost_total{nodepool="default"} 1.5
karpenter_nodepools_cost_total{nodepool="__proto__"} 0.25
`;

withPrometheus(
  `prices from a real Prometheus${program === undefined ? ' (skipped: run node tools/stack/install.mjs prometheus)' : ''} (surfaces/page)`,
  () => {
    test('the price of each NodePool and their sum; the selector chooses series, and one that is invalid is named', async () => {
      const server = createServer((_, response) => response.end(served));
      const target = new URL(await listenLocally(server)).host;
      closing.push(() => Promise.resolve(void server.close()));
      const started = await startPrometheus({ program: program!, job: 'stowage', target, rules: [] });
      closing.unshift(() => started.stop());
      const prices = (selector: string) => {
        const to = Date.now();
        return pricesOf({ url: started.url, selector }, { from: to - 600_000, to });
      };
      const points = await observe(
        'Prices in Prometheus',
        async () => {
          const found = await prices('job="stowage"');
          return found.length === 0 ? undefined : found;
        },
        { withinMs: 120_000 },
      );
      const { pricePerHour, byPool } = points.at(-1)!;
      expect([pricePerHour, Object.entries(byPool).sort()]).toEqual([
        1.75,
        [
          ['__proto__', 0.25],
          ['default', 1.5],
        ],
      ]);
      expect(await prices('job="other"')).toEqual([]);
      await expect(prices('job=')).rejects.toThrow(/^400: .*parse error/);
    });
  },
);
