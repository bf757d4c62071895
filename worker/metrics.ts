import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import type { CounterName, HistogramName, Metrics } from '../activities/deps.js';

/** Labels of each family, as Karpenter has them (section 1.8). */
const counters: Readonly<Record<CounterName, readonly string[]>> = {
  nodeclaims_created_total: ['reason', 'nodepool', 'min_values_relaxed'],
  nodeclaims_terminated_total: ['nodepool', 'capacity_type', 'zone'],
  nodeclaims_disrupted_total: ['reason', 'nodepool', 'capacity_type'],
  nodeclaims_unhealthy_disrupted_total: ['condition', 'nodepool', 'capacity_type', 'image_id'],
  nodes_created_total: ['nodepool'],
  nodes_terminated_total: ['nodepool', 'zone'],
  nodes_drained_total: ['nodepool'],
  pods_drained_total: ['reason'],
  pods_eviction_requests_total: ['code'],
  pods_disruption_initiated_total: ['reason', 'nodepool', 'capacity_type'],
  voluntary_disruption_decisions_total: ['decision', 'reason', 'consolidation_type'],
  voluntary_disruption_failed_validations_total: ['consolidation_type'],
  interruption_received_messages_total: ['message_type'],
  interruption_deleted_messages_total: [],
};

const histograms: Readonly<Record<HistogramName, readonly string[]>> = {
  nodeclaims_termination_duration_seconds: ['nodepool'],
  nodeclaims_instance_termination_duration_seconds: ['nodepool'],
  nodes_termination_duration_seconds: ['nodepool'],
  nodes_lifetime_duration_seconds: ['nodepool'],
  scheduler_scheduling_duration_seconds: ['controller'],
  voluntary_disruption_decision_evaluation_duration_seconds: ['reason', 'consolidation_type'],
  stowage_move_savings_promised_dollars_per_hour: ['nodepool', 'after'],
  stowage_move_savings_realised_dollars_per_hour: ['nodepool', 'after'],
  interruption_message_queue_duration_seconds: [],
};

const buckets = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 86_400];

/** What Karpenter has no family for goes by our own name. */
const fullName = (name: string): string => (name.startsWith('stowage_') ? name : `karpenter_${name}`);

/** Metrics under Karpenter's names, in a registry of their own. */
export function createMetrics(): Metrics & { readonly registry: Registry } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const help = 'See the Karpenter metrics reference.';
  const counterOf = new Map(
    Object.entries(counters).map(([name, labelNames]) => [
      name,
      new Counter({ name: fullName(name), help, labelNames, registers }),
    ]),
  );
  const histogramOf = new Map(
    Object.entries(histograms).map(([name, labelNames]) => [
      name,
      new Histogram({ name: fullName(name), help, labelNames, buckets, registers }),
    ]),
  );
  return {
    registry,
    count: (name, labels, by = 1) => counterOf.get(name)?.inc({ ...labels }, by),
    observe: (name, labels, value) => histogramOf.get(name)?.observe({ ...labels }, value),
  };
}
