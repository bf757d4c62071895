import type { Random } from '../../cases/random.js';
import type { ReplicaSet } from '../scale-down/workloads.js';
import type { SimulatedTemporal } from '../temporal/engine.js';
import type { Outages } from './network.js';
import type { Perturbation } from './perturbations.js';
import type { SimulatedProcess } from './process.js';
import type { SimulatedCluster } from './world.js';

export interface SimulationPlan {
  readonly seed: number;
  /** How long things happen and go wrong, simulated milliseconds. */
  readonly unrestMs: number;
  /** From one thing that happens to the next at most, simulated milliseconds; default five minutes. */
  readonly paceMs?: number;
  /** Chance of a call to fail, and to lose its answer, 0 to 1; default 0.003. Activities are lost three times as often. */
  readonly faultChance?: number;
  /** Pods of each of three Deployments at most. */
  readonly replicas: number;
  /** How long everything may take to come to rest afterwards, and how long it must then stay so. */
  readonly healMs: number;
  readonly restMs: number;
  /** Steps at which nothing happens, to find out what a failure needs. */
  readonly leftOut?: ReadonlySet<number>;
  /** Calls and activities do not fail; what happens to the cluster and the process still does. */
  readonly withoutFaults?: boolean;
  /** What goes wrong at one place of the run. */
  readonly perturbation?: Perturbation;
  /** Changes the cluster before anything happens. */
  readonly prepare?: (cluster: SimulatedCluster) => void;
  readonly say?: (line: string) => void;
}

/** Gives each step of a simulation its part of the world. */
export interface Stage {
  readonly random: Random;
  readonly cluster: SimulatedCluster;
  readonly temporal: SimulatedTemporal;
  readonly outages: Outages;
  readonly sets: readonly ReplicaSet[];
  readonly plan: SimulationPlan;
  readonly process: () => SimulatedProcess;
  /** Ends what has begun, after so long: it counts as trouble until then. */
  readonly later: (afterMs: number, end: () => void) => void;
  /** The process dies now and comes up again after so long. */
  readonly restart: (afterMs: number) => void;
  readonly say: (line: string) => void;
}
