// Chromium, driven over its debugging protocol through pipes, so that nothing has to be installed but Debian's package.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** The program; undefined where there is none. */
export const chromium = ['chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
);
if (chromium === undefined)
  process.stderr.write('SKIPPED: the page in a browser, because there is no chromium (apt-get install chromium)\n');

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** One tab of a browser. */
export class Tab {
  private readonly waiting = new Map<number, (answer: { result?: unknown; error?: unknown }) => void>();
  private last = 0;
  private session: string | undefined;
  readonly complaints: unknown[] = [];

  /** Addresses of all that the page asked for. */
  readonly requests: string[] = [];

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {
    let text = '';
    (child.stdio[4] as Readable).setEncoding('utf8').on('data', (part: string) => {
      const messages = (text + part).split('\0');
      text = messages.pop()!;
      for (const each of messages) this.hear(JSON.parse(each) as Parameters<Tab['hear']>[0]);
    });
  }

  static async open(): Promise<Tab> {
    const folder = mkdtempSync(join(tmpdir(), 'stowage-chromium-'));
    const flags = [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      // A page that was left keeps its stream there, and a browser has six connections for a server.
      '--disable-features=BackForwardCache',
      '--remote-debugging-pipe',
      `--user-data-dir=${folder}`,
    ];
    const tab = new Tab(
      spawn(chromium!, [...flags, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] }),
      folder,
    );
    const { targetId } = (await tab.send('Target.createTarget', { url: 'about:blank' })) as { targetId: string };
    const attached = await tab.send('Target.attachToTarget', { targetId, flatten: true });
    tab.session = (attached as { sessionId: string }).sessionId;
    for (const domain of ['Page', 'Runtime', 'Network']) await tab.send(`${domain}.enable`);
    return tab;
  }

  private hear({
    id,
    method,
    params,
    ...answer
  }: {
    id?: number;
    method?: string;
    params?: object;
    result?: unknown;
  }): void {
    if (id !== undefined) this.waiting.get(id)?.(answer);
    if (method === 'Runtime.exceptionThrown') this.complaints.push(params);
    if (method === 'Network.requestWillBeSent')
      this.requests.push((params as { request: { url: string } }).request.url);
  }

  send(method: string, params: object = {}): Promise<unknown> {
    const id = (this.last += 1);
    const isOfTab = this.session !== undefined && !method.startsWith('Browser.');
    const about = isOfTab ? { sessionId: this.session } : {};
    (this.child.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, ...about })}\0`);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, ({ result, error }) =>
        error === undefined ? resolve(result) : reject(new Error(`${method}: ${JSON.stringify(error)}`)),
      );
    });
  }

  /** The value of an expression in the page. */
  async value<T>(expression: string): Promise<T> {
    const answer = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    return (answer as { result: { value: T } }).result.value;
  }

  /** Waits until the expression is true in the page, looking at each frame that it draws. Otherwise the page is in the failure. */
  async until(expression: string, withinMs = 60_000): Promise<void> {
    const shown = await this.value<string | true>(
      `new Promise((done) => { const late = performance.now() + ${withinMs}; const look = () => { let is = false; try { is = ${expression}; } catch {} is ? done(true) : performance.now() > late ? done(location.href + '\\n' + document.body.innerText) : requestAnimationFrame(look); }; look(); })`,
    );
    if (shown !== true) throw new Error(`${expression} is not true on the page: ${shown.slice(0, 3000)}`);
  }

  async press(key: string): Promise<void> {
    const text = key.length === 1 ? { text: key } : {};
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, ...text });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key });
  }

  async window(width: number, height = 900): Promise<void> {
    const metrics = { width, height, deviceScaleFactor: 1, mobile: width < 500 };
    await this.send('Emulation.setDeviceMetricsOverride', metrics);
  }

  async navigate(url: string): Promise<void> {
    await this.send('Page.navigate', { url: 'about:blank' });
    this.requests.length = 0;
    await this.send('Page.navigate', { url });
  }

  text(): Promise<string> {
    return this.value('document.body.innerText');
  }

  /** What axe finds, with where. */
  async findings(): Promise<readonly unknown[]> {
    await this.value(axe);
    return this.value(
      `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 120))]))`,
    );
  }

  /** With PAGE_PICTURES=FOLDER pages are kept there, to be looked at. */
  async picture(name: string): Promise<void> {
    const { PAGE_PICTURES: pictures } = process.env;
    if (pictures === undefined) return;
    const { data } = (await this.send('Page.captureScreenshot', { captureBeyondViewport: true })) as { data: string };
    writeFileSync(join(pictures, `${name}.png`), Buffer.from(data, 'base64'));
  }

  async close(): Promise<void> {
    const ended = once(this.child, 'exit');
    await this.send('Browser.close').catch(() => undefined);
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
