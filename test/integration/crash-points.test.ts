import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { CrashPoints } from '../../tools/stack/crash/crash-points.js';
import { Deaths, type CrashPoint } from '../../tools/stack/crash/deaths.js';
import { TemporalProxy } from '../../tools/stack/temporal-proxy/proxy.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { useStack } from './shared-stack.js';

// What `npm run suite -- crash` does to a worker, done to a small one: the points that it comes to, and what is lost there.
const { stack } = useStack(['temporal']);
const taskQueue = `crash-points-${randomUUID()}`;
const deaths: CrashPoint[][] = [];
let points: Deaths;
let proxy: TemporalProxy;
let said = 0;
let stop: () => Promise<void>;

beforeAll(async () => {
  points = new Deaths({
    gatherMs: 1,
    gatherAtMostMs: 1,
    quietMs: 0,
    onlyJoins: () => false,
    kill: () => {
      deaths.push([...points.reached]);
      points.died();
      points.revived();
      proxy.cut();
    },
  });
  const hooks = new CrashPoints(points, {
    scenarioOf: (_, input) => (input.includes('hello') ? 'greeting' : undefined),
    most: { events: 60, activities: 3 },
  });
  const address = stack().temporalAddress ?? '';
  proxy = await TemporalProxy.start(address, hooks);
  const connection = await NativeConnection.connect({ address: proxy.address });
  const workflowsPath = fileURLToPath(new URL('../workflow/echo.js', import.meta.url));
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowBundle: await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') }),
    activities: {
      say: (text: string): string => {
        said += 1;
        return `${text} ${said}`;
      },
    },
  });
  const running = worker.run();
  stop = async () => {
    worker.shutdown();
    await running;
    await connection.close();
    await proxy.stop();
  };
});

afterAll(async () => {
  await stop();
});

async function greet(text: string): Promise<string> {
  const connection = await Connection.connect({ address: stack().temporalAddress ?? '' });
  try {
    const options = { taskQueue, workflowId: randomUUID(), args: [text] };
    return await new Client({ connection }).workflow.execute('echo', options);
  } finally {
    await connection.close();
  }
}

describe('crash points, at which the test kills a worker', () => {
  test('each is reached once, and the workflow goes on afterwards', async () => {
    expect(await greet('hello')).toMatch(/^hello \d$/);
    // The workflow has ended before the last answer is on its way.
    await observe('three deaths', async () => Promise.resolve(deaths[2]), { withinMs: 180_000 });
    expect(points.reached).toEqual([
      { scenario: 'greeting', of: 'echo', place: 'after event 3' },
      { scenario: 'greeting', of: 'echo', place: 'say 1' },
      { scenario: 'greeting', of: 'echo', place: 'after event 9' },
    ]);
    expect(await greet('hello')).toMatch(/^hello \d$/);
    expect(points.reached).toHaveLength(3);
  });

  test('workflows of no scenario are left alone', async () => {
    expect(await greet('another')).toMatch(/^another \d$/);
    expect(points.reached).toHaveLength(3);
  });
});
