import type { PageChange, PageSnapshot } from '../snapshot.js';

export const groupings = ['pool', 'zone', 'type', 'capacityType', 'state'] as const;
export const areas = ['cpu', 'memory', 'gpu'] as const;
export const views = ['map', 'table'] as const;

/** What is looked at: the whole of it is in the address, so that a link shows the same. */
export interface View {
  readonly view: (typeof views)[number];
  readonly group: (typeof groupings)[number];
  readonly resource: (typeof areas)[number];
  readonly search: string;
  /** Name of the node in the drawer; empty for none. */
  readonly node: string;
  /** Id of the command whose moves are drawn; empty for none. */
  readonly command: string;
  readonly theme: 'auto' | 'light' | 'dark';
}

const initial: View = { view: 'map', group: 'pool', resource: 'cpu', search: '', node: '', command: '', theme: 'auto' };

export function viewOf(hash: string): View {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const one = <T extends string>(key: keyof View, allowed: readonly T[]): T | undefined =>
    allowed.find((value) => value === given.get(key));
  return {
    view: one('view', views) ?? initial.view,
    group: one('group', groupings) ?? initial.group,
    resource: one('resource', areas) ?? initial.resource,
    search: given.get('search') ?? '',
    node: given.get('node') ?? '',
    command: given.get('command') ?? '',
    theme: one('theme', ['light', 'dark'] as const) ?? 'auto',
  };
}

/** The part of the address that brings the view back; empty for the first view. */
export function hashOf(view: View): string {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(view))
    if (value !== initial[key as keyof View]) given.set(key, String(value));
  return given.toString();
}

/** The snapshot after a change of the stream. */
export function changed(page: PageSnapshot, { nodes = [], gone = [], point, ...sections }: PageChange): PageSnapshot {
  const fresh = new Map(nodes.map((node) => [node.name, node]));
  const away = new Set(gone);
  const kept = page.nodes.filter(({ name }) => !away.has(name)).map((node) => fresh.get(node.name) ?? node);
  const known = new Set(page.nodes.map(({ name }) => name));
  return {
    ...page,
    ...sections,
    nodes: [...kept, ...nodes.filter(({ name }) => !known.has(name))],
    series: point === undefined ? page.series : [...page.series.slice(-1439), point],
  };
}
