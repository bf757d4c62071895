import type { Consolidation, ConsolidationCommand, ConsolidationInput } from '../disruption/consolidation/types.js';
import type { Plan, PackingInput, PackingSettings } from '../packing/types.js';
import type { CloudProvider, UnavailableOffering } from '../cloud/port.js';
import type { FeatureGates } from '../core/feature-gates.js';
import type { ClusterCache, EventRecorder, KubeClient } from '../kube/port.js';

/** What activities need of the world; the worker's composition root builds it, tests give fakes. */
export interface ActivityDeps {
  readonly cluster: string;
  readonly kube: KubeClient;
  readonly cache: ClusterCache;
  readonly cloud: CloudProvider;
  readonly events: EventRecorder;
  readonly offerings: OfferingLedger;
  /** Packs away from the event loop, so that heartbeats go on. */
  readonly packer: Packer;
  readonly packing: PackingSettings;
  readonly gates: FeatureGates;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Milliseconds of the epoch. */
  readonly now: () => number;
  /** How long a node with pods on their way is left alone, milliseconds (section 2.10). */
  readonly nominationMs: number;
  /** Whether other nodes are softly tainted while a consolidation drains (STEER_PODS). */
  readonly steerPods: boolean;
  /** Whether kube-scheduler is told which node the plan put a pod on (NOMINATE_PODS). */
  readonly nominatePods: boolean;
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

export interface Packer {
  plan(input: PackingInput): Promise<Plan>;
  /** What would save money or goes for nothing, on the same input (section 4.7). */
  consolidate(input: ConsolidationInput): Promise<Consolidation>;
  /** What comes of taking exactly these nodes; undefined when they may not all go (section 4.11). */
  reconsider(input: ConsolidationInput, candidates: readonly string[]): Promise<ConsolidationCommand | undefined>;
}

export interface Log {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** Metrics by their Prometheus names without the `karpenter_` prefix (section 1.8). */
export interface Metrics {
  count(name: CounterName, labels: Readonly<Record<string, string>>, by?: number): void;
  observe(name: HistogramName, labels: Readonly<Record<string, string>>, value: number): void;
  /** Of what only the process that does the work knows; what the cache tells is in worker/gauges/. */
  set(name: GaugeName, labels: Readonly<Record<string, string>>, value: number): void;
}

export type GaugeName = 'scheduler_unschedulable_pods_count';

type Reported = 'nodeclaim' | 'nodepool' | 'node' | 'ec2nodeclass';

export type CounterName =
  | 'nodeclaims_created_total'
  | 'nodeclaims_terminated_total'
  | 'nodeclaims_disrupted_total'
  | 'nodeclaims_unhealthy_disrupted_total'
  | 'nodes_created_total'
  | 'nodes_terminated_total'
  | 'nodes_drained_total'
  | 'pods_drained_total'
  | 'pods_eviction_requests_total'
  | 'pods_disruption_initiated_total'
  | 'voluntary_disruption_decisions_total'
  | 'voluntary_disruption_failed_validations_total'
  | 'interruption_received_messages_total'
  | 'voluntary_disruption_decisions_by_nodepool_total'
  | 'voluntary_disruption_queue_failures_total'
  | 'cloudprovider_errors_total'
  | 'cloudprovider_instance_launch_failures_total'
  | 'cloudprovider_instance_termination_failures_total'
  | 'interruption_instance_status_unhealthy_total'
  | 'interruption_deleted_messages_total'
  | 'stowage_pod_nominations_total'
  | `operator_${Reported}_status_condition_transitions_total`;

export type HistogramName =
  | 'nodeclaims_termination_duration_seconds'
  | 'nodeclaims_instance_termination_duration_seconds'
  | 'nodes_termination_duration_seconds'
  | 'nodes_lifetime_duration_seconds'
  | 'scheduler_scheduling_duration_seconds'
  | 'voluntary_disruption_decision_evaluation_duration_seconds'
  | 'stowage_move_savings_promised_dollars_per_hour'
  | 'stowage_move_savings_realised_dollars_per_hour'
  | 'interruption_message_queue_duration_seconds'
  | 'cloudprovider_duration_seconds'
  | 'pods_bound_duration_seconds'
  | 'pods_startup_duration_seconds'
  | `operator_${Reported}_status_condition_transition_seconds`
  | `operator_${Reported}_termination_duration_seconds`;
