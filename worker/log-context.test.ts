import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { logContext, logInterceptor } from './log-context.js';

const written: Record<string, unknown>[] = [];
const log = pino(
  { base: undefined, timestamp: false, mixin: logContext },
  { write: (line: string) => void written.push(JSON.parse(line) as Record<string, unknown>) },
);

const workflowExecution = { workflowId: 'c/launch/1', runId: 'r' };
const run = <A extends unknown[]>(activity: (...args: A) => Promise<void>, args: A, info = {}): Promise<void> =>
  new MockActivityEnvironment(
    { activityType: 'createFleet', workflowExecution, ...info },
    { interceptors: [logInterceptor] },
  ).run(activity, ...args);

/** The lines since the last look, without pino's level. */
const lines = (): object[] =>
  written.splice(0).map((line) => {
    delete line['level'];
    return line;
  });

test('every log line of an activity names its workflow and NodeClaim', async () => {
  await run(
    async ({ instanceId }: { claim: { name: string; uid: string }; instanceId: string }) => {
      await turn();
      log.info({ instanceId }, 'launched');
    },
    [{ claim: { name: 'default-1', uid: '1' }, instanceId: 'i-1' }],
  );

  expect(lines()).toEqual([
    { workflowId: 'c/launch/1', activity: 'createFleet', nodeClaim: 'default-1', instanceId: 'i-1', msg: 'launched' },
  ]);
});

test("log lines of parallel activities do not mix, and a line's own fields come first", async () => {
  const both = ['a', 'b'].map((name) =>
    run(
      async () => {
        await turn();
        log.warn({ nodeClaim: `own-${name}` }, 'x');
      },
      [] as [],
      { workflowExecution: { workflowId: name, runId: 'r' }, attempt: 2 },
    ),
  );
  await Promise.all(both);

  expect(lines()).toEqual(
    ['a', 'b'].map((name) => ({
      workflowId: name,
      activity: 'createFleet',
      attempt: 2,
      nodeClaim: `own-${name}`,
      msg: 'x',
    })),
  );
});

test('log lines outside of activities are unchanged', () => {
  log.info({ a: 1 }, 'x');
  expect(lines()).toEqual([{ a: 1, msg: 'x' }]);
});
