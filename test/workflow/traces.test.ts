import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { Client } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { observe } from '../../tools/stack/demo/observe.js';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { ensureToolchain } from '../../tools/stack/toolchain.js';
import { exportTraces, type Tracing } from '../../process/tracing/export.js';
import { workflowSources } from '../../worker/bundle.js';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}
interface Sent {
  readonly resourceSpans: { readonly scopeSpans: { readonly spans: Span[] }[] }[];
}

// A collector of this test's own takes OTLP over HTTP.
const spans = new Map<string, Span>();
const collector = createServer((request, response) => {
  void text(request).then((body) => {
    const { resourceSpans } = JSON.parse(body) as Sent;
    for (const { scopeSpans } of resourceSpans)
      for (const each of scopeSpans) for (const span of each.spans) spans.set(span.spanId, span);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});

let env: TestWorkflowEnvironment;
let workflowBundle: WorkflowBundleWithSourceMap;
let tracing: Tracing;
let client: Client;

beforeAll(async () => {
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger, telemetryOptions: { logging: { filter: 'OFF', forward: {} } } });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  process.env.OTEL_BSP_SCHEDULE_DELAY = '100';
  const quiet = (): undefined => undefined;
  tracing = exportTraces({
    endpoint: `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`,
    ...{ cluster: 'c', role: 'worker', identity: 'test' },
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  const path = (await ensureToolchain(['temporal'])).temporal!;
  env = await TestWorkflowEnvironment.createLocal({ server: { executable: { type: 'existing-path', path } } });
  const { workflowInterceptorModules } = workflowSources();
  const workflowsPath = `${repositoryRoot()}/test/workflow/echo.ts`;
  workflowBundle = await bundleWorkflowCode({ workflowsPath, workflowInterceptorModules, logger });
  client = new Client({ connection: env.connection, interceptors: tracing.client });
});

afterAll(async () => {
  await tracing.close();
  await env.teardown();
  collector.closeAllConnections();
  collector.close();
});

const worker = (traced: boolean): Promise<Worker> =>
  Worker.create({
    connection: env.nativeConnection,
    taskQueue: 'echo',
    activities: { say: (said: string) => Promise.resolve(`said: ${said}`) },
    workflowBundle,
    ...(traced ? { interceptors: { activity: [tracing.worker.activity] }, sinks: tracing.worker.sinks } : {}),
  });

/** From a span to the first of its trace. */
function wayTo(last: Span): string[] {
  const names: string[] = [];
  for (let span: Span | undefined = last; span !== undefined; span = spans.get(span.parentSpanId ?? ''))
    names.unshift(span.name);
  return names;
}

test("a trace spans from the workflow's starter to the activities that it runs, and its history replays", async () => {
  const echo = trace
    .getTracer('test')
    .startActiveSpan('news', (span) =>
      client.workflow
        .execute('echo', { taskQueue: 'echo', workflowId: 'echo', args: ['hello'] })
        .finally(() => span.end()),
    );
  expect(await (await worker(true)).runUntil(echo)).toBe('said: hello');

  const way = await observe(
    'the span of the activity and those before it',
    () => {
      const last = [...spans.values()].find(({ name }) => name === 'RunActivity:say');
      const found = last === undefined ? [] : wayTo(last);
      return Promise.resolve(found[0] === 'news' ? found : undefined);
    },
    { withinMs: 30_000 },
    () => Promise.resolve([...spans.values()].map((span) => wayTo(span).join(' > ')).join('\n')),
  );
  expect(way).toEqual(['news', 'StartWorkflow:echo', 'RunWorkflow:echo', 'StartActivity:say', 'RunActivity:say']);
  expect(new Set([...spans.values()].map(({ traceId }) => traceId)).size).toBe(1);

  const history = await client.workflow.getHandle('echo').fetchHistory();
  await Worker.runReplayHistory({ workflowBundle, sinks: tracing.worker.sinks }, history, 'echo');
});

test('without a trace in its headers a workflow makes no span', async () => {
  const before = spans.size;
  const plain = new Client({ connection: env.connection });
  const execution = plain.workflow.execute('echo', { taskQueue: 'echo', workflowId: 'plain', args: ['hello'] });
  expect(await (await worker(false)).runUntil(execution)).toBe('said: hello');
  const { events } = await plain.workflow.getHandle('plain').fetchHistory();

  expect(spans.size).toBe(before);
  expect(JSON.stringify(events)).not.toContain('_tracer-data');
});
