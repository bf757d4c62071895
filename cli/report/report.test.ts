import { describe, expect, test } from '@jest/globals';
import { reportText } from './report-table.js';
import type { Activity, DoneRow, Measured } from './activity.js';
import { reportPage } from './page.js';
import { reportOf, timeParts } from './sums.js';

const done = (more: Partial<DoneRow>): DoneRow => ({
  workflowId: 'prod/consolidate/1',
  kind: 'consolidate',
  reason: 'empty',
  nodePool: 'default',
  nodeClaim: 'default-abc',
  outcome: 'done',
  savedPerHour: 0.25,
  startedAt: '2026-01-05T11:00:00Z',
  closedAt: '2026-01-05T11:01:00Z',
  ...more,
});
const terminated = (more: Partial<DoneRow>): DoneRow =>
  done({ kind: 'terminate', outcome: 'terminated', savedPerHour: 0, ...more });
const launched = done({ kind: 'launch', outcome: 'initialized', reason: '', savedPerHour: 0 });
const measured = (more: Partial<Measured>): Measured => ({
  ...{ workflowId: 'prod/consolidate/1', reason: 'empty', nodes: ['n1'], afterMs: 3_600_000 },
  ...{ predictedPerHour: 0.25, realisedPerHour: 0.2, ...more },
});
const activity = (more: Partial<Activity>): Activity => ({
  ...{ cluster: 'prod', since: '2026-01-04T12:00:00Z', until: '2026-01-05T12:00:00Z' },
  ...{ rows: [], measured: [], forced: [], orders: [], notes: [], ...more },
});
const text = (more: Partial<Activity>): string => reportText(reportOf(activity(more)), '24h');

const lively = activity({
  rows: [
    launched,
    done({}),
    done({ reason: 'underutilized', savedPerHour: 0.5 }),
    done({ outcome: 'abandoned' }),
    terminated({}),
    terminated({ reason: 'underutilized' }),
    terminated({ reason: 'drifted', outcome: 'forced' }),
  ],
  measured: [measured({}), measured({ reason: 'underutilized', predictedPerHour: 0.5, realisedPerHour: 0.125 })],
  forced: [
    {
      ...{ at: '2026-01-05T11:00:00.000Z', nodePool: 'default', nodeClaim: 'default-abc', by: 'ann' },
      ...{
        what: 'deleted 1 pod (shop/web-0) in spite of PodDisruptionBudgets or do-not-disrupt',
        workflowId: 'prod/terminate/1',
      },
    },
  ],
  orders: [
    {
      ...{ at: '2026-01-05T10:00:00.000Z', order: 'expedite', by: 'ann', because: 'incident <b>&', isForced: true },
      ...{ about: 'NodeClaim default-abc', workflowId: 'prod/terminate/1' },
    },
  ],
});

describe('stowage report as text', () => {
  test('says what was done in a sentence, then by reason; what was not carried out saves nothing', () => {
    const page = text(lively);
    expect(page).toMatch(
      /^In the last 24h: 1 node launched, 3 terminated \(1 by force\); consolidation is expected to save \$0\.7500 per hour\. 2 commands measured afterwards: \$0\.3250 per hour actually saved of \$0\.7500 predicted\.\n/,
    );
    expect(page).toMatch(/^underutilized +1 +0 +1 +\$0\.5000 +1 +\$0\.5000 +\$0\.1250$/m);
    expect(page).toMatch(/^drifted +1 +1 +0 +0$/m);
    expect(page).toMatch(/^consolidations +empty +abandoned +1 +60s$/m);
  });

  test('says what was forced and by whom, and lists orders', () => {
    const page = text(lively);
    expect(page).toMatch(/^2026-01-05T11:00:00Z +default +default-abc +ann +deleted 1 pod \(shop\/web-0\)/m);
    expect(page).toMatch(/^2026-01-05T10:00:00Z +expedite --force +NodeClaim default-abc +ann +incident/m);
  });

  test('leaves out what did not happen (surfaces/report-what-happened)', () => {
    const nothing = [
      done({ kind: 'expire', outcome: 'gone', reason: 'expired' }),
      done({ kind: 'disrupt', outcome: 'idle' }),
    ];
    expect(text({ rows: nothing })).toBe('Nothing was done in the last 24h.\n');
    expect(reportOf(activity({ rows: nothing })).rows).toEqual([]);
    expect(text({ rows: [...nothing, done({})] })).not.toMatch(/gone|expir|disrupt /);
    expect(text({})).toBe('Nothing was done in the last 24h.\n');
  });
});

test('report: each node that was added or removed is in one interval, and intervals cover the whole time', () => {
  for (const hours of [0.5, 2, 24, 24 * 7, 24 * 400]) {
    const until = Date.parse('2026-01-05T12:00:00Z');
    const since = new Date(until - hours * 3_600_000).toISOString();
    const rows = [since, '2026-01-05T11:59:59Z'].map((closedAt) => terminated({ closedAt }));
    const parts = timeParts(reportOf(activity({ since, rows })));
    expect(parts[0]!.from).toBeLessThanOrEqual(Date.parse(since));
    expect(parts.length).toBeLessThanOrEqual(60);
    expect(parts.reduce((sum, part) => sum + part.terminated[0]!, 0)).toBe(2);
  }
});

/** Elements that were opened and not closed, or closed and not opened. */
function unbalanced(html: string): string[] {
  const open: string[] = [];
  for (const [, close, name = '', rest = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)((?:"[^"]*"|[^">])*)>/gi)) {
    if (name === 'meta' || rest.endsWith('/')) continue;
    if (close === '') open.push(name);
    else if (open.pop() !== name) return [name];
  }
  return open;
}

describe('stowage report as HTML (surfaces/report-page)', () => {
  const report = reportOf(lively);
  const page = reportPage(report, '24h');

  test('loads nothing and has no script', () => {
    const outside = [...page.matchAll(/\b(?:src|href|srcset|action|data)="([^"]*)"/g)].map(([, at]) => at);
    expect(outside.filter((at) => !at!.startsWith('#'))).toEqual([]);
    const addresses = [...page.matchAll(/[a-z]+:\/\/[^"'\s)]+/g)].map(([each]) => each);
    expect(addresses.filter((each) => !each.startsWith('http://www.w3.org/'))).toEqual([]);
    expect(page).not.toMatch(/<script|<link|<iframe|@import|url\((?!#)|\son[a-z]+=/i);
  });

  test('is well-formed, and escapes text of users', () => {
    expect(page.startsWith('<!doctype html>\n')).toBe(true);
    expect(unbalanced(page)).toEqual([]);
    expect(page).toContain('incident &lt;b&gt;&amp;');
    expect(page).not.toContain('<b>');
  });

  test('has the same figures as the JSON', () => {
    const json = JSON.parse(JSON.stringify(report)) as Record<string, unknown>;
    const figures = [...page.matchAll(/data-path="([^"]+)" data-value="([^"]+)">([^<]+)</g)];
    // Five tiles, and what is known of each of three reasons.
    expect(figures).toHaveLength(5 + 7 + 7 + 4);
    for (const [, path = '', value, shown = ''] of figures) {
      const found = path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], json);
      expect({ path, value: Number(value), shown: Number(shown.replace('$', '')) }).toEqual({
        ...{ path, value: found, shown: found },
      });
    }
  });

  test('has charts of nodes and of savings, each only where there is data', () => {
    const titles = (html: string) => [...html.matchAll(/<figcaption>([^<]+)</g)].map(([, title]) => title);
    expect(titles(page)).toEqual(['Nodes launched and terminated', expect.stringMatching(/^Savings of the commands/)]);
    expect(page.match(/<svg /g)).toHaveLength(2);
    expect(page).toContain('terminated: drifted');
    expect(titles(reportPage(reportOf(activity({})), '24h'))).toEqual([]);
  });

  test.each([
    ['a saving that did not come', [0.5, -0.25]],
    ['nothing but losses', [-0.5, -0.125]],
    ['nothing at all', [0, 0]],
  ])('%s: bars are as long as their amounts, and inside the picture', (_, amounts) => {
    const bars = [
      ...reportPage(
        reportOf(activity({ measured: [measured({ predictedPerHour: amounts[0]!, realisedPerHour: amounts[1]! })] })),
        '24h',
      ).matchAll(/<rect x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"/g),
    ].map(([, ...numbers]) => numbers.map(Number));
    const shown = amounts.filter((amount) => amount !== 0);
    expect(bars).toHaveLength(shown.length);
    for (const [x, y, width, height] of bars) {
      expect(Math.min(x!, y!, width!, height!)).toBeGreaterThan(0);
      expect([x! + width! <= 920, y! + height! <= 250]).toEqual([true, true]);
    }
    if (shown.length === 2) expect(bars[0]![3]! / bars[1]![3]!).toBeCloseTo(Math.abs(shown[0]! / shown[1]!));
  });
});
