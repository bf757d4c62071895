import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { ensureToolchain } from '../../tools/stack/toolchain.js';
import { limiterClock } from '../../kube/limiter.js';
import { observeQueues } from '../../operator/stuck/observe-engine.js';
import { TemporalDeployment } from '../../process/versions/deployment.js';
import { buildIdFor, Rollout } from '../../process/versions/rollout.js';
import { workflowSources } from '../../worker/bundle.js';
import { versioning } from '../../worker/workers.js';
import { clusterChangedSignal, nodeChangedSignal, taskQueues } from '../../workflows/messages.js';

// Rule `settings/worker-versions`, on a server: which build takes the tasks of a workflow that began before.
let env: TestWorkflowEnvironment;
let workflowBundle: WorkflowBundleWithSourceMap;
let cluster: string;
let turn = 0;
const leaving: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger, telemetryOptions: { logging: { filter: 'OFF', forward: {} } } });
  const path = (await ensureToolchain(['temporal'])).temporal!;
  env = await TestWorkflowEnvironment.createLocal({ server: { executable: { type: 'existing-path', path } } });
  const { workflowInterceptorModules } = workflowSources();
  const workflowsPath = `${repositoryRoot()}/test/workflow/obey.ts`;
  workflowBundle = await bundleWorkflowCode({ workflowsPath, workflowInterceptorModules, logger });
});
afterAll(() => env.teardown());
beforeEach(() => void (cluster = `c${(turn += 1)}`));
afterEach(() => Promise.all(leaving.splice(0).map((leave) => leave())));

const unheard = (): void => undefined;

/** A process with workers of a build, and a clock that can be put ahead. */
class Build {
  private static readonly log = { debug: unheard, info: unheard, warn: unheard, error: unheard };
  private readonly ending = new AbortController();
  private readonly deployment = new TemporalDeployment(env.client, cluster);
  private hurriesSince: number | undefined;
  private running: Promise<unknown> = Promise.resolve();

  static async start(id: string | undefined): Promise<Build> {
    const build = new Build();
    const { deployment, ending } = build;
    const settings = { WORKER_VERSIONING: id !== undefined, WORKER_BUILD_ID: id };
    const buildId = await buildIdFor(settings, deployment, Build.log);
    const worker = await Worker.create({
      ...{ connection: env.nativeConnection, workflowBundle, taskQueue: taskQueues(cluster).control },
      identity: id ?? 'without a version',
      ...versioning(cluster, buildId),
    });
    ending.signal.addEventListener('abort', () => worker.shutdown());
    const clock = {
      now: () => Date.now() + (Date.now() - (build.hurriesSince ?? Date.now())) * 60,
      sleep: (ms: number, signal?: AbortSignal) => limiterClock.sleep(Math.min(ms, 300), signal),
    };
    const rollout = new Rollout({ deployment, buildId, clock, log: Build.log });
    build.running = Promise.all([worker.run(), rollout.follow(ending.signal)]);
    leaving.push(() => build.leave());
    return build;
  }

  /** From now on a minute passes in a second. */
  hurry(): void {
    this.hurriesSince = Date.now();
  }

  async leave(): Promise<void> {
    if (!this.ending.signal.aborted) this.ending.abort();
    await this.running;
  }
}

async function until(is: () => Promise<boolean>): Promise<void> {
  while (!(await is())) await delay(200);
}

const currentIs = (build: string | undefined): Promise<void> =>
  until(async () => {
    const { current, polledAt } = await new TemporalDeployment(env.client, cluster).current();
    return current === build && polledAt !== undefined;
  });

const workflow = () => env.client.workflow.getHandle(`${cluster}/obey`);

/** A step of the workflow is taken by this build. */
async function stepsOn(build: string): Promise<void> {
  await workflow().signal(clusterChangedSignal);
  await until(async () => {
    const { events } = await workflow().fetchHistory();
    const last = events?.at(-1);
    return last?.workflowTaskCompletedEventAttributes?.identity === build;
  });
}

async function begin(): Promise<void> {
  const taskQueue = taskQueues(cluster).control;
  await env.client.workflow.start('obey', { taskQueue, workflowId: `${cluster}/obey` });
}

async function end(): Promise<void> {
  await workflow().signal(nodeChangedSignal);
  await workflow().result();
}

describe('a workflow that began on an earlier worker build', () => {
  test('goes on with the next build, and on the earlier one again after a rollback, without restarting its workers', async () => {
    const first = await Build.start('one');
    await currentIs('one');
    await begin();
    await stepsOn('one');
    const second = await Build.start('two');
    await currentIs('two');
    await stepsOn('two');

    await second.leave();
    await workflow().signal(clusterChangedSignal);
    first.hurry();
    await currentIs('one');
    await stepsOn('one');
    await end();
  });

  test('goes on with a build that returns, once that has run for a minute', async () => {
    const before = await Build.start('one');
    await currentIs('one');
    await begin();
    await stepsOn('one');
    await Build.start('two');
    await currentIs('two');
    await before.leave();

    const again = await Build.start('one');
    await stepsOn('two');
    again.hurry();
    await currentIs('one');
    await stepsOn('one');
    await end();
  });

  test('goes on where workers without a version came and went, and the missing build is named each time', async () => {
    const first = await Build.start('one');
    await currentIs('one');
    await begin();
    await stepsOn('one');
    const byHand = await Build.start(undefined);
    await currentIs(undefined);
    await byHand.leave();
    const [control] = await observeQueues(env.client, cluster);
    expect(control?.build).toBe('');

    first.hurry();
    await currentIs('one');
    await stepsOn('one');
    await end();
    await first.leave();
    expect((await observeQueues(env.client, cluster))[0]?.build).toBe('one');
  });
});
