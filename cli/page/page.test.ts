import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import FakeTimers from '@sinonjs/fake-timers';
import type { Client } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { noteMark } from '../../cluster/interruption-note.js';
import { PageAccess } from './access.js';
import { endpoints, namedIn } from './api.js';
import type { ActivityReport } from '../report/sums.js';
import type { PrometheusSource } from './prometheus.js';
import { layout, nodeAt } from './browser/layout.js';
import { csv, shellWord, used } from './browser/format.js';
import { changed, happenings, hashOf, viewOf } from './browser/view.js';
import { changeOf, LivePage } from './live-page.js';
import { workloadName } from './nodes.js';
import { servePage } from './server.js';
import { type PageNode, type PageSnapshot, pageSnapshot } from './snapshot.js';

const node = (name: string, more: Partial<PageNode> = {}): PageNode => ({
  ...{ name, claim: `claim-${name}`, pool: 'default', type: 'm7i.large', zone: 'a', capacityType: 'spot' },
  ...{ pricePerHour: 0.1, created: 0, state: 'ready', marks: [], allocatable: [2000, 8000, 0], daemons: [100, 100, 0] },
  pods: [[0, 3, 500, 1000, 0]],
  ...more,
});

const page = (nodes: PageNode[], more: Partial<PageSnapshot> = {}): PageSnapshot => ({
  ...{ version: 1, cluster: 'c', at: 1, problems: [], temporal: '', pricePerHour: 1, needs: [], pools: [], pauses: [] },
  ...{
    nodes,
    workloads: ['default/Deployment/web'],
    waiting: [],
    commands: [],
    rollouts: [],
    stays: [],
    nextWindow: '',
  },
  ...{ decisions: [], series: [] },
  ...more,
});

describe('who may read the page (surfaces/page)', () => {
  const request = (from: string, headers: Record<string, string>): IncomingMessage =>
    ({ socket: { remoteAddress: from }, headers }) as unknown as IncomingMessage;
  const reviews: string[] = [];
  const kube = (user: string | undefined, denied: readonly string[] = []) => ({
    create: (kind: string, { spec }: { spec: { resourceAttributes?: { resource: string } } }) => {
      reviews.push(kind);
      const status =
        kind === 'TokenReview'
          ? { authenticated: user !== undefined, user: { username: user } }
          : { allowed: !denied.includes(spec.resourceAttributes!.resource) };
      return Promise.resolve({ outcome: 'created', object: { metadata: {}, spec, status } });
    },
  });
  const access = (user: string | undefined, denied?: readonly string[]): PageAccess =>
    new PageAccess(kube(user, denied) as never, () => 0);
  const bearer = { authorization: 'Bearer t0ken', host: 'page.example.com' };
  beforeEach(() => void reviews.splice(0));

  test.each([
    ['127.0.0.1', 'localhost:8082'],
    ['::1', '[::1]:8082'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
  ])('a caller from %s who names %s, as kubectl port-forward, needs no token', async (from, host) => {
    await expect(access(undefined).of(request(from, { host }))).resolves.toEqual({ allowed: true });
  });

  test.each([
    ['from another machine', '10.0.0.9', { host: 'localhost' }],
    ['from a page of another site in the same browser', '127.0.0.1', { host: 'evil.example.com' }],
    ['from a proxy in the same Pod', '127.0.0.1', { host: 'localhost', 'x-forwarded-for': '10.0.0.9' }],
    ['without a Host header', '127.0.0.1', {}],
  ])('a caller %s needs a token', async (_, from, headers) => {
    await expect(access(undefined).of(request(from, headers as never))).resolves.toMatchObject({ status: 401 });
  });

  test('a token that the API server does not accept is refused', async () => {
    await expect(access(undefined).of(request('10.0.0.9', bearer))).resolves.toMatchObject({ status: 401 });
  });

  test.each(['nodepools', 'nodes', 'pods'])('a user who may not list %s sees nothing', async (resource) => {
    const answer = await access('ann', [resource]).of(request('10.0.0.9', bearer));
    expect(answer).toEqual({ allowed: false, status: 403, why: `ann may not list ${resource} of the cluster` });
  });

  test('the API server is asked once a minute for a token', async () => {
    const one = access('ann');
    for (let i = 0; i < 3; i++) await expect(one.of(request('10.0.0.9', bearer))).resolves.toEqual({ allowed: true });
    expect(reviews.filter((kind) => kind === 'TokenReview')).toHaveLength(1);
  });
});

describe('changes of the page', () => {
  test('equal snapshots give no change', () => {
    expect(changeOf(page([node('a')]), page([node('a')]))).toBeUndefined();
  });

  test.each<[string, PageSnapshot]>([
    ['a node more', page([node('a'), node('b'), node('c')])],
    ['a node less', page([node('b')])],
    ['a changed node', page([node('a', { state: 'draining' }), node('b')])],
    ['another price, and a question', page([node('a'), node('b')], { pricePerHour: 2, at: 3 })],
    ['a new workload', page([node('a', { pods: [[1, 1, 1, 1, 0]] }), node('b')], { workloads: ['x', 'y'] })],
    ['no node left', page([])],
  ])('%s: the change makes the new snapshot of the old one', (_, after) => {
    const before = page([node('a'), node('b')]);
    const change = changeOf(before, after)!;
    const made = changed(before, change);
    expect({ ...made, nodes: [...made.nodes].sort((a, b) => (a.name < b.name ? -1 : 1)) }).toEqual({
      ...after,
      at: change.at,
    });
  });
});

describe('what is drawn', () => {
  const nodes = Array.from({ length: 200 }, (_, i) =>
    node(`n${i}`, { zone: 'abc'[i % 3]!, allocatable: [1000 * (1 + (i % 4)), 8000, 0] }),
  );

  test('each node is in the group of its zone, inside the picture, and found by its place', () => {
    const groups = layout(nodes, { group: 'zone', resource: 'cpu' }, 1200, 700);
    expect(groups.map(({ name }) => name).sort()).toEqual(['a', 'b', 'c']);
    expect(groups.flatMap((group) => group.nodes)).toHaveLength(200);
    for (const group of groups)
      for (const box of group.nodes) {
        expect(box.node.zone).toBe(group.name);
        expect([box.x, box.y].every((at) => at >= 0) && box.x + box.width <= 1200 && box.y + box.height <= 700).toBe(
          true,
        );
        if (box.width > 2 && box.height > 2)
          expect(nodeAt(groups, box.x + box.width / 2, box.y + box.height / 2)?.node.name).toBe(box.node.name);
      }
  });

  test('pods fill the share of the node that they request', () => {
    const [group] = layout([node('a', { allocatable: [3200, 8000, 0] })], { group: 'pool', resource: 'cpu' }, 400, 300);
    const [box] = group!.nodes;
    const filled = box!.pods.reduce((sum, { width, height }) => sum + width * height, 0);
    expect(filled / (box!.width * box!.height)).toBeCloseTo(0.5, 1);
  });

  test('a name that a spreadsheet would run as a formula is text in the CSV', () => {
    expect(csv([['=cmd()', 'a,b', 3]])).toBe(`'=cmd(),"a,b",3\n`);
  });

  test('a name that a shell would run is one word of a command to copy', () => {
    expect(shellWord('ip-10-0-0-1.eu-west-1.compute.internal')).toBe('ip-10-0-0-1.eu-west-1.compute.internal');
    expect(shellWord(`x'; rm -rf ~ #`)).toBe(`'x'\\''; rm -rf ~ #'`);
  });

  test('requests are those of DaemonSet pods and of all pods', () => {
    expect(used(node('a'))).toEqual([1600, 3100, 0]);
  });

  test('the address keeps the view, and what it does not know is left out', () => {
    const view = viewOf('#group=zone&node=n1&search=shop%20api&view=rubbish');
    expect(view).toMatchObject({ group: 'zone', node: 'n1', search: 'shop api', view: 'map' });
    expect(viewOf('#group=constructor&theme=__proto__')).toEqual(viewOf(''));
    expect(viewOf(hashOf(view))).toEqual(view);
  });
});

describe('what happened, by the operator and by the report', () => {
  const row = (closedAt: string, kind: string) => ({
    ...{ workflowId: `${kind}/x`, kind, reason: 'Drifted', nodePool: 'default', nodeClaim: 'c1', outcome: 'done' },
    ...{ savedPerHour: 0, startedAt: closedAt, closedAt },
  });
  const at = (text: string): number => Date.parse(text);
  const seen = { at: at('2026-01-05T12:00:00Z'), kind: 'gone' as const, what: 'Gone', subject: 'n1', by: '' };
  const order = { at: '2026-01-05T12:01:00Z', order: 'approve', by: 'ann', because: 'it may', isForced: true };
  const report = {
    rows: [row('2026-01-05T11:00:00Z', 'drift'), row('2026-01-05T12:00:01Z', 'terminate')],
    orders: [{ ...order, about: 'c1', workflowId: 'x' }],
  } as unknown as ActivityReport;

  test('newest first: orders, what the operator saw, and of the report what was before that', () => {
    expect(happenings([seen], report).map(({ kind, what }) => [kind, what])).toEqual([
      ['order', 'approve with force by ann: it may'],
      ['gone', 'Gone'],
      ['rollout', 'done (Drifted)'],
    ]);
  });

  test('where the operator saw nothing yet all of the report is shown', () => {
    expect(happenings([], report).map(({ kind }) => kind)).toEqual(['order', 'gone', 'rollout']);
    expect(happenings([seen], undefined)).toEqual([seen]);
  });
});

describe('what the page lacks is said, with since when (surfaces/page)', () => {
  let world: ActivityWorld;
  const lease = { namespace: 'kube-system', name: 'l' };
  const pageWith = (client: object, prometheus?: PrometheusSource): LivePage =>
    new LivePage({
      ...{ ...world.deps, client: client as Client, karpenterLease: lease, leaderLease: lease, temporalUi: '' },
      ...(prometheus === undefined ? {} : { prometheus }),
    });
  const away = { connection: { withDeadline: () => Promise.reject(new Error('connection refused')) } };
  const saidBy = async (live: LivePage): Promise<(string | number)[][]> =>
    (await live.snapshot()).problems.map(({ what, since }) => [what.split(':')[0]!, since]);

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('NodePool', nodePool('default'));
    await world.synced();
  });
  afterEach(() => world.stop());

  test('without Temporal: pools, pauses and nodes are shown, and the time does not move', async () => {
    world.kube.put('DisruptionPause', {
      metadata: { name: 'p' },
      spec: { scope: { kind: 'Cluster' as const }, message: 'release week' },
    });
    await world.synced();
    const live = pageWith(away);
    const since = world.clock.now;
    const { pools, pauses, problems } = await live.snapshot();
    expect([pools.map(({ name }) => name), pauses.map(({ because }) => because)]).toEqual([
      ['default'],
      ['release week'],
    ]);
    expect(problems).toMatchObject([{ what: expect.stringMatching(/^Temporal does not answer.*connection refused/) }]);
    world.clock.now += 60_000;
    await live.refresh();
    expect((await live.snapshot()).problems.map((each) => each.since)).toEqual([since]);
  });

  test('a Temporal that never answers holds the first page for some seconds, and later ones not at all', async () => {
    const live = pageWith({ connection: { withDeadline: () => new Promise(() => undefined) } });
    const clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const first = live.snapshot();
      await clock.tickAsync(5000);
      expect((await first).nodes).toEqual([]);
    } finally {
      clock.uninstall();
    }
  });

  test('a cache without a connection', async () => {
    const live = pageWith(away);
    jest.spyOn(world.deps.cache, 'connected', 'get').mockReturnValue(false);
    const since = world.clock.now;
    await live.snapshot();
    world.clock.now += 5000;
    expect(await saidBy(live)).toContainEqual(['the API server does not answer', since]);
    jest.restoreAllMocks();
    expect((await saidBy(live)).flat()).not.toContain('the API server does not answer');
  });

  test('an API server whose clock is ten minutes ahead', async () => {
    const claim = nodeClaim('c1');
    const creationTimestamp = new Date(world.clock.now + 600_000).toISOString();
    world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, creationTimestamp } });
    await world.synced();
    expect((await saidBy(pageWith(away))).flat()).toContainEqual(
      expect.stringMatching(/^the clock of the API server is at least \d+ minutes ahead/),
    );
  });

  test('a change that another reader saw first is sent all the same', async () => {
    const clock = FakeTimers.install({ toFake: ['setInterval', 'clearInterval'] });
    const stop = new AbortController();
    try {
      const live = pageWith(away);
      const sent: (string | undefined)[] = [];
      live.start(stop.signal);
      live.watch(({ nodes = [] }) => sent.push(...nodes.map(({ claim }) => claim)));
      await live.snapshot();
      await clock.tickAsync(1000);
      world.kube.put('NodeClaim', nodeClaim('c2'));
      await world.synced();
      expect((await live.snapshot()).nodes.map(({ claim }) => claim)).toEqual(['c2']);
      while (sent.length === 0) await clock.tickAsync(1000);
      expect(sent).toEqual(['c2']);
    } finally {
      stop.abort();
      clock.uninstall();
    }
  });

  test('a Prometheus that does not answer: prices are those of the operator', async () => {
    const live = pageWith(away, { url: 'http://127.0.0.1:1', selector: '' });
    expect(await live.past(3_600_000)).toEqual({ source: 'operator', points: [] });
    expect((await saidBy(live)).map(([what]) => what)).toContainEqual(
      expect.stringMatching(/^Prometheus does not answer/),
    );
  });
});

test('without an open page the price over time is kept, and Temporal is not queried', async () => {
  const world = await createActivityWorld();
  const clock = FakeTimers.install({ toFake: ['setInterval', 'clearInterval'] });
  const stop = new AbortController();
  try {
    let calls = 0;
    const get = (): undefined => {
      calls += 1;
      return undefined;
    };
    const client = new Proxy({}, { get }) as unknown as Client;
    const lease = { namespace: 'kube-system', name: 'l' };
    const deps = { ...world.deps, client, karpenterLease: lease, leaderLease: lease, temporalUi: '' };
    const live = new LivePage(deps);
    const points: unknown[] = [];
    live.start(stop.signal);
    await clock.tickAsync(120_000);
    expect(calls).toBe(0);
    live.watch(({ point }) => point !== undefined && points.push(point));
    await clock.tickAsync(60_000);
    expect(points).toMatchObject([{ pricePerHour: 0, byPool: {} }]);
  } finally {
    stop.abort();
    clock.uninstall();
    world.stop();
  }
});

describe('the served page', () => {
  let world: ActivityWorld;
  let stop: AbortController;
  let port: number;

  beforeEach(async () => {
    stop = new AbortController();
    world = await createActivityWorld();
    world.kube.put('NodePool', nodePool('default'));
    world.kube.put('EC2NodeClass', nodeClass('default'));
    const own = { [labels.nodePool]: 'default', [labels.instanceType]: 'm5.xlarge', [labels.capacityType]: 'spot' };
    const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => ({
      type,
      status: 'True' as const,
    }));
    const claim = nodeClaim('c1', { status: { providerID: 'fake:///a/i-1', nodeName: 'n1', conditions } });
    world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, labels: own } });
    world.kube.put('Node', {
      metadata: { name: 'n1', labels: own },
      spec: { providerID: 'fake:///a/i-1' },
      status: { allocatable: { cpu: '4', memory: '8Gi' }, conditions: [{ type: 'Ready', status: 'True' }] },
    } as never);
    for (const [name, kind] of [
      ['web-7f-1', 'ReplicaSet'],
      ['web-7f-2', 'ReplicaSet'],
      ['agent-x', 'DaemonSet'],
    ] as const)
      world.kube.put('Pod', {
        metadata: {
          ...{ name, namespace: 'shop', labels: { 'pod-template-hash': '7f' } },
          ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'web-7f', uid: 'o', controller: true }],
        },
        spec: {
          nodeName: 'n1',
          containers: [{ name: 'app', resources: { requests: { cpu: '500m', memory: '1Gi' } } }],
        },
        status: { phase: 'Running' },
      });
    await world.synced();
    const away = new Error('connection refused');
    const client = {
      connection: { withDeadline: () => Promise.reject(away) },
      workflow: {
        getHandle: () => ({ query: () => Promise.reject(away) }),
        list: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(away) }) }),
      },
    } as unknown as Client;
    const lease = { namespace: 'kube-system', name: 'l' };
    const deps = { ...world.deps, client, karpenterLease: lease, leaderLease: lease, temporalUi: '' };
    port = await servePage(
      deps,
      {
        port: 0,
        address: '127.0.0.1',
        html: '<div id="page"></div><script id="snapshot" type="application/json"></script>',
      },
      stop.signal,
    );
  });
  afterEach(() => stop.abort());

  const fetched = async (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, init);

  test('a snapshot without Temporal has the nodes and their pods, and says what it lacks', async () => {
    const read = pageSnapshot.parse(await (await fetched('/api/v1/snapshot')).json());
    expect(read.nodes).toMatchObject([
      {
        ...{ name: 'n1', claim: 'c1', pool: 'default', state: 'ready', allocatable: [4000, 8192, 0] },
        ...{ daemons: [500, 1024, 0], pods: [[0, 2, 500, 1024, 0]] },
      },
    ]);
    expect(read.workloads).toEqual(['shop/Deployment/web']);
    expect(read.problems.map(({ what }) => what).join()).toContain('Temporal does not answer');
  });

  test('a node that a pause covers and whose interruption is announced is marked', async () => {
    const pause = { scope: { kind: 'NodePool' as const, name: 'default' }, message: 'release week' };
    world.kube.put('DisruptionPause', { metadata: { name: 'p' }, spec: pause });
    const claim = world.deps.cache.get('NodeClaim', { name: 'c1' })!;
    const annotated = { ...claim.metadata, annotations: noteMark({ kind: 'spot_interrupted', at: 1.7e12 }) };
    world.kube.put('NodeClaim', { ...claim, metadata: annotated });
    await world.synced();
    const read = pageSnapshot.parse(await (await fetched('/api/v1/snapshot')).json());
    expect(read.nodes[0]!.marks).toEqual(['interrupted', 'paused']);
    expect(read.decisions).toMatchObject([
      { kind: 'interruption', subject: 'n1' },
      { kind: 'pause', subject: 'NodePool default' },
    ]);
  });

  test('the page is one document that may load nothing from elsewhere', async () => {
    const response = await fetched('/');
    const html = await response.text();
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(html).toContain('<div id="page">');
  });

  test('the page as a file has its snapshot inside, and no name ends its script', async () => {
    const name = '</script><script>alert(1)</script>';
    world.kube.put('NodeClaim', nodeClaim(name));
    await world.synced();
    const html = await (await fetched('/snapshot.html')).text();
    const [, inside] = /<script id="snapshot" type="application\/json">(.*?)<\/script>/s.exec(html)!;
    expect(pageSnapshot.parse(JSON.parse(inside!)).nodes.map(({ claim }) => claim)).toContain(name);
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('%s is refused: the page is read-only', async (method) => {
    expect((await fetched('/api/v1/snapshot', { method })).status).toBe(405);
  });

  test.each(['/api/v1/nodes/%zz/pods', '/nothing', '/api/v1/nodes/a/b/c', '//'])(
    '%s is answered with its problem',
    async (path) => {
      expect([400, 404]).toContain((await fetched(path)).status);
    },
  );

  test('a stream brings a node that is new', async () => {
    await fetched('/api/v1/snapshot');
    const events = await new Promise<string>((resolve, reject) => {
      const request = get(`http://127.0.0.1:${port}/api/v1/stream`, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
          if (!text.includes('"c2"')) return;
          request.destroy();
          resolve(text);
        });
        const claim = nodeClaim('c2');
        world.kube.put('NodeClaim', claim);
      });
      request.once('error', (error) => (request.destroyed ? undefined : reject(error)));
    });
    expect(events).toMatch(/data: \{.*"claim":"c2"/);
  });

  test('pods of a node are named, largest first', async () => {
    const pods = (await (await fetched('/api/v1/nodes/n1/pods')).json()) as { name: string }[];
    expect(pods.map(({ name }) => name).sort()).toEqual(['shop/agent-x', 'shop/web-7f-1', 'shop/web-7f-2']);
  });

  test('the OpenAPI document has each path with the schema of its answer', async () => {
    const document = (await (await fetched('/api/v1/openapi.json')).json()) as { paths: Record<string, object> };
    expect(Object.keys(document.paths).sort()).toEqual(endpoints.map(({ path }) => path).sort());
    expect(document.paths['/api/v1/report']).toMatchObject({
      get: {
        parameters: [{ name: 'since', in: 'query', required: false, schema: { default: '24h' } }],
        responses: {
          '200': { content: { 'application/json': { schema: { required: expect.arrayContaining(['orders']) } } } },
        },
      },
    });
  });
});

test.each([
  ['/api/v1/pods/{namespace}/{name}/why', '/api/v1/pods/a/b%2Fc/why', { namespace: 'a', name: 'b/c' }],
  ['/api/v1/pods/{namespace}/{name}/why', '/api/v1/pods/a/why', undefined],
  ['/api/v1/nodes/{name}/why', '/api/v1/nodes/__proto__/why', { name: '__proto__' }],
  ['/api/v1/report', '/api/v1/report?since=7h', { since: '7h' }],
  ['/api/v1/report', '/api/v1/report', { since: '24h' }],
])('the names that %s finds in %s', (path, given, names) => {
  const query = { since: { default: '24h', description: '' } };
  expect(namedIn(path, new URL(given, 'http://stowage'), path.endsWith('report') ? query : {})).toEqual(names);
});

test('a pod without a controller is its own workload', () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n' }, spec: { containers: [] } };
  expect(workloadName(pod)).toBe('n/Pod/p');
});
