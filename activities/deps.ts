import type { UnavailableOffering } from '../cloud/port.js';
import type { ClusterDeps } from '../cluster/deps.js';
import type { Metrics } from '../core/telemetry.js';
import type { Consolidation, ConsolidationCommand, ConsolidationInput } from '../disruption/consolidation/types.js';
import type { EventRecorder } from '../kube/port.js';
import type { LeastPossible } from '../packing/least-possible.js';
import type { PackingInput, Plan } from '../packing/types.js';
import type { LaunchStart } from '../workflows/messages.js';
import type { Entity } from './entities-contract.js';

/** The dependencies of activities. The worker builds them, tests pass fakes. */
export interface ActivityDeps extends ClusterDeps {
  readonly events: EventRecorder;
  readonly offerings: OfferingStore;
  readonly entities: EntityStarter;
  /** Runs packing in other threads, so that heartbeats continue. */
  readonly packer: Packer;
  readonly metrics: Metrics;
  /** Whether pods are steered while a consolidation drains (STEER_PODS). */
  readonly steerPods: boolean;
}

/**
 * The offerings without capacity, which all workers share durably. No method throws: if Temporal cannot be reached, the
 * next refusal is recorded instead.
 */
export interface OfferingStore {
  refused(offerings: readonly UnavailableOffering[]): Promise<void>;
  succeeded(offering: Pick<UnavailableOffering, 'capacityType' | 'instanceType' | 'zone'>): Promise<void>;
  /** Passes offerings that other workers found unavailable to the cloud provider. */
  refresh(): Promise<void>;
}

/** Starts entity workflows with inputs from the settings, and launches, unless they run already. */
export interface EntityStarter {
  ensure(entity: Entity): Promise<void>;
  startLaunch(launch: LaunchStart): Promise<void>;
  /** Whether a workflow with this id is running; with `firstRunId`, only the execution that began with that run. */
  isOpen(workflowId: string, firstRunId?: string): Promise<boolean>;
}

/** Callbacks of a packing job. */
export interface PackingOptions {
  /** Called when a thread begins the job, which may be long after the request. */
  readonly onBegin?: () => void;
}

/**
 * The promises reject if the thread dies or the attempt of the activity ends: the job is then not begun, or is stopped
 * soon.
 */
export interface Packer {
  plan(input: PackingInput): Promise<Plan>;
  /** Lower bounds for what the nodes of NodePools cost (surfaces/least-possible). */
  leastPossible(input: PackingInput): Promise<LeastPossible>;
  /** Searches for commands (consolidation/when-it-searches). */
  consolidate(input: ConsolidationInput, options?: PackingOptions): Promise<Consolidation>;
  /**
   * The command for exactly these nodes; undefined if they may not all be disrupted or it saves nothing
   * (commands/validation).
   */
  reconsider(input: ConsolidationInput, candidates: readonly string[]): Promise<ConsolidationCommand | undefined>;
  /** Where pods without a node have room now (consolidation/room-of-pending-pods). */
  waitingRooms(input: PackingInput): Promise<Plan['existingNodes']>;
  /** Why there is no command for exactly this node, in words; undefined if there is one. */
  whyStays(input: ConsolidationInput, node: string): Promise<string | undefined>;
}
