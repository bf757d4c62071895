import type { LimiterClock } from '../kube/limiter.js';
import type { ClusterCache } from '../kube/port.js';
import { counted } from '../core/text.js';

/** One check of a probe; `problem` is its error as text for people. */
export interface ProbeCheck {
  readonly name: string;
  readonly problem?: string | undefined;
  /** Additional information if there is no problem. */
  readonly detail?: string | undefined;
}

/** The role of this process, as in `stowage run --role`. */
export type Role = 'all' | 'operator' | 'worker';

/** The loop that watches Temporal runs every ten seconds at most; without progress for this long it counts as stuck. */
const silentMs = 60_000;
/** Failed workers are restarted every few seconds; failing for this long is a problem. */
const failingMs = 5 * 60_000;

/** The progress of a process's components, for its probes (settings/probes). */
export class ProcessProgress {
  temporal = false;
  /** Why the responding Temporal server cannot be used. */
  engineProblem: string | undefined;
  /** The leader last observed by this process. */
  leader: string | undefined;
  /** Whether other builds may be stopped now; absent if no worker should run. */
  build: { readonly waitsFor: string | undefined } | undefined;
  private lastBeat: number | undefined;
  private readonly running = new Set<string>();
  /** Queues whose worker fails, with the time of the first failure. */
  private readonly failing = new Map<string, number>();

  constructor(private readonly clock: Pick<LimiterClock, 'now'>) {}

  /** Called at each run of the loop that watches Temporal. */
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

  /** Called when no worker should run. */
  stops(): void {
    this.running.clear();
    this.failing.clear();
  }

  /** Whether this number of queues all have a running worker. */
  allRun(queues: number): boolean {
    return this.running.size >= queues;
  }

  /** Only problems that a restart can fix: unavailable external systems are not included. */
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

/** Whether the process fulfils its role; a standby replica that waits is ready. */
export function readyChecks(
  world: {
    readonly cache: Pick<ClusterCache, 'synced' | 'unsynced' | 'connected'>;
    readonly karpenter: { readonly waitsFor: string | undefined };
    readonly name: { readonly waitsFor: string | undefined };
    readonly identity: string;
  },
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
  if (leader === undefined) return { name: 'leadership', problem: 'no leader is known' };
  return { name: 'leadership', detail: leader === identity ? 'this process leads' : `${leader} leads` };
}

/** The first problem. */
export function problemOf(checks: readonly ProbeCheck[]): string | undefined {
  return checks.find(({ problem }) => problem !== undefined)?.problem;
}

/** One line per check, as in the API server's probes. */
export function lists(checks: readonly ProbeCheck[]): string {
  return checks
    .map(({ name, problem, detail }) =>
      problem === undefined ? `[+]${name} ${detail ?? 'ok'}` : `[-]${name} failed: ${problem}`,
    )
    .join('\n');
}
