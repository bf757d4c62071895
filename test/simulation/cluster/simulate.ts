import { Random } from '../../cases/random.js';
import { SimulatedTemporal } from '../temporal/engine.js';
import { sandboxesOf } from '../temporal/sandbox.js';
import { ReplicaSet } from '../scale-down/workloads.js';
import { DisruptionController } from './disruption-controller.js';
import { DaemonSets } from './daemon-sets.js';
import { calm } from './happenings/calm.js';
import { happen, happenNamed } from './happenings/happen.js';
import { budgetedApp } from './happenings/workloads.js';
import { addPools, workloads } from './pools.js';
import { ruledWorkloads, takeStartupTaintsOff } from './ruled-workloads.js';
import { Volumes } from './volumes.js';
import { Invariants } from './invariants.js';
import { Outages, quiet } from './network.js';
import { overseen } from './overseer.js';
import { PlacedPerturbation, type Traffic } from './perturbations.js';
import type { Outside } from './process.js';
import { Processes } from './processes.js';
import { expectToRest } from './rest.js';
import { saidAtRest } from './said-at-rest.js';
import { printOpenWorkflows } from './print-open-workflows.js';
import { VirtualTime } from './virtual-time.js';
import type { Scripted, SimulationPlan, Stage } from './stage.js';
import { createCluster } from './world.js';
import type { SimulatedCluster } from './world.js';

const startMs = Date.parse('2026-01-05T12:00:00Z');
const minuteMs = 60_000;
const usualFaultChance = 0.003;
/** Runs end at 1,500 events (workflows/history-limit.ts), but for what they wait for then. */
const mostEvents = 2500;
/** For how long a process is away that dies at a crash point. */
const crashedMs = 5000;
/** For how long what it has cached is old, from such a place on. */
const staleMs = 3 * 60_000;

export interface SimulationResult {
  readonly seed: number;
  /** What went against an invariant, or did not come to rest: empty for a run that passes. */
  readonly problems: readonly string[];
  readonly simulatedMs: number;
  readonly faults: number;
  readonly launches: number;
  readonly steps: number;
  /** What the process wrote, and heard by its watches, while things happened. */
  readonly traffic: Traffic;
  /** What happened, in order. */
  readonly happened: readonly Happened[];
}

interface Happened extends Scripted {
  /** Its place among all that the seed has happen. */
  readonly step: number;
}

/**
 * A cluster, its cloud, Temporal and Stowage in one process and in simulated time, all driven by one seed: things happen and go
 * wrong for a while, then nothing goes wrong any more, and everything has to come to rest (invariants/eventually-stable). The same
 * seed gives the same run on any machine.
 */
export async function simulate(plan: SimulationPlan, code: string): Promise<SimulationResult> {
  let signs = 0;
  const time = new VirtualTime(startMs, () => signs, plan.signal);
  const random = new Random(plan.seed);
  const onCall = (): void => void (signs += 1);
  const say = (line: string): void => plan.say?.(`${((time.now - startMs) / 1000).toFixed(1)} s: ${line}`);
  const { stackTraceLimit } = Error;
  const { random: machineRandom } = Math;
  // Thousands of calls fail in a run, and their stacks are not read.
  Error.stackTraceLimit = 0;
  // Pauses of the election are drawn from it.
  const drawn = new Random(plan.seed + 1);
  Math.random = () => drawn.next();
  try {
    const run = new Simulation(plan, random, time, onCall, say);
    return await run.play(code);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    Math.random = machineRandom;
    time.restore();
  }
}

/** Without failing calls every pod is known by then: pending pods are signalled to `provision` every ten seconds. */
const promptlyMs = 30_000;

class Simulation {
  private processes!: Processes;
  private faults = 0;
  private steps = 0;
  private mayFail: boolean;
  private readonly happened: Happened[] = [];
  /** When the last of what has begun ends, milliseconds of the epoch. */
  private troubledUntil = 0;
  private readonly outages = new Outages();
  private readonly placed: PlacedPerturbation;
  /** Until nothing goes wrong any more. */
  private traffic: Traffic = { writes: 0, events: 0 };

  constructor(
    private readonly plan: SimulationPlan,
    private readonly random: Random,
    private readonly time: VirtualTime,
    private readonly onCall: () => void,
    private readonly say: (line: string) => void,
  ) {
    this.mayFail = plan.withoutFaults !== true;
    this.placed = new PlacedPerturbation(plan.perturbation, {
      crash: () => this.restart(this.random, crashedMs),
      holdWatches: (last) => {
        const release = this.outages.beginStale();
        this.later(staleMs, () => {
          last();
          release();
        });
      },
    });
  }

  async play(code: string): Promise<SimulationResult> {
    const { plan, random, time } = this;
    const cluster = await createCluster(random, { onCall: this.onCall });
    addPools(cluster.kube);
    plan.prepare?.(cluster);
    const temporal = this.engine(code);
    const invariants = new Invariants(
      cluster,
      temporal,
      this.say,
      plan.withoutFaults === true ? promptlyMs : undefined,
    );
    const { outages } = this;
    const outside = {
      ...cluster,
      ...{ temporal, random, outages },
      kube: overseen(cluster.kube, {
        broken: (problem) => invariants.broken(problem),
        isKnownProtected: (pod) => invariants.isKnownProtected(pod),
        hasFailedStatusCheck: (providerId) => invariants.failedChecks.has(providerId),
        isRunning: (providerId) =>
          cluster.cloud.peek().some((one) => one.providerId === providerId && one.state === 'running'),
        firstDeletedAt: (claim) => invariants.firstDeletedAt(claim),
        lastClaimOf: (nodeName) => invariants.lastClaimOf(nodeName),
        isRestored: () => invariants.budgets.isExcused,
        onDelete: (claimName) => invariants.noteOwnDeletion(claimName),
      }),
      watchSilentMs: 45_000,
      placed: this.placed,
      elects: (plan.processes ?? 1) > 1,
      onCall: this.onCall,
      // A leader says that it lives.
      onWrite: (what: string) => {
        if (!what.includes(' Lease ')) invariants.quiet.note(what);
      },
      heard: { log: invariants.quiet.log },
    };
    this.processes = this.processesOf(outside);
    this.processes.start();
    const sets = workloads.map((each) => new ReplicaSet(setParts(cluster, random), each));
    const ruled = ruledWorkloads(setParts(cluster, random));
    new Volumes(cluster);
    takeStartupTaintsOff(cluster, random);
    const budgets = new DisruptionController(cluster, sets);
    await budgets.protect(budgetedApp, 1);
    const isBroken = (): boolean => {
      this.steps += 1;
      return invariants.check();
    };
    const stage: Stage = {
      ...{ random, cluster, temporal, outages, sets, ruled, plan, budgets, invariants },
      processes: this.processes,
      daemons: new DaemonSets(cluster),
      later: (afterMs, end) => this.later(afterMs, end),
      restart: (chance, afterMs) => this.restart(chance, afterMs),
      say: this.say,
    };
    for (const set of sets) void set.scaleUp(random.int(plan.leastReplicas ?? 1, plan.replicas), random.int(1, 200));
    await this.unrest(stage, startMs + plan.unrestMs, isBroken);
    this.traffic = this.placed.traffic;
    if (!invariants.isBroken) await this.rest(stage, invariants, isBroken);
    this.processes.kill();
    cluster.stop();
    await time.settle();
    await temporal.stop();
    return this.resultOf(cluster, [...invariants.problems, ...temporal.problems]);
  }

  private resultOf(cluster: SimulatedCluster, problems: SimulationResult['problems']): SimulationResult {
    const { plan, time } = this;
    return {
      seed: plan.seed,
      problems,
      simulatedMs: time.now - startMs,
      faults: this.faults,
      launches: cluster.cloud.launches,
      steps: this.steps,
      traffic: this.traffic,
      happened: this.happened,
    };
  }

  private engine(code: string): SimulatedTemporal {
    const { random, plan } = this;
    const { faultChance = usualFaultChance } = plan;
    return new SimulatedTemporal({
      mostEvents,
      random,
      sandboxes: sandboxesOf(code),
      faults: {
        latencyMs: () => random.int(1, 20),
        fateOf: () => {
          if (!this.mayFail || !random.chance(3 * faultChance)) return 'runs';
          this.faults += 1;
          return random.chance(0.5) ? 'lost before its effect' : 'lost after its effect';
        },
      },
      onEvent: (line) => this.say(line),
    });
  }

  private processesOf(outside: Outside): Processes {
    const { plan } = this;
    return new Processes({
      outside,
      count: plan.processes ?? 1,
      conditions: () => {
        if (!this.mayFail) return quiet;
        const { faultChance: chance = usualFaultChance } = plan;
        return { slow: 0.05, slowMs: 500, fails: chance, loses: chance };
      },
      later: (afterMs, end) => this.later(afterMs, end),
    });
  }

  private restart(random: Random, afterMs: number): void {
    this.faults += 1;
    this.processes.restart(random, afterMs);
  }

  private later(afterMs: number, end: () => void): void {
    this.troubledUntil = Math.max(this.troubledUntil, this.time.now + afterMs);
    setTimeout(end, afterMs);
  }

  private async unrest(stage: Stage, untilMs: number, isBroken: () => boolean): Promise<void> {
    const { plan, time } = this;
    if (plan.script !== undefined) await this.follow(plan.script, stage, isBroken);
    for (let step = 0; plan.script === undefined && !isBroken() && time.now < untilMs; step++) {
      // A seed for each step: leaving one out does not change the others.
      const draw = plan.seed * 1_000_003 + step;
      const random = new Random(draw);
      const pauseMs = random.int(5000, plan.paceMs ?? 5 * minuteMs);
      if (plan.leftOut?.has(step) !== true) {
        const atMs = time.now - startMs;
        this.happened.push({ step, atMs, draw, name: happen({ ...stage, random }) });
      }
      await time.advance(time.now + pauseMs, isBroken);
    }
  }

  /** What is known happens, at the times that are known, and as it did then. */
  private async follow(script: readonly Scripted[], stage: Stage, isBroken: () => boolean): Promise<void> {
    for (const { atMs, draw, name } of script) {
      await this.time.advance(startMs + atMs, isBroken);
      if (isBroken()) return;
      const random = new Random(draw);
      // The pause, and which thing happens.
      for (let drawn = 0; drawn < 2; drawn++) random.next();
      this.happened.push({ step: this.happened.length, atMs, draw, name });
      happenNamed({ ...stage, random }, name);
    }
  }

  /** Nothing goes wrong any more: everything comes to rest, and stays so. */
  private async rest(stage: Stage, invariants: Invariants, isBroken: () => boolean): Promise<void> {
    const { plan, time } = this;
    this.mayFail = false;
    this.processes.calm();
    // What ends may have more to end after it.
    while (time.now < this.troubledUntil && !isBroken()) await time.advance(this.troubledUntil, isBroken);
    calm(stage);
    this.say('nothing goes wrong any more');
    await expectToRest(time, invariants, plan, isBroken);
    if (!isBroken()) for await (const said of saidAtRest(stage.temporal)) invariants.broken(said);
    if (invariants.isBroken && plan.say !== undefined) await printOpenWorkflows(stage.temporal, this.say);
  }
}

const setParts = ({ kube, cache }: SimulatedCluster, random: Random): ConstructorParameters<typeof ReplicaSet>[0] => ({
  kube,
  cache,
  random,
  clock: {
    get now() {
      return Date.now();
    },
    sleep: (milliseconds: number) => new Promise<void>((resolve) => void setTimeout(resolve, milliseconds)),
  },
});
