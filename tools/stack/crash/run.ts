import { setTimeout as sleep } from 'node:timers/promises';
import { CrashPoints } from './crash-points.js';
import type { CrashPoint } from './deaths.js';
import type { Lane } from './lane.js';
import { OperatorPoints } from './operator-points.js';
import type { MatrixOptions } from './options.js';
import { laneOf, scenarios, type Scenario } from './scenarios.js';
import type { Task } from './tasks.js';
import { Victim } from './victim.js';

const most = { events: 60, activities: 2, calls: 2 };
/** Time for what was in its hands to time out and go on, and for an operator to get the lease of the one that died. */
const quietMs = { worker: 15_000, operator: 30_000 };
const watchMs = 1000;
/** Workflows of the whole cluster: their input names no lane. */
const wholeCluster = 'the whole cluster';
const entities = new Set(['provision', 'disrupt', 'offerings']);
/** Started with the id of an instance or of a move alone. */
const byType: Readonly<Record<string, string>> = { handleInterruption: 'interruption' };

/** Plays lanes, and has the worker and the operator die and come up again. */
export class MatrixRun {
  readonly worker: Victim;
  readonly operator: Victim;
  /** Where the worker dies, by its calls of Temporal. */
  readonly workerHooks: CrashPoints;
  /** Where the operator dies, by its calls of Temporal and its writes to Kubernetes. */
  readonly operatorHooks: OperatorPoints;
  readonly rounds = new Map<string, number>();
  private failure: Error | undefined;
  private readonly deadline: number;

  constructor(private readonly options: MatrixOptions) {
    this.deadline = Date.now() + options.withinMs;
    const onlyJoins = (scenario: string): boolean => scenario === wholeCluster;
    this.worker = new Victim('worker', { quietMs: quietMs.worker, onlyJoins }, options.report);
    this.operator = new Victim('operator', { quietMs: quietMs.operator, onlyJoins: () => false }, options.report);
    this.workerHooks = new CrashPoints(this.worker.points, { scenarioOf, most });
    const operatorsScenario = (about: string): string =>
      scenarioOfPool(laneOf(about)) ?? namedIn(about) ?? wholeCluster;
    this.operatorHooks = new OperatorPoints(this.operator.points, { scenarioOf: operatorsScenario, most: most.calls });
  }

  get points(): CrashPoint[] {
    return this.victims.flatMap(({ points }) => points.reached);
  }

  get deaths(): number {
    return this.victims.reduce((sum, { deaths }) => sum + deaths, 0);
  }

  /** Resolves when every lane has come to the end of its last round. */
  async play(laneFor: (pool: string) => Lane): Promise<void> {
    const { scenarios: names, lanes } = this.options;
    const played = scenarios.filter(({ name }) => names === undefined || names.includes(name));
    const ended = new AbortController();
    const all = played.flatMap((scenario) =>
      Array.from({ length: lanes }, (_, index) => this.playLane(scenario, laneFor(`${scenario.name}-${index}`))),
    );
    try {
      await Promise.race([Promise.all(all), this.watch(ended.signal)]);
    } finally {
      this.end();
      ended.abort();
      // The results of lanes that still run are dropped.
      for (const lane of all) lane.catch(() => undefined);
    }
  }

  private get victims(): readonly Victim[] {
    return [this.worker, this.operator];
  }

  private end(): void {
    for (const { points } of this.victims) points.end();
  }

  private async playLane(scenario: Scenario, lane: Lane): Promise<void> {
    const { name } = scenario;
    await scenario.prepare(lane);
    for (let round = 0; round === 0 || !this.isOver; round++) {
      await scenario.round(lane, round);
      this.rounds.set(name, (this.rounds.get(name) ?? 0) + 1);
      this.options.report(`${lane.pool}: round ${round + 1} done; ${this.points.length} points, ${this.deaths} deaths`);
    }
    await scenario.end?.(lane);
  }

  private get isOver(): boolean {
    return this.failure !== undefined || Date.now() > this.deadline || this.points.length >= this.options.points;
  }

  /** Ends deaths once there were enough, so that rounds can end; rejects when a process ends by itself. */
  private async watch(signal: AbortSignal): Promise<never> {
    for (;;) {
      await sleep(watchMs, undefined, { signal });
      if (this.isOver) this.end();
      this.failure = this.victims.map((victim) => victim.failure()).find((error) => error !== undefined);
      if (this.failure !== undefined) throw this.failure;
    }
  }
}

function scenarioOf({ workflowType }: Task, input: string): string | undefined {
  if (entities.has(workflowType)) return wholeCluster;
  return scenarioOfPool(laneOf(input)) ?? byType[workflowType];
}

const scenarioOfPool = (pool: string | undefined): string | undefined => pool?.replace(/-\d+$/, '');

/** The scenario whose lane's NodePool, claim or pod is named first: all of these begin with the lane's name. */
const namedIn = (text: string): string | undefined =>
  scenarios.find(({ name }) => new RegExp(`\\b${name}-\\d+\\b`).test(text))?.name;
