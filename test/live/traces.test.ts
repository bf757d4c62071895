import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { observe } from '../../devstack/demo/observe.js';
import { createDefaultPool, deploy, nodeOf, startLiveWorld, within, type LiveWorld } from './world.js';

// A collector of this test's own takes what Stowage sends by OTLP over HTTP.
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}
interface Sent {
  readonly resourceSpans: { readonly scopeSpans: { readonly spans: Span[] }[] }[];
}

const spans = new Map<string, Span>();
const collector = createServer((request, response) => {
  void text(request).then((body) => {
    const { resourceSpans } = JSON.parse(body) as Sent;
    for (const { scopeSpans } of resourceSpans)
      for (const each of scopeSpans) for (const span of each.spans) spans.set(span.spanId, span);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});

let world: LiveWorld;

beforeAll(async () => {
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  // The stack's processes have this one's environment.
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  process.env.OTEL_BSP_SCHEDULE_DELAY = '200';
  world = await startLiveWorld('traces');
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  delete process.env.OTEL_BSP_SCHEDULE_DELAY;
  await createDefaultPool(world);
  // Pods that pend before are told of by another event: that the pool is ready.
  await observe('the NodePool being Ready', () => isPoolReady(), within(60));
}, 600_000);

afterAll(async () => {
  await world.stop();
  collector.closeAllConnections();
  collector.close();
}, 60_000);

async function isPoolReady(): Promise<true | undefined> {
  const pool = await world.kube.get('NodePool', { name: 'default' });
  return pool?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ? true : undefined;
}

/** From a span to the first of its trace. */
function wayTo(last: Span): string[] {
  const names: string[] = [];
  for (let span: Span | undefined = last; span !== undefined; span = spans.get(span.parentSpanId ?? ''))
    names.unshift(span.name);
  return names;
}

test('one trace leads from the watch event of a pending pod to CreateFleet', async () => {
  const first = await launchFor('first');
  // By now `provision` has a run that somebody else's news began.
  const second = await launchFor('second');

  for (const way of [first, second]) {
    expect(way[0]).toBe('pods pend');
    expect(way).toEqual(expect.arrayContaining(['SignalWithStartWorkflow:provision', 'StartChildWorkflow:launchNode']));
    expect(way.at(-2)).toMatch(/^RunActivity:/);
    expect(way.at(-1)).toBe('ec2:CreateFleet');
  }
}, 240_000);

async function launchFor(name: string): Promise<string[]> {
  const before = new Set(fleets().map(({ spanId }) => spanId));
  await deploy(world, name, { cpu: '3', memory: '4Gi' });
  await observe(`a node for ${name}`, () => nodeOf(world, name), within(120));
  return observe(
    'the span of CreateFleet and those before it',
    () => {
      const fleet = fleets().find(({ spanId }) => !before.has(spanId));
      const way = fleet === undefined ? [] : wayTo(fleet);
      return Promise.resolve(way[0] === 'pods pend' ? way : undefined);
    },
    within(60),
    () => Promise.resolve([...spans.values()].map((span) => wayTo(span).join(' > ')).join('\n')),
  );
}

const fleets = (): Span[] => [...spans.values()].filter(({ name }) => name === 'ec2:CreateFleet');
