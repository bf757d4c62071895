import type { ActivityReport, PageChange, PageDecision, PageSnapshot } from '../snapshot.js';

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
/** How far back prices and what happened are shown; as the parameter `since` of the API. */
export const pasts = {
  '': 'since the operator leads',
  '6h': 'the last 6 hours',
  '24h': 'the last 24 hours',
  '168h': 'the last 7 days',
  '720h': 'the last 30 days',
} as const;
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
  readonly past: keyof typeof pasts;
  readonly theme: keyof typeof themes;
}

const initial: View = {
  ...{ view: 'map', group: 'pool', resource: 'cpu', past: '', theme: 'auto' },
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
    past: one('past', pasts) ?? initial.past,
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

/** Something that happened: seen by the operator, or in the report. */
export interface Happening extends Omit<PageDecision, 'kind'> {
  readonly kind: string;
  readonly workflowId?: string;
}

const kindOfRow: ReadonlyMap<string, string> = new Map([
  ['launch', 'ready'],
  ['terminate', 'gone'],
  ['drift', 'rollout'],
  ['interrupt', 'interruption'],
  ['consolidate', 'consolidation'],
  ['expire', 'expiration'],
]);

/** What the operator has seen, and from the report what was before that, with the orders of people; newest first. */
export function happenings(seen: readonly PageDecision[], report: ActivityReport | undefined): readonly Happening[] {
  if (report === undefined) return seen;
  const first = Math.min(Infinity, ...seen.map(({ at }) => at));
  const rows = report.rows.map(({ closedAt, kind, reason, outcome, nodeClaim, nodePool, workflowId }): Happening => {
    const subject = nodeClaim === '' ? `NodePool ${nodePool}` : nodeClaim;
    const what = [outcome, reason === '' ? '' : `(${reason})`].join(' ').trim();
    return { at: Date.parse(closedAt), kind: kindOfRow.get(kind) ?? kind, what, subject, by: '', workflowId };
  });
  const orders = report.orders.map(({ at, order, about, by, because, isForced, workflowId }): Happening => {
    const what = `${order}${isForced ? ' with force' : ''} by ${by}${because === '' ? '' : `: ${because}`}`;
    return { at: Date.parse(at), kind: 'order', what, subject: about, by, workflowId };
  });
  return [...seen, ...rows.filter(({ at }) => at < first), ...orders].sort((a, b) => b.at - a.at);
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
