import type { Client, WorkflowHandle } from '@temporalio/client';
import { Random } from '../cases/random.js';
import { VirtualTime } from '../simulation/cluster/virtual-time.js';
import type { ActivityWorker } from '../simulation/temporal/activity-worker.js';
import { SimulatedTemporal } from '../simulation/temporal/engine.js';
import type { EngineFaults } from '../simulation/temporal/engine-options.js';
import { SandboxFactory } from '../simulation/temporal/sandbox.js';
import { startOptions, taskQueues } from '../../workflows/messages.js';
import type { TaskQueue } from '../../workflows/messages.js';
import { testBundle } from './bundle.js';
import { Clockwork } from './clockwork.js';
import { cluster, startLaunches } from './rig.js';
import type { ClaimsCreated, CreateClaimsInput } from '../../activities/provisioning/contract.js';
import type { RigActivities, RigOptions, WorkflowRig } from './rig.js';
import { drivenClient } from './simulated-client.js';

const patienceMs = 60_000;
const lookEveryMs = 20;
const startMs = Date.UTC(2026, 0, 1);
/** What a message takes; nothing goes wrong. */
const faults: EngineFaults = { latencyMs: () => 1, fateOf: () => 'runs' };
/** Node's timers reach 24 days. */
const longestTimerMs = 2 ** 31 - 1;

/** The rig on the simulated Temporal: workflows run on the SDK's own runtime, in simulated time. */
export class SimulatedRig implements WorkflowRig {
  private time!: VirtualTime;
  private clockwork!: Clockwork;
  private temporal!: SimulatedTemporal;
  private current!: Client;
  private activities: RigActivities = {};
  private readonly unserved = new Set<string>();
  /** Activities that a worker has in its hands. */
  private inHand = 0;

  private constructor(
    private readonly sandboxes: SandboxFactory,
    private readonly names: ReadonlySet<string>,
    private readonly options: RigOptions,
  ) {
    this.renew();
  }

  static async start(names: readonly string[], options: RigOptions): Promise<SimulatedRig> {
    const { code } = await testBundle();
    return new SimulatedRig(new SandboxFactory(code), new Set(names), options);
  }

  get client(): Client {
    return this.current;
  }

  use(activities: RigActivities): void {
    this.activities = activities;
  }

  async start(type: string, workflowId: string, ...args: unknown[]): Promise<WorkflowHandle> {
    return this.client.workflow.start(type, {
      ...startOptions(type, { cluster, ...(args[0] as object) }, { namespace: 'default' }),
      workflowId,
      args,
    });
  }

  /** Every run of the test is known already. */
  track(): void {}

  now(): Promise<number> {
    return Promise.resolve(this.time.now);
  }

  async sleep(duration: string | number): Promise<void> {
    const end = this.time.now + millisecondsIn(duration);
    // Something is to be due then, though nothing else may be.
    const alarm = setInterval(() => undefined, Math.min(end - this.time.now, longestTimerMs));
    await this.clockwork.until(() => this.time.now >= end, { skips: true });
    clearInterval(alarm);
  }

  async until<T>(probe: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
    for (const end = this.time.now + patienceMs; ;) {
      await this.time.settle();
      const found = await probe();
      if (found !== undefined && found !== false) return found;
      if (this.time.now >= end) throw new Error('waited in vain');
      const next = this.time.now + lookEveryMs;
      await this.clockwork.until(() => this.time.now >= next);
    }
  }

  async rest(): Promise<void> {
    const isBusy = (): boolean => [...this.temporal.all].some(({ isOpen, hasTask }) => isOpen && hasTask);
    await this.until(() => !isBusy() && this.inHand === 0);
  }

  async replaceWorkers(): Promise<void> {
    await this.rest();
    this.temporal.disconnect();
    this.temporal.connect(this.worker());
  }

  async withoutWorker<T>(name: TaskQueue, work: () => Promise<T>): Promise<T> {
    const queue = taskQueues(cluster)[name];
    this.unserved.add(queue);
    try {
      return await work();
    } finally {
      this.unserved.delete(queue);
      this.temporal.connect(this.worker());
    }
  }

  async finish(): Promise<void> {
    const { temporal } = this;
    try {
      for (const run of [...temporal.all]) if (run.isOpen) temporal.terminate(run);
      for (const run of temporal.history) await temporal.replay(run);
      if (temporal.problems.length > 0) throw new Error(temporal.problems.join('\n'));
    } finally {
      this.time.restore();
      this.renew();
    }
  }

  close(): Promise<void> {
    this.time.restore();
    return Promise.resolve();
  }

  /** An empty server, and a clock that nothing is due at. */
  private renew(): void {
    this.inHand = 0;
    const temporal = new SimulatedTemporal({
      random: new Random(1),
      sandboxes: this.sandboxes,
      faults,
      keepsClosed: true,
      cachesNothing: this.options.forgetful === true,
    });
    this.temporal = temporal;
    this.time = new VirtualTime(startMs, () => temporal.activity);
    this.clockwork = new Clockwork(this.time, () => this.inHand > 0);
    this.current = drivenClient(temporal, this.clockwork);
    temporal.connect(this.worker());
  }

  private worker(): ActivityWorker {
    return {
      isAlive: true,
      polls: (queue) => !this.unserved.has(queue),
      activity: (_, type) => (this.names.has(type) ? async (input) => this.tried(type, input) : undefined),
    };
  }

  private async tried(name: string, input: unknown): Promise<unknown> {
    const { temporal } = this;
    this.inHand++;
    try {
      const answer = await this.activities[name]!(input);
      if (name === 'createClaims') await startLaunches(this, input as CreateClaimsInput, answer as ClaimsCreated);
      return answer;
    } finally {
      // A test that is over may have held it.
      if (temporal === this.temporal) this.inHand--;
    }
  }
}

const unitsMs = { second: 1000, minute: 60_000, hour: 3_600_000 };

/** Of a text such as `90 seconds`. */
function millisecondsIn(duration: string | number): number {
  if (typeof duration === 'number') return duration;
  const [, amount, unit] = /^([\d.]+) (second|minute|hour)s?$/.exec(duration) ?? [];
  if (unit === undefined) throw new Error(`"${duration}" is no duration such as "90 seconds"`);
  return Number(amount) * unitsMs[unit as keyof typeof unitsMs];
}
