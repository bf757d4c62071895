import { setTimeout as sleep } from 'node:timers/promises';
import type { Replica } from '../replica.js';
import { CrashPoints } from './crash-points.js';
import type { Lane } from './lane.js';
import type { MatrixOptions } from './options.js';
import { laneOf, scenarios, type Scenario } from './scenarios.js';
import type { Task } from './tasks.js';

const most = { events: 60, activities: 2 };
const gatherMs = 1500;
/** Time to come up, and for what was in its hands to time out and go on. */
const quietMs = 15_000;
const watchMs = 1000;
/** Of the whole cluster: no lane can be told by what they were started with. */
const everybodys = 'the whole cluster';
const entities = new Set(['provision', 'disrupt', 'offerings', 'launchBatch']);
/** Started with the id of an instance or of a move alone. */
const byType: Readonly<Record<string, string>> = { handleInterruption: 'interruption' };

const onlyJoins = (scenario: string): boolean => scenario === everybodys;

/** Plays lanes, and has the worker die and come up again. */
export class MatrixRun {
  readonly points: CrashPoints;
  readonly rounds = new Map<string, number>();
  deaths = 0;
  private worker: Replica | undefined;
  private isDying = false;
  private failure: Error | undefined;
  private readonly deadline: number;

  constructor(private readonly options: MatrixOptions) {
    this.deadline = Date.now() + options.withinMs;
    this.points = new CrashPoints({ scenarioOf, most, gatherMs, quietMs, onlyJoins, kill: () => void this.die() });
  }

  /** Resolves when every lane has come to the end of its last round. */
  async play(worker: Replica, laneFor: (pool: string) => Lane): Promise<void> {
    this.worker = worker;
    const { scenarios: names, lanes } = this.options;
    const played = scenarios.filter(({ name }) => names === undefined || names.includes(name));
    const ended = new AbortController();
    const all = played.flatMap((scenario) =>
      Array.from({ length: lanes }, (_, index) => this.playLane(scenario, laneFor(`${scenario.name}-${index}`))),
    );
    try {
      await Promise.race([Promise.all(all), this.watch(ended.signal)]);
    } finally {
      this.points.end();
      ended.abort();
      // Those that go on have nobody to tell any more.
      for (const lane of all) lane.catch(() => undefined);
    }
  }

  private async playLane(scenario: Scenario, lane: Lane): Promise<void> {
    const { name } = scenario;
    await scenario.prepare(lane);
    for (let round = 0; round === 0 || !this.isOver; round++) {
      await scenario.round(lane, round);
      this.rounds.set(name, (this.rounds.get(name) ?? 0) + 1);
      this.options.tell(
        `${lane.pool}: round ${round + 1} done; ${this.points.reached.length} points, ${this.deaths} deaths`,
      );
      if (this.isOver) this.points.end();
    }
    await scenario.end?.(lane);
  }

  private get isOver(): boolean {
    return (
      this.failure !== undefined || Date.now() > this.deadline || this.points.reached.length >= this.options.points
    );
  }

  private async die(): Promise<void> {
    this.isDying = true;
    try {
      await this.worker?.kill();
      this.deaths += 1;
      this.options.tell(`death ${this.deaths} of the worker, at point ${this.points.reached.length}`);
      this.points.died();
      this.worker?.launch();
    } finally {
      this.isDying = false;
    }
  }

  /** Rejects when the worker ends by itself. */
  private async watch(signal: AbortSignal): Promise<never> {
    for (;;) {
      await sleep(watchMs, undefined, { signal });
      if (this.isDying || this.worker?.isRunning !== false) continue;
      this.failure = new Error(`The worker ended by itself: ${this.worker.said}`);
      throw this.failure;
    }
  }
}

function scenarioOf({ workflowType }: Task, input: string): string | undefined {
  if (entities.has(workflowType)) return everybodys;
  return laneOf(input)?.replace(/-\d+$/, '') ?? byType[workflowType];
}
