import { computed, effect, signal } from '@preact/signals';
import { printable } from '../../../core/text.js';
import type { PageChange, PageNode, PageSnapshot } from '../snapshot.js';
import { changed, hashOf, type View, viewOf } from './view.js';

export const view = signal<View>(viewOf(location.hash));
export const snapshot = signal<PageSnapshot | undefined>(undefined);
/** Since when the stream is broken, milliseconds; undefined while it is open, and in a file. */
export const brokenSince = signal<number | undefined>(undefined);
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
    const response = await fetch('api/v1/snapshot');
    if (!response.ok) throw new Error(await response.text());
    snapshot.value = parsed(await response.text()) as PageSnapshot;
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
    if (page !== undefined) snapshot.value = changed(page, parsed(data as string) as PageChange);
  });
}
