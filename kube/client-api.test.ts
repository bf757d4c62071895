import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Node } from '../api/kubernetes.js';
import { createApi } from './client-api.js';
import { createTransport } from './client-transport.js';
import type { Transport } from './client-transport.js';
import { createRateLimiter } from './limiter.js';
import type { LimiterClock } from './limiter.js';
import type { KubeClient, WatchEvent } from './port.js';

type Handler = (request: http.IncomingMessage & { body: string }, response: http.ServerResponse) => void;

/** What a real API server seldom does on demand. */
describe('the client, when the API server', () => {
  let server: http.Server;
  let transport: Transport;
  let client: KubeClient;
  let answer: Handler;
  let slept: number[];
  let asked: string[];
  let renewals: boolean[];

  const clock: LimiterClock = {
    now: () => 0,
    sleep: (milliseconds) => {
      slept.push(milliseconds);
      return Promise.resolve();
    },
  };
  const status = (response: http.ServerResponse, code: number, more: object = {}, headers = {}): void => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ kind: 'Status', code, message: `says ${code}`, ...more }));
  };
  const json = (response: http.ServerResponse, body: object): void => {
    response.end(JSON.stringify(body));
  };

  beforeEach(async () => {
    [slept, asked, renewals] = [[], [], []];
    server = http.createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
        answer(Object.assign(request, { body: Buffer.concat(chunks).toString() }), response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    connect();
  });

  /** A client that waits so long for an answer, milliseconds. Tests of silence take little; for others a crowded machine is no failure. */
  function connect(silenceMs = 20_000): void {
    const { port } = server.address() as AddressInfo;
    transport = createTransport(
      {
        server: `http://127.0.0.1:${port}`,
        credentials: (renew) => {
          renewals.push(renew);
          return Promise.resolve({ headers: { authorization: renew ? 'Bearer new' : 'Bearer old' }, tls: {} });
        },
      },
      { userAgent: 'test', requestTimeoutMs: silenceMs, idleTimeoutMs: silenceMs },
    );
    client = createApi({ transport, limiter: createRateLimiter(0, 0, clock), clock, random: () => 0, pageSize: 2 });
  }
  function reconnect(silenceMs: number): void {
    transport.close();
    connect(silenceMs);
  }
  afterEach(async () => {
    transport.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const node = (name: string): object => ({ metadata: { name, resourceVersion: '7' } });

  test("answers, gives its own clock's time, and undefined without a Date header", async () => {
    answer = (_request, response) => {
      response.setHeader('date', 'Mon, 05 Jan 2026 12:00:00 GMT');
      json(response, { gitVersion: 'v1.36.1' });
    };
    expect(await client.serverTime?.()).toBe(Date.parse('2026-01-05T12:00:00Z'));

    answer = (_request, response) => {
      response.sendDate = false;
      json(response, { gitVersion: 'v1.36.1' });
    };
    expect(await client.serverTime?.()).toBeUndefined();
  });

  test('is asked for a review, stores nothing, since it has no name', async () => {
    answer = (request, response) => {
      response.writeHead(201);
      response.end(JSON.stringify({ ...(JSON.parse(request.body) as object), status: { allowed: false } }));
    };
    const resourceAttributes = { group: '', resource: 'pods', subresource: 'eviction', verb: 'create' };
    const { object } = await client.create('SelfSubjectAccessReview', { metadata: {}, spec: { resourceAttributes } });

    expect(object).toMatchObject({ kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } });
    expect(object.status).toEqual({ allowed: false });
    expect(asked).toEqual(['POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews']);
  });

  test('a connection that ends as it is used again: an object with a name is created all the same, and one that the server names is not created twice', async () => {
    const first = (): Promise<unknown> => {
      answer = (_request, response) => json(response, { gitVersion: 'v1.36.1' });
      return client.serverVersion();
    };
    const breakOnce = (): void => {
      answer = (request) => {
        answer = (_again, response) => json(response, { metadata: { name: 'a' } });
        request.socket.destroy();
      };
    };
    await first();
    breakOnce();
    expect(await client.create('Node', { metadata: { name: 'a' } })).toMatchObject({ outcome: 'created' });
    expect(asked.slice(1)).toEqual(['POST /api/v1/nodes', 'POST /api/v1/nodes']);

    await first();
    breakOnce();
    await expect(client.create('Node', { metadata: { generateName: 'a-' } })).rejects.toMatchObject({
      type: 'Unavailable',
    });
  });

  test('sends null fields, they are absent, in lists and in watches', async () => {
    const odd = { metadata: { name: 'null', creationTimestamp: null }, spec: { nodeName: null, tolerations: [null] } };
    const expected = { metadata: { name: 'null' }, spec: { tolerations: [null] } };
    answer = (request, response) =>
      request.url!.includes('watch=true')
        ? response.end(`${JSON.stringify({ type: 'ADDED', object: odd })}\n`)
        : json(response, { metadata: { resourceVersion: '9' }, items: [odd] });
    expect((await client.list('Pod'))[0]).toEqual({ ...expected, apiVersion: 'v1', kind: 'Pod' });
    const seen: unknown[] = [];
    await client.watch('Pod', { resourceVersion: '9', signal: new AbortController().signal }, ({ object }) =>
      seen.push(object),
    );
    expect(seen).toMatchObject([expected]);
    expect(JSON.stringify(seen)).not.toContain('nodeName');
  });

  test('returns a list in pages, the client reads all of them', async () => {
    answer = (request, response) => {
      const token = new URL(request.url!, 'http://x').searchParams.get('continue');
      if (token === null) json(response, { metadata: { resourceVersion: '9', continue: 't/1' }, items: [node('a')] });
      else json(response, { metadata: { resourceVersion: '9' }, items: [node('b')] });
    };
    const { items, resourceVersion } = await client.listForWatch('Node');
    expect(items.map(({ kind, metadata }) => `${kind} ${metadata.name ?? ''}`)).toEqual(['Node a', 'Node b']);
    expect(resourceVersion).toBe('9');
    expect(asked).toEqual(['GET /api/v1/nodes?limit=2', 'GET /api/v1/nodes?limit=2&continue=t%2F1']);
  });

  test('no longer has the next page, the client starts the list over', async () => {
    let walks = 0;
    answer = (request, response) => {
      const token = new URL(request.url!, 'http://x').searchParams.get('continue');
      if (token === null) {
        walks++;
        const more = walks === 1 ? { continue: 'old' } : {};
        json(response, { metadata: { resourceVersion: String(walks), ...more }, items: [node('a')] });
      } else status(response, 410, { reason: 'Expired' });
    };
    const { items, resourceVersion } = await client.listForWatch('Node');
    expect(items).toHaveLength(1);
    expect(resourceVersion).toBe('2');
  });

  test.each([
    [400, 'Invalid'],
    [403, 'Denied'],
    [404, 'NotFound'],
    [422, 'Invalid'],
    [500, 'Unavailable'],
    [503, 'Unavailable'],
    [504, 'Unavailable'],
  ])('answers %d, it throws %s with what the server said', async (code, type) => {
    answer = (_, response) => status(response, code);
    await expect(client.list('Node')).rejects.toMatchObject({
      name: 'DomainError',
      type,
      message: `list Node: says ${code}`,
      details: { status: code },
    });
  });

  const object = { name: 'a' };
  const calls: readonly [string, () => Promise<unknown>, unknown][] = [
    ['get', () => client.get('NodeClaim', object), undefined],
    ['patch', () => client.patch('NodeClaim', object, { metadata: {} }), { outcome: 'gone' }],
    ['delete', () => client.delete('NodeClaim', object), 'gone'],
    ['evict', () => client.evict({ namespace: 'n', name: 'a', uid: 'u' }), { outcome: 'gone' }],
  ];
  test.each(calls)('has no such object, %s says so', async (_, call, gone) => {
    answer = (_request, response) => status(response, 404, { reason: 'NotFound', details: object });
    expect(await call()).toEqual(gone);
  });

  test.each([
    ...calls.map(([name, call]) => [name, call] as const),
    ['create', () => client.create('NodeClaim', { metadata: object } as never)] as const,
  ])('does not serve the resource, %s does not report the object as gone', async (_, call) => {
    answer = (_request, response) => {
      response.writeHead(404, { 'content-type': 'text/plain' });
      response.end('404 page not found\n');
    };
    await expect(call()).rejects.toMatchObject({
      type: 'Unavailable',
      message: expect.stringMatching(/: the API server does not serve this resource: 404 page not found$/),
    });
  });

  test('throttles, waits as it asks and goes on', async () => {
    let times = 0;
    answer = (_, response) => {
      if (++times <= 2) status(response, 429, {}, { 'retry-after': '3' });
      else json(response, node('a'));
    };
    expect(await client.get('Node', { name: 'a' })).toMatchObject({ metadata: { name: 'a' } });
    expect(slept).toEqual([3000, 3000]);
  });

  test('lags behind, reads again as it asks, and writes nothing twice', async () => {
    let times = 0;
    answer = (_, response) => {
      if (++times === 1) status(response, 504, {}, { 'retry-after': '1' });
      else json(response, node('a'));
    };
    expect(await client.get('Node', { name: 'a' })).toMatchObject({ metadata: { name: 'a' } });
    expect(slept).toEqual([1000]);
    times = 0;
    await expect(client.patch('Node', { name: 'a' }, { metadata: {} })).rejects.toMatchObject({ type: 'Unavailable' });
    expect(times).toBe(1);
  });

  test('throttles every attempt, the client gives up after four', async () => {
    answer = (_, response) => {
      response.writeHead(429, { 'retry-after': '120' });
      response.end('Too many requests, please try again later.\n');
    };
    await expect(client.get('Node', { name: 'a' })).rejects.toMatchObject({
      type: 'Throttled',
      message: 'get Node a: Too many requests, please try again later.',
      details: { retryAfterSeconds: 120 },
    });
    expect(slept).toEqual([10_000, 10_000, 10_000]);
    expect(asked).toHaveLength(4);
  });

  test('refuses an eviction because of a budget, does not wait', async () => {
    answer = (_, response) =>
      status(response, 429, { details: { causes: [{ reason: 'DisruptionBudget', message: 'needs 1' }] } });
    expect(await client.evict({ namespace: 'n', name: 'p', uid: 'u' })).toEqual({
      outcome: 'blocked',
      message: 'says 429',
    });
    expect(asked).toEqual(['POST /api/v1/namespaces/n/pods/p/eviction']);
  });

  test('throttles an eviction, does not take it for a budget', async () => {
    answer = (_, response) => status(response, 429, {}, { 'retry-after': '1' });
    await expect(client.evict({ namespace: 'n', name: 'p', uid: 'u' })).rejects.toMatchObject({ type: 'Throttled' });
    expect(asked).toHaveLength(4);
  });

  test('refuses the token, asks for a new one once', async () => {
    answer = (request, response) => {
      if (request.headers.authorization === 'Bearer new') json(response, node('a'));
      else status(response, 401);
    };
    expect(await client.get('Node', { name: 'a' })).toBeDefined();
    expect(renewals).toEqual([false, true]);
    answer = (_, response) => status(response, 401);
    await expect(client.get('Node', { name: 'a' })).rejects.toMatchObject({ type: 'Denied' });
    expect(renewals).toEqual([false, true, false, true]);
  });

  test('cannot be connected to, the error is unavailable and names it', async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(client.get('Node', { name: 'a' })).rejects.toMatchObject({
      type: 'Unavailable',
      message: expect.stringMatching(/no answer from the Kubernetes API server at http:.*ECONNREFUSED/) as unknown,
      details: { code: 'ECONNREFUSED' },
    });
    server.listen(0, '127.0.0.1');
  });

  test('does not answer in time, the error is unavailable', async () => {
    reconnect(200);
    answer = () => undefined;
    await expect(client.get('Node', { name: 'a' })).rejects.toMatchObject({
      type: 'Unavailable',
      message: expect.stringContaining('silent for 0.2 s') as unknown,
    });
  });

  test('loses a create that it carried out, says that it exists the second time', async () => {
    const objects = new Map<string, object>();
    answer = (request, response) => {
      if (request.method === 'GET') json(response, node('a'));
      else if (objects.has('a')) status(response, 409, { reason: 'AlreadyExists' });
      else {
        objects.set('a', {});
        request.socket.destroy();
      }
    };
    await expect(client.create('Node', { metadata: { name: 'a' } })).rejects.toMatchObject({ type: 'Unavailable' });
    expect(await client.create('Node', { metadata: { name: 'a' } })).toMatchObject({ outcome: 'exists' });
  });

  describe('is watched and', () => {
    const watch = async (
      signal: AbortSignal = new AbortController().signal,
    ): Promise<{ outcome: 'ended' | 'expired'; events: WatchEvent<Node>[] }> => {
      const events: WatchEvent<Node>[] = [];
      const outcome = await client.watch('Node', { resourceVersion: '5', signal }, (event) => events.push(event));
      return { outcome, events };
    };
    const event = (type: string, name: string): string => `${JSON.stringify({ type, object: node(name) })}\n`;

    test('sends events in pieces, puts them together', async () => {
      const text = Buffer.from(event('ADDED', 'ä') + event('MODIFIED', 'b') + event('BOOKMARK', 'c'));
      answer = (_, response) => {
        let at = 0;
        const next = (): void => {
          if (at >= text.length) response.end();
          else response.write(text.subarray(at, (at += 7)), () => setImmediate(next));
        };
        next();
      };
      const { outcome, events } = await watch();
      expect(outcome).toBe('ended');
      expect(events.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`)).toEqual([
        'ADDED ä',
        'MODIFIED b',
        'BOOKMARK c',
      ]);
      expect(asked).toEqual([
        'GET /api/v1/nodes?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300',
      ]);
    });

    test('for a second only, ends by itself and leaves its connection to the next', async () => {
      const sockets = new Set<unknown>();
      answer = (request, response) => {
        sockets.add(request.socket);
        response.end(event('ADDED', 'a'));
      };
      const options = { resourceVersion: '5', timeoutSeconds: 1, signal: new AbortController().signal };

      const names: unknown[] = [];
      for (let time = 0; time < 3; time++) {
        expect(await client.watch('Node', options, ({ object }) => names.push(object.metadata.name))).toBe('ended');
      }

      expect(names).toEqual(['a', 'a', 'a']);
      expect(asked[0]).toMatch(/&timeoutSeconds=1$/);
      expect(sockets.size).toBe(1);
    });

    test.each(['at once', 'in the stream'])('has forgotten the version, says so %s', async (when) => {
      answer = (_, response) => {
        if (when === 'at once') status(response, 410);
        else response.end(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410 } })}\n`);
      };
      expect(await watch()).toEqual({ outcome: 'expired', events: [] });
    });

    test('sends nothing any more, the watch ends', async () => {
      reconnect(200);
      answer = (_, response) => {
        response.write(event('ADDED', 'a'));
      };
      const { outcome, events } = await watch();
      expect(outcome).toBe('ended');
      expect(events).toHaveLength(1);
    });

    test('breaks off in the middle of an event, ends with what was whole', async () => {
      answer = (request, response) => {
        response.write(event('ADDED', 'a') + '{"type":"ADD', () => request.socket.destroy());
      };
      const { outcome, events } = await watch();
      expect(outcome).toBe('ended');
      expect(events).toHaveLength(1);
    });

    test('is aborted, ends and closes the connection', async () => {
      const stop = new AbortController();
      const closed = new Promise((resolve) => {
        answer = (request, response) => {
          request.socket.once('close', resolve);
          response.write(event('ADDED', 'a'));
          setImmediate(() => stop.abort());
        };
      });
      expect((await watch(stop.signal)).outcome).toBe('ended');
      await closed;
    });

    test('refuses the watch, the watch throws', async () => {
      answer = (_, response) => status(response, 403);
      await expect(watch()).rejects.toMatchObject({ type: 'Denied', message: 'watch Node: says 403' });
    });

    test('reports an error in the stream, the watch throws', async () => {
      answer = (_, response) => {
        response.end(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 500, message: 'etcd' } })}\n`);
      };
      await expect(watch()).rejects.toMatchObject({ type: 'Unavailable', message: 'watch Node: etcd' });
    });

    test('has a handler that throws, passes that on and hangs up', async () => {
      const closed = new Promise((resolve) => {
        answer = (request, response) => {
          request.socket.once('close', resolve);
          response.write(event('ADDED', 'a'));
        };
      });
      const signal = new AbortController().signal;
      const watching = client.watch('Node', { resourceVersion: '5', signal }, () => {
        throw new Error('no');
      });
      await expect(watching).rejects.toThrow('no');
      await closed;
    });
  });
});
