// The page in a browser, with what no cluster has at once.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { withSnapshot } from '../../cli/page/page-file.js';
import { consolidationSnapshot, planSnapshot } from '../../cli/page/planned.js';
import type { PageNode, PageSnapshot } from '../../cli/page/snapshot.js';
import { bundlePage } from '../../tools/build/page.mjs';
import { instanceType, packingInput, podsOf } from '../builders/packing-fixtures.js';
import { generate } from '../cases/index.js';
import { chromium, Tab } from '../builders/chromium.js';

let folder = '';
const markup = '<img src=x onerror="window.harm=1">';
const turned = '\u202Egnp.exe';
const long = 'a'.repeat(253);

const nodeOf = (i: number, pods: number): PageNode => ({
  ...{ name: `node-${i}`, claim: `claim-${i}`, pool: ['default', 'batch'][i % 2]!, type: 'm7i.4xlarge', zone: 'a' },
  ...{ capacityType: ['spot', 'on-demand', 'reserved'][i % 3]!, pricePerHour: 0.5, created: 0 },
  ...{ state: i % 50 === 3 ? 'draining' : 'ready', marks: i % 40 === 1 ? ['drifted'] : [] },
  ...{ allocatable: [16_000, 64_000, 0], daemons: [300, 300, 0] },
  pods: Array.from({ length: pods }, (_, pod) => [pod % 3, 1, 500, 1000, 0]),
});

function snapshotOf(count: number, pods: number): PageSnapshot {
  const nodes = Array.from({ length: count }, (_, i) => nodeOf(i, pods));
  const at = Date.now();
  const named = { node: nodes[0]!.name, command: `consolidate/${markup}` };
  const budget = { nodePool: 'default', allowed: 1, disrupting: 1, total: count, changesAt: '2026-01-01T18:00:00Z' };
  return {
    ...{ version: 1, cluster: 'prod', at, problems: [{ what: 'Temporal does not answer', since: at }] },
    ...{
      temporal: 'http://localhost:8233/namespaces/default',
      pricePerHour: count / 2,
      leastPossiblePerHour: count / 3,
    },
    saved: { since: at, commands: 5, predictedPerHour: 1.25, measuredCommands: 3, measuredRealisedPerHour: 1 },
    needs: [
      {
        kind: 'question',
        subject: long,
        text: `approval ${markup} ${turned}`,
        yes: 'evicts 2 pods',
        until: '2026-01-01T18:00:00Z',
        orders: ['stowage approve x'],
        workflowId: 'x',
      },
      { kind: 'drain', subject: 'claim-1', text: 'PodDisruptionBudget shop/api allows no eviction', orders: [] },
    ],
    pools: ['default', markup].map((name) => ({
      ...{ name, ready: 'True', message: '', nodes: count, pricePerHour: 1, limits: ['cpu 8 of 1000'] },
      budgets: [
        { ...budget, reason: 'Drifted' },
        { ...budget, reason: 'Empty', allowed: 0, ruledBy: 'window 18:00' },
      ],
    })),
    pauses: [{ scope: 'NodePool batch', because: `${turned} ${markup}`, by: 'ann' }],
    ...{ nodes, workloads: ['shop/Deployment/web', markup, `shop/Deployment/${long}`] },
    waiting: [{ why: `no type has 64 CPU ${markup}`, pods: ['shop/huge'], count: 1 }],
    commands: [
      {
        ...{
          workflowId: named.command,
          reason: 'Underutilized',
          phase: 'waiting',
          nodes: [named.node],
          savesPerHour: 0.2,
        },
        launches: [
          {
            name: 'new node 1',
            pool: 'default',
            type: 'm7i.large',
            zone: 'a',
            capacityType: 'spot',
            pricePerHour: 0.1,
            pods: 1,
          },
        ],
        moves: [{ pod: 'shop/web-1', from: named.node, to: 'new node 1' }],
      },
    ],
    rollouts: [{ pool: 'default', nodes: count, drifted: 1, disrupting: 1, wave: 'wave 2: 2 nodes', phase: 'soaking' }],
    ...{
      stays: [{ why: 'pod shop/db is marked do-not-disrupt', nodes: ['node-1'] }],
      nextWindow: '18:00: a budget changes',
    },
    decisions: [
      { at: at - 1000, kind: 'pause', what: 'paused: release', subject: 'NodePool batch', by: 'ann' },
      { at: at - 2000, kind: 'launch', what: `launched ${markup}`, subject: long, by: '' },
    ],
    series: Array.from({ length: 60 }, (_, i) => ({
      ...{ at: at - (60 - i) * 60_000, pricePerHour: 2, leastPossiblePerHour: 1.5 },
      byPool: { default: 1, [markup]: 1 },
    })),
  };
}

/** A plan for pods whose names are hostile, one of which finds no place. */
function planned(): PageSnapshot {
  const pods = [markup, turned, long].flatMap((name) => podsOf(2, name, { cpu: '2' }));
  const types = [instanceType('small', { cpu: 4, price: 0.2 })];
  return planSnapshot(packingInput({ pods: [...pods, ...podsOf(1, `huge-${markup}`, { cpu: '64' })] }, { types }));
}

function consolidated(): PageSnapshot {
  const made = generate('cluster', 12, 3);
  const [objects, catalogue] = [join(folder, 'objects.json'), join(folder, 'catalogue.json')];
  writeFileSync(objects, JSON.stringify({ kind: 'List', apiVersion: 'v1', items: made.objects }));
  writeFileSync(catalogue, JSON.stringify(made.catalogue));
  return consolidationSnapshot(
    {
      ...{ objects: [objects], catalogue, output: 'json', preferencePolicy: 'Respect', minValuesPolicy: 'Strict' },
      spotToSpot: false,
    },
    () => undefined,
  );
}

const inBrowser = chromium === undefined ? describe.skip : describe;

inBrowser('the page in Chromium (surfaces/page)', () => {
  let tab: Tab;
  let server: Server;
  let html = '';
  let shown: PageSnapshot;
  const paths: string[] = [];
  const hourAgo = Date.now() - 3_600_000;
  const past = {
    prices: {
      source: 'Prometheus',
      points: Array.from({ length: 24 }, (_, i) => ({
        ...{ at: Date.now() - (24 - i) * 3_600_000, pricePerHour: 3 + (i % 5), byPool: { default: 3 + (i % 5) } },
      })),
    },
    report: {
      rows: [
        {
          ...{ workflowId: 'drift/x', kind: 'drift', reason: 'Drifted', nodePool: 'default', nodeClaim: '' },
          ...{ outcome: 'done', closedAt: new Date(hourAgo).toISOString() },
        },
      ],
      orders: [
        {
          ...{ at: new Date(hourAgo).toISOString(), order: 'approve', by: 'ann', because: markup, isForced: false },
          ...{ about: long, workflowId: 'x' },
        },
      ],
    },
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'stowage-page-'));
    await bundlePage(join(folder, 'page.html'));
    html = readFileSync(join(folder, 'page.html'), 'utf8');
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url!, 'http://localhost');
      paths.push(pathname);
      if (pathname === '/') response.setHeader('content-type', 'text/html').end(html);
      else if (pathname === '/api/v1/snapshot') response.end(JSON.stringify(shown));
      else if (pathname === '/api/v1/stream')
        response.setHeader('content-type', 'text/event-stream').write(': open\n\n');
      else if (pathname === '/api/v1/prices') response.end(JSON.stringify(past.prices));
      else if (pathname === '/api/v1/report') response.end(JSON.stringify(past.report));
      else if (pathname.endsWith('/why')) response.end(JSON.stringify({ answer: 'it runs 3 pods', details: [markup] }));
      else if (pathname.endsWith('/history'))
        response.end(JSON.stringify({ lines: [{ at: '2026-01-01T00:00:00Z', what: 'launched' }] }));
      else if (pathname.endsWith('/pods'))
        response.end(JSON.stringify([{ name: 'shop/web-1', requests: [500, 1000, 0] }]));
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    tab = await Tab.open();
  });
  afterAll(async () => {
    await tab.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = async (snapshot: PageSnapshot, hash = '', width = 1440): Promise<void> => {
    shown = snapshot;
    await tab.window(width);
    await tab.navigate(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${hash}`);
    await tab.until(`document.querySelector('canvas, table') !== null`);
  };

  test('the document is at most 150 kB as sent', () => expect(gzipSync(html).length).toBeLessThan(150_000));

  test.each([
    ['5 nodes', 5, 3],
    ['1,000 nodes and 20,000 pods', 1000, 20],
  ])('%s: every part is there, and nothing of a name is run', async (_, count, pods) => {
    await open(snapshotOf(count, pods));
    const page = await tab.text();
    for (const part of [
      ...['Temporal does not answer', 'needs you', 'lower bound', 'saved in 24 hours', 'pods that wait', 'approval'],
      ...['About to happen', 'no type has 64 CPU', 'wave 2: 2 nodes', 'Cost over time', 'NodePools', 'opens at'],
      ...['paused', 'What happened', 'stowage approve x', 'drifted', 'spot', markup, long],
    ])
      expect({ part, isShown: page.includes(part) }).toEqual({ part, isShown: true });
    expect(page).not.toContain('\u202E');
    expect(await tab.value('window.harm ?? document.images.length')).toBe(0);
    expect(tab.complaints).toEqual([]);
  });

  test('keys walk from node to node, search, and the address keeps it', async () => {
    await open(snapshotOf(5, 3));
    await tab.press('j');
    await tab.until(`document.querySelector('aside')?.innerText.includes('it runs 3 pods')`);
    await tab.press('j');
    await tab.until(
      `location.hash === '#node=node-1' && document.querySelector('aside').innerText.includes('do-not-disrupt')`,
    );
    await tab.press('Escape');
    await tab.until(`document.querySelector('aside') === null`);
    await tab.press('/');
    await tab.send('Input.insertText', { text: 'node-4' });
    await tab.until(`location.hash === '#search=node-4' && document.body.innerText.includes('1 of 5 nodes')`);
    await open(snapshotOf(5, 3), '#view=table&search=node-4&theme=dark');
    expect(await tab.value(`document.querySelectorAll('.table tbody tr').length`)).toBe(1);
    expect(await tab.value('document.documentElement.dataset.theme')).toBe('dark');
  });

  test('paper gets the table in place of the map', async () => {
    await open(snapshotOf(5, 3));
    await tab.value(`dispatchEvent(new Event('beforeprint'))`);
    await tab.until(`document.querySelectorAll('.table tbody tr').length === 5`);
  });

  test('back in time: prices of Prometheus, and who ordered what, found by the search; the address keeps it', async () => {
    await open(snapshotOf(5, 3), '#past=24h');
    await tab.until(`document.querySelector('.ticker')?.innerText.includes('approve by ann')`);
    expect(await tab.value(`document.querySelector('.uplot').parentElement.ariaLabel`)).toMatch(/to \$7\.000\/h/);
    expect(await tab.text()).toContain('rollout');
    await tab.press('/');
    await tab.send('Input.insertText', { text: 'by ann' });
    await tab.until(`document.querySelectorAll('.ticker li').length === 1`);
    expect(await tab.value('location.hash')).toBe('#search=by+ann&past=24h');
    expect(await tab.value('window.harm')).toBeUndefined();
  });

  test('what is seen as CSV and as JSON', async () => {
    await open(snapshotOf(5, 3), '#search=node-4');
    await tab.value(`window.saved = []; URL.createObjectURL = (blob) => (saved.push(blob.text()), 'data:,')`);
    await tab.value(
      `for (const button of document.querySelectorAll('footer button')) if (/CSV|JSON/.test(button.innerText)) button.click()`,
    );
    const [csv, json] = await tab.value<string[]>('Promise.all(saved)');
    expect(csv!.split('\n')).toEqual([
      expect.stringMatching(/^node,pool,/),
      expect.stringMatching(/^node-4,default,/),
      '',
    ]);
    expect(JSON.parse(json!)).toMatchObject([{ name: 'node-4' }]);
  });

  test('a command that is pointed at is drawn over the map, and pinned by a click', async () => {
    await open(snapshotOf(5, 3));
    const drawn = `document.querySelector('canvas').toDataURL()`;
    await tab.until(`document.querySelector('canvas').width > 300`);
    await tab.value(`window.before = ${drawn}`);
    await tab.value(
      `[...document.querySelectorAll('h2')].find((h) => h.innerText === 'About to happen').parentElement.querySelector('li').dispatchEvent(new MouseEvent('mouseenter'))`,
    );
    await tab.until(`${drawn} !== before`);
    await tab.value(`document.querySelector('[aria-pressed]').click()`);
    await tab.until(`location.hash.startsWith('#command=')`);
  });

  test.each([
    [-600_000, /clock of the operator is 10 min behind that of this machine/],
    [600_000, /clock of the operator is 9 min ahead of that of this machine|10 min ahead/],
  ])('a clock that is off by %d ms is said at the top, with since when', async (ms, said) => {
    await open({ ...snapshotOf(5, 3), at: Date.now() + ms });
    const text = await tab.value<string>(`document.querySelector('[role=alert]').innerText`);
    expect(text).toMatch(said);
    expect(text).toMatch(/\(since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\)/);
  });

  test.each([
    ['status', () => snapshotOf(5, 3)],
    ['plan', planned],
    ['consolidate', consolidated],
    ['1,000 nodes', () => snapshotOf(1000, 20)],
  ])('%s -o html, opened as a file: all is drawn, no request leaves, and no name does harm', async (_, snapshot) => {
    const file = join(folder, 'page-as-file.html');
    writeFileSync(file, withSnapshot(html, snapshot()));
    await tab.navigate(`file://${file}`);
    await tab.until(`document.querySelector('canvas')?.width > 300`);
    const colours = await tab.value<number>(`(() => {
      const canvas = document.querySelector('canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    })()`);
    expect(colours).toBeGreaterThan(5);
    expect(tab.requests.filter((url) => !/^(file|data|about):/.test(url))).toEqual([]);
    expect(await tab.text()).not.toContain('\u202E');
    expect(await tab.value('window.harm ?? document.images.length')).toBe(0);
    expect(tab.complaints).toEqual([]);
  });

  test('a broken stream is said at the top', async () => {
    await open(snapshotOf(5, 3));
    server.closeAllConnections();
    await tab.until(
      `document.querySelector('[role=alert]')?.innerText.includes('connection to the operator is broken')`,
    );
  });

  test.each([1440, 1024, 390].flatMap((width) => ['light', 'dark'].map((theme): [number, string] => [width, theme])))(
    '%d pixels wide, %s: nothing is wider than the window, and axe finds nothing',
    async (width, theme) => {
      await open(snapshotOf(5, 3), `#theme=${theme}&node=node-1`, width);
      await tab.until(`document.querySelector('aside')?.innerText.includes('it runs 3 pods')`);
      expect(await tab.value('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      expect(await tab.findings()).toEqual([]);
      await tab.picture(`${width}-${theme}-5`);
    },
  );

  test.each(['light', 'dark'])('1,000 nodes, %s: axe finds nothing, as map and as table', async (theme) => {
    await open(snapshotOf(1000, 20), `#theme=${theme}`);
    expect(await tab.findings()).toEqual([]);
    await tab.picture(`1440-${theme}-1000`);
    await open(snapshotOf(50, 20), `#theme=${theme}&view=table`);
    expect(await tab.findings()).toEqual([]);
  });

  test('figures: the first drawing of 1,000 nodes with 20,000 pods, and the work of a move of the pointer over them', async () => {
    await open(snapshotOf(1000, 20));
    await tab.until('document.querySelector("canvas").width > 300');
    const drawn = await tab.value<number>('performance.now()');
    await tab.send('Performance.enable');
    const busyMs = async (): Promise<number> => {
      const { metrics } = (await tab.send('Performance.getMetrics')) as { metrics: { name: string; value: number }[] };
      return 1000 * metrics.find(({ name }) => name === 'TaskDuration')!.value;
    };
    const { x, y, width, height } = await tab.value<Record<'x' | 'y' | 'width' | 'height', number>>(
      `(({ x, y, width, height }) => ({ x, y, width, height }))(document.querySelector('canvas').getBoundingClientRect())`,
    );
    const frame = 'new Promise((done) => requestAnimationFrame(() => done(true)))';
    const before = await busyMs();
    const moves = 100;
    for (let i = 0; i < moves; i++) {
      const at = { x: x + 5 + ((width - 10) * i) / moves, y: Math.min(890, y + 40 + ((height - 60) * (i % 10)) / 10) };
      await tab.send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...at });
      await tab.value(frame);
    }
    const perMove = ((await busyMs()) - before) / moves;
    expect(await tab.value(`document.querySelector('.hint') !== null`)).toBe(true);
    process.stdout.write(
      `page: drawn after ${drawn.toFixed(0)} ms, ${perMove.toFixed(1)} ms of its thread for a move over 1,000 nodes; ${gzipSync(html).length} bytes of document, ${gzipSync(JSON.stringify(shown)).length} of snapshot\n`,
    );
  });

  test('no request leaves for another host', async () => {
    expect([...new Set(paths)].filter((path) => path !== '/' && !path.startsWith('/api/v1/'))).toEqual([]);
    expect(
      await tab.value(
        `performance.getEntriesByType('resource').filter(({ name }) => !name.startsWith(location.origin)).length`,
      ),
    ).toBe(0);
  });
});
