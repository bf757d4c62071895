import { z } from 'zod';
import { knownLife } from '../history.js';
import { temporalEngine } from '../history/engine.js';
import { lifeSchema } from '../history/life.js';
import { lengthOf, recentActivity } from '../report.js';
import { reportSchema } from '../report/sums.js';
import { statusReport } from '../status-report.js';
import { statusSchema } from '../status-rows.js';
import { whyObject } from '../why.js';
import { whySchema } from '../why-answers.js';
import type { LivePage } from './live-page.js';
import { nodePods } from './nodes.js';
import type { PageDeps } from './read-snapshot.js';
import { nodePod, pageChange, pagePast, pageSnapshot } from './snapshot.js';

/** What a path and a query name. */
export type Named = Readonly<Record<string, string>>;

/** Calls of Temporal end before the request does. */
const answerWithinMs = 50_000;

interface Endpoint {
  /** With names of what the caller gives in braces, as in OpenAPI. */
  readonly path: string;
  readonly summary: string;
  readonly schema: z.ZodType;
  /** Of the query, with their defaults. */
  readonly query?: Readonly<Record<string, { readonly default: string; readonly description: string }>>;
  /** Absent for the stream. */
  readonly read?: (deps: PageDeps, page: LivePage, given: Named) => unknown;
}

const since = { since: { default: '24h', description: 'how far back, such as 7h' } } as const;

const inTime = <T>({ client }: PageDeps, read: () => Promise<T>): Promise<T> =>
  client.connection.withDeadline(Date.now() + answerWithinMs, read);

/** The commands of the same names print the same with `-o json`. */
export const endpoints: readonly Endpoint[] = [
  {
    ...{ path: '/api/v1/snapshot', summary: 'The cluster as the page shows it', schema: pageSnapshot },
    read: (_, page) => page.snapshot(),
  },
  { path: '/api/v1/stream', summary: 'Changes of the snapshot as server-sent events', schema: pageChange },
  {
    ...{ path: '/api/v1/status', summary: 'stowage status', schema: statusSchema },
    read: (deps) => inTime(deps, () => statusReport({ ...deps, now: deps.now() })),
  },
  {
    ...{ path: '/api/v1/report', summary: 'stowage report', schema: reportSchema },
    query: since,
    read: (deps, _, given) => inTime(deps, () => recentActivity(deps, lengthOf(given['since'] ?? ''))),
  },
  {
    ...{ path: '/api/v1/prices', summary: 'The price over time by NodePool', schema: pagePast },
    query: since,
    read: (_, page, given) => page.past(lengthOf(given['since'] ?? '')),
  },
  ...(['nodes', 'nodeclaims', 'nodepools'] as const).map((kinds): Endpoint => {
    const kind = ({ nodes: 'node', nodeclaims: 'nodeclaim', nodepools: 'nodepool' } as const)[kinds];
    return {
      ...{ path: `/api/v1/${kinds}/{name}/why`, summary: `stowage why ${kind}/NAME`, schema: whySchema },
      read: (deps, _, { name = '' }) => inTime(deps, () => whyObject(deps, { kind, name })),
    };
  }),
  {
    ...{ path: '/api/v1/pods/{namespace}/{name}/why', summary: 'stowage why pod/NAME', schema: whySchema },
    read: (deps, _, { namespace = '', name = '' }) =>
      inTime(deps, () => whyObject(deps, { kind: 'pod', namespace, name })),
  },
  {
    ...{ path: '/api/v1/nodes/{name}/history', summary: 'stowage history node NAME', schema: lifeSchema },
    read: (deps, _, { name = '' }) =>
      inTime(deps, () => knownLife({ ...deps, engine: temporalEngine(deps.client), now: deps.now() }, name)),
  },
  {
    ...{ path: '/api/v1/nodes/{name}/pods', summary: 'The pods of a node', schema: z.array(nodePod) },
    read: (deps, _, { name = '' }) => nodePods(deps, name),
  },
];

/** What the path names; undefined where it is another's. Throws `URIError` for what is not encoded as it should be. */
export function namedIn(
  path: string,
  { pathname, searchParams }: URL,
  query: Endpoint['query'] = {},
): Named | undefined {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const found = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname);
  if (found === null) return undefined;
  return Object.fromEntries([
    ...names.map((name, n) => [name, decodeURIComponent(found[n + 1]!)] as const),
    ...Object.entries(query).map(([name, of]) => [name, searchParams.get(name) ?? of.default] as const),
  ]);
}

/** The OpenAPI document, generated from the schemas. */
export function pageOpenApi(): object {
  const parameter = (place: string, name: string, more: object = {}) => ({
    ...{ name, in: place, required: place === 'path', schema: { type: 'string' } },
    ...more,
  });
  const paths = endpoints.map(({ path, summary, schema, query = {}, read }) => {
    const type = read === undefined ? 'text/event-stream' : 'application/json';
    const parameters = [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => parameter('path', name!)),
      ...Object.entries(query).map(([name, { default: value, description }]) =>
        parameter('query', name, { description, schema: { type: 'string', default: value } }),
      ),
    ];
    const responses = {
      '200': { description: summary, content: { [type]: { schema: z.toJSONSchema(schema) } } },
      '401': { description: 'no token, or one that the API server does not accept' },
      '403': { description: 'the user of the token may not list NodePools, nodes or pods' },
      ...(parameters.length === 0 ? {} : { '404': { description: 'there is no such object' } }),
      '502': { description: 'Temporal or the API server does not answer' },
    };
    return [path, { get: { summary, parameters, responses } }] as const;
  });
  return { openapi: '3.1.0', info: { title: 'Stowage', version: '1' }, paths: Object.fromEntries(paths) };
}
