import type { LimiterClock } from '../kube/limiter.js';
import type { World } from './world.js';
import { counted } from '../core/text.js';

/** One thing that a probe goes by; `problem` says in a person's words what is not as it should be. */
export interface ProbeCheck {
  readonly name: string;
  readonly problem?: string | undefined;
  /** What there is to say when there is no problem. */
  readonly detail?: string | undefined;
}

/** What this process does, as `stowage run --role` says. */
export type Role = 'all' | 'operator' | 'worker';

/** The loop that looks after Temporal comes by every ten seconds at most, whatever answers. */
const silentMs = 60_000;
/** Workers that fail are started again every few seconds. */
const failingMs = 5 * 60_000;

/** What a process knows of its own parts, for its probes (settings/probes). */
export class ProcessProgress {
  temporal = false;
  /** Why Temporal, which answers, is none to work with. */
  engineProblem: string | undefined;
  /** Who leads, as this process saw it last. */
  leader: string | undefined;
  /** Whether other builds may end now; absent where no worker is meant to run. */
  build: { readonly waitsFor: string | undefined } | undefined;
  private lastBeat: number | undefined;
  private readonly running = new Set<string>();
  /** Queues whose worker fails, by since when. */
  private readonly failing = new Map<string, number>();

  constructor(private readonly clock: Pick<LimiterClock, 'now'>) {}

  /** The loop that looks after Temporal came by. */
  beat(): void {
    this.lastBeat = this.clock.now();
  }

  runs(queue: string): void {
    this.running.add(queue);
    this.failing.delete(queue);
  }

  fails(queue: string): void {
    this.running.delete(queue);
    if (!this.failing.has(queue)) this.failing.set(queue, this.clock.now());
  }

  /** No worker is meant to run. */
  stops(): void {
    this.running.clear();
    this.failing.clear();
  }

  /** Of so many queues, whether each has its worker. */
  allRun(queues: number): boolean {
    return this.running.size >= queues;
  }

  /** Only what starting the process anew can mend: what is away outside comes back by itself. */
  alive(): readonly ProbeCheck[] {
    const now = this.clock.now();
    const silent = now - (this.lastBeat ?? now);
    const longest = [...this.failing].find(([, since]) => now - since > failingMs);
    return [
      {
        name: 'loop',
        problem:
          silent > silentMs
            ? `the loop that watches the connection to Temporal has not run for ${counted(Math.round(silent / 1000), 'second')}`
            : undefined,
      },
      {
        name: 'workers',
        problem:
          longest === undefined || !this.temporal
            ? undefined
            : `the worker of queue ${longest[0]} has failed for ${counted(Math.round((now - longest[1]) / 1000), 'second')}, though Temporal answers`,
      },
    ];
  }
}

/** Whether the process does what its role is; what a standby replica waits for is no problem. */
export function readyChecks(
  world: Pick<World, 'cache' | 'karpenter' | 'name' | 'identity'>,
  role: Role,
  progress: ProcessProgress,
  queues: number,
): readonly ProbeCheck[] {
  const { cache, karpenter, name, identity } = world;
  const { leader } = progress;
  return [
    { name: 'cache', problem: cache.synced ? undefined : `the cluster cache still lists ${cache.unsynced.join(', ')}` },
    { name: 'api-server', problem: cache.connected ? undefined : 'the API server is unreachable' },
    {
      name: 'temporal',
      problem: progress.engineProblem ?? (progress.temporal ? undefined : 'Temporal is not connected'),
    },
    { name: 'cluster-name', problem: name.waitsFor },
    { name: 'karpenter', problem: karpenter.waitsFor },
    ...(role === 'worker' ? [] : [leadership(leader, identity)]),
    ...(role === 'operator'
      ? []
      : [
          { name: 'workers', problem: progress.allRun(queues) ? undefined : 'the workers have not started' },
          { name: 'build', problem: progress.build?.waitsFor },
        ]),
  ];
}

function leadership(leader: string | undefined, identity: string): ProbeCheck {
  if (leader === undefined) return { name: 'leadership', problem: 'nobody is known to lead' };
  return { name: 'leadership', detail: leader === identity ? 'this process leads' : `${leader} leads` };
}

/** The first problem. */
export function problemOf(checks: readonly ProbeCheck[]): string | undefined {
  return checks.find(({ problem }) => problem !== undefined)?.problem;
}

/** One line a check, as the API server's own probes write them. */
export function lists(checks: readonly ProbeCheck[]): string {
  return checks
    .map(({ name, problem, detail }) =>
      problem === undefined ? `[+]${name} ${detail ?? 'ok'}` : `[-]${name} failed: ${problem}`,
    )
    .join('\n');
}
