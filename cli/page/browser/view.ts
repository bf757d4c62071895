import type { PageChange, PageSnapshot } from '../snapshot.js';

/** What can be chosen, with its text. */
export const groupings = {
  pool: 'NodePool',
  zone: 'zone',
  type: 'instance type',
  capacityType: 'capacity type',
  state: 'state',
} as const;
export const areas = { cpu: 'CPU', memory: 'memory', gpu: 'GPUs' } as const;
export const views = { map: 'map', table: 'table' } as const;
export const themes = { auto: 'as the system', light: 'light', dark: 'dark' } as const;

/** The view. The address contains all of it, so that a link shows the same. */
export interface View {
  readonly view: keyof typeof views;
  readonly group: keyof typeof groupings;
  readonly resource: keyof typeof areas;
  readonly search: string;
  /** Name of the node in the drawer; empty for none. */
  readonly node: string;
  /** Namespace and name of the pod in the drawer, if there is no node. */
  readonly pod: string;
  /** Id of the command whose moves are drawn; empty for none. */
  readonly command: string;
  readonly theme: keyof typeof themes;
}

const initial: View = {
  ...{ view: 'map', group: 'pool', resource: 'cpu', theme: 'auto' },
  ...{ search: '', node: '', pod: '', command: '' },
};

export function viewOf(hash: string): View {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const one = <T extends string>(key: keyof View, allowed: Readonly<Record<T, string>>): T | undefined =>
    (Object.keys(allowed) as T[]).find((value) => value === given.get(key));
  return {
    view: one('view', views) ?? initial.view,
    group: one('group', groupings) ?? initial.group,
    resource: one('resource', areas) ?? initial.resource,
    search: given.get('search') ?? '',
    node: given.get('node') ?? '',
    pod: given.get('pod') ?? '',
    command: given.get('command') ?? '',
    theme: one('theme', themes) ?? initial.theme,
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
