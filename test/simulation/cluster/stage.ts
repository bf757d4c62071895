import type { Random } from '../../cases/random.js';
import type { ReplicaSet, ScaledPods } from '../scale-down/workloads.js';
import type { SimulatedTemporal } from '../temporal/engine.js';
import type { DaemonSets } from './daemon-sets.js';
import type { DisruptionController } from './disruption-controller.js';
import type { Invariants } from './invariants.js';
import type { Outages } from './network.js';
import type { Perturbation } from './perturbations.js';
import type { Processes } from './processes.js';
import type { SimulatedCluster } from './world.js';

/** A thing that happens at a known time. */
export interface Scripted {
  /** Since the start, milliseconds. */
  readonly atMs: number;
  readonly name: string;
  /** What its chances come from. */
  readonly draw: number;
}

export interface SimulationPlan {
  readonly seed: number;
  /** How long things happen and go wrong, simulated milliseconds. */
  readonly unrestMs: number;
  /** From one thing that happens to the next at most, simulated milliseconds; default five minutes. */
  readonly paceMs?: number;
  /** Chance of a call to fail, and to lose its answer, 0 to 1; default 0.003. Activities are lost three times as often. */
  readonly faultChance?: number;
  /** How many processes of Stowage there are; default one. Of several, one leads by election. */
  readonly processes?: number;
  /** Pods of each Deployment at most. */
  readonly replicas: number;
  /** And at least; default none. */
  readonly leastReplicas?: number;
  /** How long everything may take to come to rest afterwards, and for how long nothing must change then. */
  readonly healMs: number;
  readonly restMs: number;
  /** What happens is chosen among what is so called; by default among all. */
  readonly only?: RegExp;
  /** Steps at which nothing happens, to find out what a failure needs. */
  readonly leftOut?: ReadonlySet<number>;
  /** What happens, in place of what the seed has happen: a run that is shrunk stays what it is when other things come to happen. */
  readonly script?: readonly Scripted[];
  /** Calls and activities do not fail; what happens to the cluster and the process still does. */
  readonly withoutFaults?: boolean;
  /** What goes wrong at one place of the run. */
  readonly perturbation?: Perturbation;
  /** Changes the cluster before anything happens. */
  readonly prepare?: (cluster: SimulatedCluster) => void;
  readonly say?: (line: string) => void;
  /** Gives the run up, which fails with its reason: the process has its own timers back then. */
  readonly signal?: AbortSignal;
}

/** Gives each step of a simulation its part of the world. */
export interface Stage {
  readonly random: Random;
  readonly cluster: SimulatedCluster;
  readonly temporal: SimulatedTemporal;
  readonly outages: Outages;
  readonly sets: readonly ReplicaSet[];
  /** Those whose pods have rules of scheduling: without pods at first. */
  readonly ruled: readonly ScaledPods[];
  readonly plan: SimulationPlan;
  readonly processes: Processes;
  readonly budgets: DisruptionController;
  readonly daemons: DaemonSets;
  readonly invariants: Invariants;
  /** Ends what has begun, after so long: it counts as trouble until then. */
  readonly later: (afterMs: number, end: () => void) => void;
  /** A process dies now and comes up again after so long. */
  readonly restart: (random: Random, afterMs: number) => void;
  readonly say: (line: string) => void;
}
