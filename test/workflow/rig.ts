import type { Client, SignalDefinition, WorkflowHandle } from '@temporalio/client';
import type { ClaimsCreated, CreateClaimsInput } from '../../activities/provisioning/contract.js';
import { launchOf } from '../../activities/provisioning/claims.js';
import { workflowIds } from '../../core/ids.js';
import type { TaskQueue } from '../../workflows/messages.js';

export const cluster = 'test';

export type RigActivities = Readonly<Record<string, (input: unknown) => Promise<unknown>>>;

export interface RigOptions {
  /**
   * Nothing is cached: every step of every workflow is taken by a worker that knows its history alone, as after a crash.
   */
  readonly forgetful?: boolean;
}

/**
 * A Temporal whose time is skipped, with workers on every task queue of a cluster, for the tests of one file. `finish`, after
 * each test, ends what still runs and replays the history of every workflow of the test, children and continued
 * runs included: a workflow that is not deterministic fails its test.
 */
export interface WorkflowRig {
  readonly client: Client;

  /** Who answers activities from now on. */
  use(activities: RigActivities): void;

  /** Starts a workflow on the queue of its type. */
  start(type: string, workflowId: string, ...args: unknown[]): Promise<WorkflowHandle>;

  /** Counts a workflow that the test started itself among its own. */
  track(workflowId: string, runId: string): void;

  /** Milliseconds of the epoch by the clock that is skipped. */
  now(): Promise<number>;

  /** Lets that clock go on by a duration, such as `5 minutes`. */
  sleep(duration: string | number): Promise<void>;

  /** Asks `probe` until it gives a value other than false, while nothing is skipped: the clock goes on as on a wall. */
  until<T>(probe: () => Promise<T | undefined | false> | T | undefined | false): Promise<T>;

  /** Waits until every workflow waits for a timer. */
  rest(): Promise<void>;

  /**
   * Another worker takes over. For a rig that is `forgetful`. No activity may be held. `settled: false` where one waits to be
   * tried again.
   */
  replaceWorkers(options?: { readonly settled?: boolean }): Promise<void>;

  /** Does `work` while no worker polls that task queue. */
  withoutWorker<T>(name: TaskQueue, work: () => Promise<T>): Promise<T>;

  /** Ends what a test left running, and replays all of its histories. */
  finish(): Promise<void>;

  close(): Promise<void>;
}

/** Whether Temporal is its own server that skips time. */
export const onServer = process.env.STOWAGE_TEST_TEMPORAL === 'server';

/**
 * Serves the activities of these names; `use` says by whom. Temporal is the simulated one of `test/simulation/temporal`, which takes
 * milliseconds, or the project's own server that skips time (project `workflow-server` of jest.config.mjs): the same tests hold on both.
 */
export async function startRig(names: readonly string[], options: RigOptions = {}): Promise<WorkflowRig> {
  if (onServer) {
    const { ServerRig } = await import('./server-rig.js');
    return ServerRig.start(names, options);
  }
  const { SimulatedRig } = await import('./simulated-rig.js');
  return SimulatedRig.start(names, options);
}

/** Starts the launches of the NodeClaims, as their creation does. */
export async function startLaunches(
  rig: WorkflowRig,
  input: CreateClaimsInput,
  { created }: ClaimsCreated,
): Promise<void> {
  for (const claim of created) {
    await rig.start('launchNode', workflowIds.launch(cluster, claim.uid), launchOf(cluster, input, claim).input);
  }
}

/** How long a closed workflow took by its own clock, milliseconds. */
export async function durationOf(handle: WorkflowHandle): Promise<number> {
  const { startTime, closeTime } = await handle.describe();
  return (closeTime?.getTime() ?? Number.NaN) - startTime.getTime();
}

/** Number of events at which a run goes on in another by itself (workflows/history-limit.ts). */
export const wholeRun = 1500;

/** Signals a workflow until its history has `events` events, or it goes on earlier; waits until it then goes on in a new run. */
export async function lengthen(
  rig: WorkflowRig,
  handle: WorkflowHandle,
  signal: SignalDefinition,
  events: number,
): Promise<void> {
  const { runId } = await handle.describe();
  const run = rig.client.workflow.getHandle(handle.workflowId, runId);
  for (;;) {
    const { historyLength, status } = await run.describe();
    // It may go on in another run with fewer events, for a history is long by its bytes too.
    if (historyLength >= events || status.name !== 'RUNNING') break;
    await Promise.allSettled(Array.from({ length: 200 }, async () => run.signal(signal)));
  }
  await rig.until(async () => (await handle.describe()).runId !== runId);
}
