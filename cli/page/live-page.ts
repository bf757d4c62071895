import { messageOf } from '../../core/error-message.js';
import { counted } from '../../core/text.js';
import { followChanges } from '../../operator/change-events.js';
import { PageNodes, pricesByPool } from './nodes.js';
import { pricesOf } from './prometheus.js';
import { type EngineState, type PageDeps, readEngine, readWithoutTemporal, readSnapshot } from './read-snapshot.js';
import type { PageChange, PageDecision, PageNode, PagePast, PagePoint, PageSnapshot } from './snapshot.js';

/** How often Temporal is read while a page is open: after a change that its workflows follow, and without one. */
const engineMs = { changed: 3000, quiet: 10_000 };
/** How long a reading of Temporal may take, and how long the first page waits for it. */
const engineWithinMs = 20_000;
const firstWithinMs = 5000;
/** Changes of the cluster are sent after this, and so that the work takes at most a fifth of the thread. */
const tickMs = 250;
const restTimes = 4;
/** One point of the price a minute, for a day. */
const pointMs = 60_000;
const mostPoints = 1440;
const mostDecisions = 200;
/** By how much the clocks of the API server and of this process may differ. */
const clocksMs = 60_000;

type Watcher = (change: PageChange) => void;
type ClusterRead = Awaited<ReturnType<typeof readSnapshot>>;
type Source = 'kubernetes' | 'temporal' | 'prometheus' | 'clock' | 'karpenter';

const drawn = ['Node', 'NodeClaim', 'Pod', 'NodePool', 'DisruptionPause'] as const;
const followed = ['NodeClaim', 'NodePool', 'DisruptionPause'] as const;

/** The state behind the page: the last snapshot, the price over time, and who watches. */
export class LivePage {
  private engine: EngineState | undefined;
  private engineAt = -Infinity;
  private reading: Promise<void> | undefined;
  /** What the page lacks, and since when. */
  private readonly lacks = new Map<Source, { readonly what: string; readonly since: number }>();
  private last: PageSnapshot | undefined;
  private readonly watchers = new Set<Watcher>();
  private readonly series: PagePoint[] = [];
  private readonly decisions: PageDecision[] = [];
  private snapping: Promise<PageSnapshot> | undefined;
  /** Whether something that is drawn, or that workflows follow, has changed since it was read. */
  private isChanged = true;
  private isEngineChanged = true;
  /** When the next change may be sent. */
  private restUntil = 0;

  private readonly pages = new PageNodes();

  constructor(private readonly deps: PageDeps) {}

  /** Keeps the series and sends changes until `signal` aborts. */
  start(signal: AbortSignal): void {
    const { cache, log } = this.deps;
    const fail = (error: unknown): void => log.warn({ error: messageOf(error) }, 'the page cannot be updated');
    const stops = [
      followChanges(cache, ({ kind, what, subject, by }) => {
        this.decisions.unshift({ at: this.deps.now(), kind, what, subject, by });
        this.decisions.length = Math.min(this.decisions.length, mostDecisions);
      }),
      ...drawn.map((kind) => cache.on(kind, () => (this.isChanged = true))),
      ...followed.map((kind) => cache.on(kind, () => (this.isEngineChanged = true))),
      cache.on('Pod', ({ object }) => (this.isEngineChanged ||= object.spec.nodeName === undefined)),
    ];
    const tick = setInterval(() => {
      this.tick().catch(fail);
    }, tickMs);
    const point = setInterval(() => {
      this.readCluster().then((read) => this.addPoint(read), fail);
    }, pointMs);
    for (const timer of [tick, point]) timer.unref();
    signal.addEventListener('abort', () => {
      for (const timer of [tick, point]) clearInterval(timer);
      for (const stop of stops) stop();
    });
  }

  private async tick(): Promise<void> {
    this.noteConnection();
    if (this.watchers.size === 0) return;
    if (this.isEngineDue()) void this.refresh();
    if (!this.isChanged || this.snapping !== undefined || performance.now() < this.restUntil) return;
    // A snapshot that somebody else asks for is not sent.
    this.isChanged = false;
    const before = this.last;
    const began = performance.now();
    const now = await this.snapshot();
    this.last = now;
    const change = changeOf(before ?? now, now);
    if (change !== undefined) for (const watcher of this.watchers) watcher(change);
    const ended = performance.now();
    this.restUntil = ended + restTimes * (ended - began);
  }

  /** Calls in quick succession share one reading. */
  snapshot(): Promise<PageSnapshot> {
    this.snapping ??= this.read().finally(() => (this.snapping = undefined));
    return this.snapping;
  }

  /** Calls `watcher` with what changes from the last snapshot on; returns a function that stops it. */
  watch(watcher: Watcher): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  /** Reads what Temporal knows, for the snapshots after it. Calls at the same time share one reading. */
  refresh(): Promise<void> {
    this.reading ??= this.readEngine().finally(() => {
      this.reading = undefined;
      this.isChanged = true;
    });
    return this.reading;
  }

  /** The price since then: from Prometheus where it is given, and answers, before what this process has seen. */
  async past(sinceMs: number): Promise<PagePast> {
    const { prometheus, now } = this.deps;
    const [from, to] = [now() - sinceMs, now()];
    const own = this.series.filter(({ at }) => at >= from);
    if (prometheus === undefined) return { source: 'operator', points: own };
    try {
      const points = await pricesOf(prometheus, { from, to });
      this.lacksNot('prometheus');
      const first = own[0]?.at ?? Infinity;
      return { source: 'Prometheus', points: [...points.filter(({ at }) => at < first), ...own] };
    } catch (error) {
      this.lack(
        'prometheus',
        `Prometheus does not answer, and prices are those since the operator leads: ${messageOf(error)}`,
      );
      return { source: 'operator', points: own };
    }
  }

  private isEngineDue(): boolean {
    const { changed, quiet } = engineMs;
    return this.deps.now() - this.engineAt >= (this.isEngineChanged ? changed : quiet);
  }

  private async read(): Promise<PageSnapshot> {
    this.noteConnection();
    if (this.isEngineDue()) {
      const reading = this.refresh();
      // Later pages have what was read before, or say that Temporal does not answer.
      if (this.engine === undefined) await Promise.race([reading, passed(firstWithinMs)]);
    }
    const read = await this.readCluster();
    this.noteClock(read);
    const { unread = [] } = this.engine?.report ?? {};
    const page = {
      ...read,
      problems: [
        ...this.lacks.values(),
        ...unread.map((what) => ({ what: `cannot be read: ${what}`, since: this.engineAt })),
      ],
      ...{ series: [...this.series], decisions: [...this.decisions] },
    };
    // Who has this snapshot gets every later change.
    this.last ??= page;
    return page;
  }

  /** From the cache, with what Temporal last said. */
  private readCluster(): ReturnType<typeof readSnapshot> {
    return readSnapshot(this.deps, this.pages, this.engine);
  }

  private async readEngine(): Promise<void> {
    this.engineAt = this.deps.now();
    this.isEngineChanged = false;
    try {
      this.engine = await this.deps.client.connection.withDeadline(Date.now() + engineWithinMs, () =>
        readEngine(this.deps, this.engine),
      );
      this.lacksNot('temporal');
      const { karpenter } = this.engine.report;
      if (karpenter === undefined) this.lacksNot('karpenter');
      else
        this.lack('karpenter', `Stowage does nothing: ${karpenter.holder} holds Karpenter's lease ${karpenter.lease}`);
    } catch (error) {
      this.lack(
        'temporal',
        `Temporal does not answer, and work under way, questions and the lower bound are as they were: ${messageOf(error)}`,
      );
      this.engine = await readWithoutTemporal(this.deps, this.engine);
    }
  }

  private lack(source: Source, what: string): void {
    const known = this.lacks.get(source);
    if (known?.what === what) return;
    this.lacks.set(source, { what, since: known?.since ?? this.deps.now() });
    this.isChanged = true;
  }

  private lacksNot(source: Source): void {
    if (this.lacks.delete(source)) this.isChanged = true;
  }

  private noteConnection(): void {
    if (this.deps.cache.connected) this.lacksNot('kubernetes');
    else this.lack('kubernetes', 'the API server does not answer: nodes and pods are as they were');
  }

  /** What the API server created lately has its time. */
  private noteClock({ at, nodes }: ClusterRead): void {
    const ahead = nodes.reduce((most, { created }) => Math.max(most, created - at), 0);
    if (ahead < clocksMs) this.lacksNot('clock');
    else {
      const minutes = counted(Math.round(ahead / 60_000), 'minute');
      this.lack('clock', `the clock of the API server is at least ${minutes} ahead of the operator's: ages are wrong`);
    }
  }

  /** The bound is left out where Temporal was not read lately: it is read for watchers alone, since each query costs. */
  private addPoint({ at, pricePerHour, leastPossiblePerHour: least, nodes }: ClusterRead): void {
    const isRecent = at - this.engineAt <= pointMs;
    const byPool = pricesByPool(nodes);
    const point = {
      at,
      pricePerHour,
      ...(least === undefined || !isRecent ? {} : { leastPossiblePerHour: least }),
      byPool,
    };
    this.series.push(point);
    if (this.series.length > mostPoints) this.series.shift();
    for (const watcher of this.watchers) watcher({ at, point });
  }
}

const passed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());

const sections = [
  ...['problems', 'temporal', 'pricePerHour', 'leastPossiblePerHour', 'saved', 'needs', 'pools', 'pauses', 'workloads'],
  ...['waiting', 'commands', 'rollouts', 'stays', 'nextWindow', 'decisions'],
] as const satisfies readonly (keyof PageChange)[];

/** What differs between two snapshots; undefined for nothing. Nodes name workloads by index, so a new list sends all. */
export function changeOf(before: PageSnapshot, now: PageSnapshot): PageChange | undefined {
  const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  const changed = sections.filter((name) => !isSame(before[name], now[name]));
  const known = new Map(before.nodes.map((node) => [node.name, node]));
  const nodes: PageNode[] = [];
  const workloads = changed.includes('workloads');
  for (const node of now.nodes) {
    const old = known.get(node.name);
    known.delete(node.name);
    if (workloads || old === undefined || !isSame(old, node)) nodes.push(node);
  }
  if (changed.length === 0 && nodes.length === 0 && known.size === 0) return undefined;
  return {
    ...Object.fromEntries(changed.map((name) => [name, now[name]])),
    at: now.at,
    ...(nodes.length === 0 ? {} : { nodes }),
    ...(known.size === 0 ? {} : { gone: [...known.keys()] }),
  };
}
