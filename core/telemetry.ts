/** Structured logs: named fields and one sentence. */
export interface Log {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** Metrics by their Prometheus names without the `karpenter_` prefix (metrics/families). */
export interface Metrics {
  count(name: CounterName, labels: Readonly<Record<string, string>>, by?: number): void;
  observe(name: HistogramName, labels: Readonly<Record<string, string>>, value: number): void;
  /** For data known only to the process that does the work; gauges from the cache are in process/gauges/. */
  set(name: GaugeName, labels: Readonly<Record<string, string>>, value: number): void;
}

export type GaugeName =
  | 'scheduler_unschedulable_pods_count'
  | 'stowage_karpenter_lease_held'
  | 'stowage_disruption_last_search_timestamp_seconds'
  | 'stowage_stuck'
  | 'stowage_stuck_oldest_seconds';

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
  | 'stowage_workflows_restarted_total'
  | 'stowage_watches_restarted_total'
  | 'stowage_faults_total'
  | 'stowage_packing_jobs_abandoned_total'
  | 'controller_runtime_reconcile_total'
  | 'controller_runtime_reconcile_errors_total'
  | `operator_${Reported}_status_condition_transitions_total`;

/** Durations and amounts: histograms, and summaries where Karpenter has these. */
export type HistogramName =
  | 'nodeclaims_termination_duration_seconds'
  | 'nodeclaims_instance_termination_duration_seconds'
  | 'nodes_termination_duration_seconds'
  | 'nodes_lifetime_duration_seconds'
  | 'scheduler_scheduling_duration_seconds'
  | 'voluntary_disruption_decision_evaluation_duration_seconds'
  | 'stowage_command_savings_predicted_dollars_per_hour'
  | 'stowage_command_savings_realised_dollars_per_hour'
  | 'stowage_packing_job_wait_seconds'
  | 'stowage_packing_job_duration_seconds'
  | 'interruption_message_queue_duration_seconds'
  | 'cloudprovider_duration_seconds'
  | 'pods_bound_duration_seconds'
  | 'pods_startup_duration_seconds'
  | 'controller_runtime_reconcile_time_seconds'
  | `operator_${Reported}_status_condition_transition_seconds`
  | `operator_${Reported}_termination_duration_seconds`;
