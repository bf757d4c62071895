import { type AddressInfo, createServer } from 'node:net';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, Summary } from 'prom-client';
import type { CounterName, GaugeName, HistogramName, Metrics } from '../core/telemetry.js';

const attempts = 5;
/** The exporter runs in this process: it responds immediately or not at all. */
const timeoutMs = 2000;

/**
 * Starts the exporter of the Temporal SDK with `install` on a free port of the loopback interface, and returns a
 * function that reads its metrics. The SDK needs a fixed port: if another process takes it meanwhile, another port is
 * tried. Rejects with the error of `install`.
 */
export async function exportSdkMetrics(install: (bindAddress: string) => void): Promise<() => Promise<string>> {
  for (let attempt = 1; ; attempt++) {
    const address = `127.0.0.1:${await freePort()}`;
    try {
      install(address);
    } catch (error) {
      if (attempt < attempts && /address already in use/i.test(String(error))) continue;
      throw error;
    }
    return () => read(`http://${address}/metrics`);
  }
}

async function read(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response.text();
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

const disrupted = ['reason', 'nodepool', 'capacity_type', 'consolidation_policy', 'termination_mode'] as const;
const decided = ['decision', 'reason', 'consolidation_type'] as const;
const called = ['controller', 'method', 'provider'] as const;
const transition = ['type', 'status', 'reason'] as const;
const left = ['type', 'status', 'to_status'] as const;

/** Labels of each family, as in Karpenter (metrics/families). */
const counters: Readonly<Record<CounterName, readonly string[]>> = {
  nodeclaims_created_total: ['reason', 'nodepool', 'min_values_relaxed'],
  nodeclaims_terminated_total: ['nodepool', 'capacity_type', 'zone'],
  nodeclaims_disrupted_total: disrupted,
  nodeclaims_unhealthy_disrupted_total: ['condition', 'nodepool', 'capacity_type', 'image_id'],
  nodes_created_total: ['nodepool', 'zone'],
  nodes_terminated_total: ['nodepool', 'zone'],
  nodes_drained_total: ['nodepool'],
  pods_drained_total: ['reason'],
  pods_eviction_requests_total: ['code'],
  pods_disruption_initiated_total: disrupted,
  voluntary_disruption_decisions_total: decided,
  voluntary_disruption_decisions_by_nodepool_total: [...decided, 'nodepool'],
  voluntary_disruption_failed_validations_total: ['consolidation_type'],
  voluntary_disruption_queue_failures_total: decided,
  cloudprovider_errors_total: [...called, 'error'],
  cloudprovider_instance_launch_failures_total: ['zone', 'zone_id', 'capacity_type', 'reason'],
  cloudprovider_instance_termination_failures_total: ['zone', 'zone_id'],
  interruption_received_messages_total: ['message_type'],
  interruption_deleted_messages_total: [],
  stowage_pod_nominations_total: ['nodepool', 'outcome'],
  stowage_workflows_restarted_total: ['workflow_type'],
  stowage_watches_restarted_total: ['kind'],
  stowage_faults_total: ['source'],
  stowage_packing_jobs_abandoned_total: ['job'],
  controller_runtime_reconcile_total: ['controller', 'result'],
  controller_runtime_reconcile_errors_total: ['controller'],
  interruption_instance_status_unhealthy_total: ['category'],
  operator_nodeclaim_status_condition_transitions_total: transition,
  operator_nodepool_status_condition_transitions_total: transition,
  operator_node_status_condition_transitions_total: transition,
  operator_ec2nodeclass_status_condition_transitions_total: transition,
};

type SummaryName = 'nodes_termination_duration_seconds' | 'pods_startup_duration_seconds';

/** Karpenter's dashboards use the quantiles of these (metrics/types). */
const summaries: Readonly<Record<SummaryName, readonly string[]>> = {
  nodes_termination_duration_seconds: ['nodepool'],
  pods_startup_duration_seconds: [],
};

const histograms: Readonly<Record<Exclude<HistogramName, SummaryName>, readonly string[]>> = {
  controller_runtime_reconcile_time_seconds: ['controller'],
  nodeclaims_termination_duration_seconds: ['nodepool'],
  nodeclaims_instance_termination_duration_seconds: ['nodepool'],
  nodes_lifetime_duration_seconds: ['nodepool'],
  pods_bound_duration_seconds: [],
  scheduler_scheduling_duration_seconds: ['controller'],
  voluntary_disruption_decision_evaluation_duration_seconds: ['reason', 'consolidation_type'],
  stowage_command_savings_predicted_dollars_per_hour: ['nodepool', 'after'],
  stowage_command_savings_realised_dollars_per_hour: ['nodepool', 'after'],
  stowage_packing_job_wait_seconds: ['job'],
  stowage_packing_job_duration_seconds: ['job'],
  interruption_message_queue_duration_seconds: [],
  cloudprovider_duration_seconds: called,
  operator_nodeclaim_status_condition_transition_seconds: left,
  operator_nodepool_status_condition_transition_seconds: left,
  operator_node_status_condition_transition_seconds: left,
  operator_ec2nodeclass_status_condition_transition_seconds: left,
  operator_nodeclaim_termination_duration_seconds: [],
  operator_nodepool_termination_duration_seconds: [],
  operator_node_termination_duration_seconds: [],
  operator_ec2nodeclass_termination_duration_seconds: [],
};

const gauges: Readonly<Record<GaugeName, readonly string[]>> = {
  scheduler_unschedulable_pods_count: ['controller'],
  stowage_karpenter_lease_held: [],
  stowage_disruption_last_search_timestamp_seconds: [],
  stowage_stuck: ['kind'],
  stowage_stuck_oldest_seconds: ['kind'],
};

const buckets = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 86_400];

/** As in Karpenter: over the last ten minutes. */
const quantiles = {
  percentiles: [0, 0.5, 0.9, 0.99, 1],
  maxAgeSeconds: 600,
  ageBuckets: 5,
  pruneAgedBuckets: true,
};

/** Families that Karpenter does not have get the prefix `stowage_`; its generic families have no prefix. */
export const metricName = (name: string): string =>
  /^(stowage|operator|controller_runtime)_/.test(name) ? name : `karpenter_${name}`;

/** Metrics with Karpenter's names, in a separate registry. */
export function createMetrics(): Metrics & { readonly registry: Registry } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const common = (name: string, labelNames: readonly string[]) => ({
    name: metricName(name),
    help: 'See the Karpenter metrics reference.',
    labelNames,
    registers: [registry],
  });
  const counterOf = made(counters, (...of) => new Counter(common(...of)));
  const histogramOf = made(histograms, (...of) => new Histogram({ ...common(...of), buckets }));
  const summaryOf = made(summaries, (...of) => new Summary({ ...common(...of), ...quantiles }));
  const gaugeOf = made(gauges, (...of) => new Gauge(common(...of)));
  return {
    registry,
    count: (name, labels, by = 1) => counterOf.get(name)?.inc({ ...labels }, by),
    observe: (name, labels, value) => (histogramOf.get(name) ?? summaryOf.get(name))?.observe({ ...labels }, value),
    set: (name, labels, value) => gaugeOf.get(name)?.set({ ...labels }, value),
  };
}

function made<T>(
  families: Readonly<Record<string, readonly string[]>>,
  make: (name: string, labelNames: readonly string[]) => T,
): ReadonlyMap<string, T> {
  return new Map(Object.entries(families).map(([name, labelNames]) => [name, make(name, labelNames)]));
}
