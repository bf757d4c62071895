import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answers } from './http.js';
import { repositoryRoot } from './paths.js';
import { freePorts } from './ports.js';
import { isRunning, launch, signal, stopProcess, tailOf, waitUntilReady, type ProcessRecord } from './processes.js';
import type { Stack } from './stack.js';

export interface ReplicaOptions {
  readonly name: string;
  readonly role: 'operator' | 'worker' | 'all';
  /** Settings beside those of the stack, such as a `TEMPORAL_ADDRESS` that leads through a proxy. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The folder of another build of Stowage; this repository by default. */
  readonly root?: string;
}

/** How long an orderly end may take, milliseconds: four times what the chart gives, because a crowded machine is slow. */
const graceMs = 120_000;

/** One of several processes of Stowage on a stack, beside or in place of the stack's own. */
export class Replica {
  private process: ProcessRecord | undefined;
  private readonly log: string;

  private constructor(
    private readonly stack: Stack,
    private readonly options: ReplicaOptions,
    private readonly ports: { readonly health: number; readonly metrics: number },
  ) {
    this.log = join(stack.folder, 'logs', `${options.name}.log`);
    // The stack does not know of it: it is killed when this process is interrupted.
    process.once('exit', () => this.process !== undefined && signal(this.process, 'SIGKILL'));
  }

  /** Resolves when it is ready. */
  static async start(stack: Stack, options: ReplicaOptions): Promise<Replica> {
    const [health = 0, metrics = 0] = await freePorts(2);
    const replica = new Replica(stack, options, { health, metrics });
    await replica.start();
    return replica;
  }

  get name(): string {
    return this.options.name;
  }

  get pid(): number | undefined {
    return this.process?.pid;
  }

  /** Where Prometheus reads its metrics. */
  get metricsAddress(): string {
    return `http://127.0.0.1:${this.ports.metrics}/metrics`;
  }

  get isRunning(): boolean {
    return this.process !== undefined && isRunning(this.process);
  }

  /** The end of what it said. */
  get said(): string {
    return tailOf(this.log, 40);
  }

  /** Starts it on the same ports, unless it runs. Resolves when it is ready. */
  async start(): Promise<void> {
    await waitUntilReady(this.name, this.launch(), this.log, () =>
      answers(`http://127.0.0.1:${this.ports.health}/readyz`),
    );
  }

  /** Starts it on the same ports, unless it runs, and waits for nothing. */
  launch(): ProcessRecord {
    if (this.process === undefined || !isRunning(this.process)) this.process = this.spawned();
    return this.process;
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    if (this.process === undefined) return;
    signal(this.process, 'SIGKILL');
    await stopProcess(this.process, 0);
  }

  freeze(frozen: boolean): void {
    if (this.process !== undefined) signal(this.process, frozen ? 'SIGSTOP' : 'SIGCONT');
  }

  /** SIGTERM; resolves when it has ended by itself, to false where it had to be killed. */
  async terminate(): Promise<boolean> {
    if (this.process === undefined) return true;
    signal(this.process, 'SIGTERM');
    for (let waited = 0; this.isRunning && waited < graceMs; waited += 50) await sleep(50);
    const ended = !this.isRunning;
    await stopProcess(this.process, 0);
    return ended;
  }

  private spawned(): ProcessRecord {
    const { role, settings, root = repositoryRoot() } = this.options;
    const args = [join(root, 'bin/stowage'), 'run', '--role', role];
    const env = {
      ...this.stack.environment,
      LISTEN_ADDRESS: '127.0.0.1',
      HEALTH_PROBE_PORT: String(this.ports.health),
      METRICS_PORT: String(this.ports.metrics),
      ...settings,
    };
    return launch(process.execPath, args, { log: this.log, cwd: root, env });
  }
}
