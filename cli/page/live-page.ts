import type { PageDeps } from './read-snapshot.js';
import { type EngineState, problemText, readEngine, readSnapshot } from './read-snapshot.js';
import { PageNodes, pricesByPool } from './nodes.js';
import { followChanges } from '../../operator/change-events.js';
import { messageOf } from '../../core/error-message.js';
import type { PageChange, PageDecision, PageNode, PagePoint, PageSnapshot } from './snapshot.js';

/** How often Temporal is read while a page is open. */
const engineMs = 10_000;
/** Changes of the cluster are sent at most this often. */
const sendMs = 1000;
/** One point of the price a minute, for a day. */
const pointMs = 60_000;
const mostPoints = 1440;
const mostDecisions = 200;

type Watcher = (change: PageChange) => void;
type ClusterRead = Awaited<ReturnType<typeof readSnapshot>>;

const drawn = ['Node', 'NodeClaim', 'Pod', 'NodePool', 'DisruptionPause'] as const;

/** The state behind the page: the last snapshot, the price over time, and who watches. */
export class LivePage {
  private engine: EngineState | undefined;
  private engineProblem: { readonly what: string; readonly since: number } | undefined;
  private engineAt = 0;
  private staleSince: number | undefined;
  private last: PageSnapshot | undefined;
  private readonly watchers = new Set<Watcher>();
  private readonly series: PagePoint[] = [];
  private readonly decisions: PageDecision[] = [];
  private reading: Promise<PageSnapshot> | undefined;
  /** Whether something that is drawn has changed since it was read. */
  private isChanged = true;

  private readonly pages = new PageNodes();

  constructor(private readonly deps: PageDeps) {}

  /** Keeps the series and sends changes until `signal` aborts. */
  start(signal: AbortSignal): void {
    const { log } = this.deps;
    const fail = (error: unknown): void => log.warn({ error: messageOf(error) }, 'the page cannot be updated');
    const stopDecisions = followChanges(this.deps.cache, ({ kind, what, subject, by }) => {
      this.decisions.unshift({ at: this.deps.now(), kind, what, subject, by });
      this.decisions.length = Math.min(this.decisions.length, mostDecisions);
    });
    const stops = drawn.map((kind) => this.deps.cache.on(kind, () => (this.isChanged = true)));
    const send = setInterval(() => {
      if (this.watchers.size > 0 && (this.isChanged || this.isEngineDue())) this.update().catch(fail);
    }, sendMs);
    const point = setInterval(() => {
      this.readCluster().then((read) => this.addPoint(read), fail);
    }, pointMs);
    for (const timer of [send, point]) timer.unref();
    signal.addEventListener('abort', () => {
      for (const timer of [send, point]) clearInterval(timer);
      for (const stop of [stopDecisions, ...stops]) stop();
    });
  }

  /** Calls in quick succession share one reading. */
  snapshot(): Promise<PageSnapshot> {
    this.reading ??= this.read().finally(() => (this.reading = undefined));
    return this.reading;
  }

  /** Calls `watcher` with what changes from the last snapshot on; returns a function that stops it. */
  watch(watcher: Watcher): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  private isEngineDue(): boolean {
    return this.deps.now() - this.engineAt >= engineMs;
  }

  private async read(): Promise<PageSnapshot> {
    const now = this.deps.now();
    if (this.isEngineDue()) await this.readEngine(now);
    this.isChanged = false;
    const read = await this.readCluster();
    const page = { ...read, problems: this.problems(now), series: [...this.series], decisions: [...this.decisions] };
    // Who has this snapshot gets every later change.
    this.last ??= page;
    return page;
  }

  /** From the cache, with what Temporal last said. */
  private readCluster(): ReturnType<typeof readSnapshot> {
    return readSnapshot(this.deps, this.pages, this.engine);
  }

  private async readEngine(now: number): Promise<void> {
    this.engineAt = now;
    try {
      this.engine = await readEngine(this.deps, this.engine);
      this.engineProblem = undefined;
    } catch (error) {
      this.engineProblem = { what: problemText(error), since: this.engineProblem?.since ?? now };
    }
  }

  private problems(now: number): PageSnapshot['problems'] {
    const { cache } = this.deps;
    this.staleSince = cache.connected ? undefined : (this.staleSince ?? now);
    const stale = {
      what: 'the API server does not answer: nodes and pods are as they were',
      since: this.staleSince ?? now,
    };
    return [
      ...(cache.connected ? [] : [stale]),
      ...(this.engineProblem === undefined ? [] : [this.engineProblem]),
      ...(this.engine?.report.unread ?? []).map((what) => ({ what: `cannot be read: ${what}`, since: this.engineAt })),
    ];
  }

  private async update(): Promise<void> {
    const before = this.last;
    const now = await this.snapshot();
    this.last = now;
    const change = changeOf(before ?? now, now);
    if (change !== undefined) for (const watcher of this.watchers) watcher(change);
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
