import { computed, effect, signal } from '@preact/signals';
import { printable } from '../../../core/text.js';
import type { ActivityReport, PageChange, PageNode, PagePast, PageSnapshot } from '../snapshot.js';
import { changed, hashOf, type View, viewOf } from './view.js';

export const view = signal<View>(viewOf(location.hash));
export const snapshot = signal<PageSnapshot | undefined>(undefined);
/** Since when the stream is broken, milliseconds; undefined while it is open, and in a file. */
export const brokenSince = signal<number | undefined>(undefined);
/** When the operator last said something, and how far its clock is behind that of this machine, milliseconds. */
export const heardAt = signal(Date.now());
export const clockBehind = signal<{ readonly ms: number; readonly since: number }>({ ms: 0, since: 0 });
/** The clocks of two machines that follow the same time differ by less. */
const clocksMs = 60_000;
function heard({ at }: { readonly at: number }): void {
  const now = Date.now();
  heardAt.value = now;
  const ms = now - at;
  const { since } = clockBehind.value;
  clockBehind.value = Math.abs(ms) < clocksMs ? { ms: 0, since: 0 } : { ms, since: since === 0 ? now : since };
}

/** What the API says of earlier, as asked for. */
export interface Past {
  readonly prices?: PagePast;
  readonly report?: ActivityReport;
  readonly problem?: string;
}
export const past = signal<Past>({});
export const isFile = signal(false);
/** Name of the node, and id of the command, that the pointer is on; empty for none. */
export const hovered = signal('');
export const hoveredCommand = signal('');
/** A printed page has the table. */
export const isPrinting = signal(false);
addEventListener('beforeprint', () => (isPrinting.value = true));
addEventListener('afterprint', () => (isPrinting.value = false));

export const show = (change: Partial<View>): void => void (view.value = { ...view.value, ...change });

effect(() => {
  const hash = hashOf(view.value);
  if (hash !== location.hash.slice(1)) history.replaceState(null, '', hash === '' ? location.pathname : `#${hash}`);
});
addEventListener('hashchange', () => (view.value = viewOf(location.hash)));

/** Nodes that the search finds: every word is in the name, the pool, the type, the zone, a mark or a workload. */
export const found = computed<readonly PageNode[]>(() => {
  const { value: page } = snapshot;
  if (page === undefined) return [];
  const words = view.value.search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return page.nodes;
  return page.nodes.filter((node) => {
    const { name, claim, pool, type, zone, capacityType, state, marks, pods } = node;
    const text = [name, claim, pool, type, zone, capacityType, state, ...marks, ...pods.map(([w]) => page.workloads[w])]
      .join(' ')
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
});

export const selected = computed(() => snapshot.value?.nodes.find(({ name }) => name === view.value.node));

/** What the operator sends. Characters that change the direction of the text after them are shown, not applied. */
export const parsed = (text: string): unknown =>
  JSON.parse(text, (_, value: unknown) => (typeof value === 'string' ? printable(value) : value));

/** An answer of the API. Rejects with what it says. */
export async function answerOf<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(`api/v1/${path}`, { ...(signal === undefined ? {} : { signal }) });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return parsed(text) as T;
}

const pastAsked = computed(() => view.value.past);
effect(() => {
  const { value: since } = pastAsked;
  past.value = {};
  if (since === '' || isFile.value) return undefined;
  const stop = new AbortController();
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the API's schemas say what a path answers.
  const read = <T>(path: string, use: (answer: T) => Past): void =>
    void answerOf<T>(`${path}?since=${since}`, stop.signal).then(
      (answer) => (past.value = { ...past.peek(), ...use(answer) }),
      (error: unknown) => {
        if (!stop.signal.aborted) past.value = { ...past.peek(), problem: (error as Error).message };
      },
    );
  read<PagePast>('prices', (prices) => ({ prices }));
  read<ActivityReport>('report', (report) => ({ report }));
  return () => stop.abort();
});

/** Reads the snapshot in the page, or the server's, and follows its changes. */
export function connect(): void {
  const inside = document.getElementById('snapshot')?.textContent ?? '';
  if (inside.trim() !== '') {
    isFile.value = true;
    snapshot.value = parsed(inside) as PageSnapshot;
    return;
  }
  const stream = new EventSource('api/v1/stream');
  const read = async (): Promise<void> => {
    const page = await answerOf<PageSnapshot>('snapshot');
    heard(page);
    snapshot.value = page;
  };
  stream.addEventListener('open', () => {
    // Changes were missed while it was broken.
    read().then(
      () => (brokenSince.value = undefined),
      () => (brokenSince.value ??= Date.now()),
    );
  });
  stream.addEventListener('error', () => (brokenSince.value ??= Date.now()));
  stream.addEventListener('message', ({ data }) => {
    const { value: page } = snapshot;
    const change = parsed(data as string) as PageChange;
    heard(change);
    if (page !== undefined) snapshot.value = changed(page, change);
  });
}
