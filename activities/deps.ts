import type { UnavailableOffering } from '../cloud/port.js';
import type { ClusterDeps } from '../cluster/deps.js';
import type { Metrics } from '../core/telemetry.js';
import type { Consolidation, ConsolidationCommand, ConsolidationInput } from '../disruption/consolidation/types.js';
import type { EventRecorder } from '../kube/port.js';
import type { PackingInput, Plan } from '../packing/types.js';
import type { Entity } from './entities-contract.js';

/** What activities need of the world; the worker's composition root builds it, tests give fakes. */
export interface ActivityDeps extends ClusterDeps {
  readonly events: EventRecorder;
  readonly offerings: OfferingLedger;
  readonly entities: EntityStarter;
  /** Packs away from the event loop, so that heartbeats go on. */
  readonly packer: Packer;
  readonly metrics: Metrics;
  /** Whether other nodes are softly tainted while a consolidation drains (STEER_PODS). */
  readonly steerPods: boolean;
}

/**
 * What every worker knows of offerings that are out of capacity; durable. None of it throws: a ledger that cannot be
 * reached is made up for by the next refusal.
 */
export interface OfferingLedger {
  refused(offerings: readonly UnavailableOffering[]): Promise<void>;
  succeeded(offering: Pick<UnavailableOffering, 'capacityType' | 'instanceType' | 'zone'>): Promise<void>;
  /** Lets the cloud provider know what other workers found out. */
  refresh(): Promise<void>;
}

/** Starts entity workflows with what the settings say, one that runs already is left alone; and says what runs. */
export interface EntityStarter {
  ensure(entity: Entity): Promise<void>;
  /** Whether a workflow of this id runs. */
  isOpen(workflowId: string): Promise<boolean>;
}

/** What whoever gives a packer something to do hears of it. */
export interface PackingOptions {
  /** Called when it is taken up, which may be long after it was asked for. */
  readonly onBegin?: () => void;
}

/**
 * Rejects when a thread dies, and when the attempt of the activity that asks is over: then it is not begun, or ended soon.
 */
export interface Packer {
  plan(input: PackingInput): Promise<Plan>;
  /** What would save money or goes for nothing, on the same input (consolidation/when-it-looks). */
  consolidate(input: ConsolidationInput, options?: PackingOptions): Promise<Consolidation>;
  /** What comes of taking exactly these nodes; undefined when they may not all go (commands/validation). */
  reconsider(input: ConsolidationInput, candidates: readonly string[]): Promise<ConsolidationCommand | undefined>;
  /** Why taking exactly this node comes to nothing, in a person's words; undefined where it is taken. */
  whyStays(input: ConsolidationInput, node: string): Promise<string | undefined>;
}
