import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { awsWellKnownLabels } from '../../api/aws/labels.js';
import { FakeCloud } from '../../test/simulation/cloud/fake.js';
import { catalogue, createActivityWorld } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { createMetrics, metricName } from '../metrics.js';
import { registerGauges } from './register.js';

/** The columns of Karpenter's node series on AWS: every well-known label under its short name. */
const nodeColumns =
  'nodepool capacity_type zone region instance_type arch os windows_build instance_category instance_family ' +
  'instance_generation instance_size instance_capability_flex instance_cpu instance_cpu_manufacturer ' +
  'instance_cpu_sustained_clock_speed_mhz instance_memory instance_ebs_bandwidth instance_network_bandwidth ' +
  'instance_hypervisor instance_encryption_in_transit_supported instance_local_nvme instance_gpu_name ' +
  'instance_gpu_manufacturer instance_gpu_count instance_gpu_memory instance_accelerator_name ' +
  'instance_accelerator_manufacturer instance_accelerator_count instance_tenancy nitro_sandbox ' +
  'capacity_reservation_id capacity_reservation_type capacity_reservation_interruptible placement_group_id ' +
  'placement_group_partition zone_id node_name phase managed';
const disrupted = 'reason nodepool capacity_type consolidation_policy termination_mode';
const decided = 'decision reason consolidation_type';
const named = 'name namespace';
const pods = 'name namespace owner node scheduled nodepool zone arch capacity_type instance_type phase ready managed';
const offering = 'instance_type capacity_type zone';

/** Rule `metrics/families`, name by name with Karpenter's labels. */
const families: Readonly<Record<string, string>> = {
  nodeclaims_created_total: 'reason nodepool min_values_relaxed',
  nodeclaims_terminated_total: 'nodepool capacity_type zone',
  nodeclaims_disrupted_total: disrupted,
  nodeclaims_unhealthy_disrupted_total: 'condition nodepool capacity_type image_id',
  nodeclaims_instance_termination_duration_seconds: 'nodepool',
  nodeclaims_termination_duration_seconds: 'nodepool',
  nodes_created_total: 'nodepool zone',
  nodes_terminated_total: 'nodepool zone',
  nodes_drained_total: 'nodepool',
  nodes_termination_duration_seconds: 'nodepool',
  nodes_lifetime_duration_seconds: 'nodepool',
  nodes_allocatable: `${nodeColumns} resource_type`,
  nodes_total_pod_requests: `${nodeColumns} resource_type`,
  nodes_total_pod_limits: `${nodeColumns} resource_type`,
  nodes_total_daemon_requests: `${nodeColumns} resource_type`,
  nodes_total_daemon_limits: `${nodeColumns} resource_type`,
  nodes_system_overhead: `${nodeColumns} resource_type`,
  nodes_current_lifetime_seconds: nodeColumns,
  nodepools_limit: 'resource_type nodepool',
  nodepools_usage: 'resource_type nodepool',
  nodepools_cost_total: 'nodepool',
  nodepools_allowed_disruptions: 'nodepool reason',
  nodepools_nodes_consuming_budgets: 'nodepool reason',
  pods_state: pods,
  pods_startup_duration_seconds: '',
  pods_bound_duration_seconds: '',
  pods_unstarted_time_seconds: named,
  pods_unbound_time_seconds: named,
  pods_eviction_requests_total: 'code',
  pods_drained_total: 'reason',
  pods_disruption_initiated_total: disrupted,
  scheduler_scheduling_duration_seconds: 'controller',
  scheduler_unschedulable_pods_count: 'controller',
  scheduler_queue_depth: 'controller scheduling_id',
  voluntary_disruption_decision_evaluation_duration_seconds: 'reason consolidation_type',
  voluntary_disruption_decisions_total: decided,
  voluntary_disruption_decisions_by_nodepool_total: `${decided} nodepool`,
  voluntary_disruption_eligible_nodes: 'reason',
  voluntary_disruption_failed_validations_total: 'consolidation_type',
  voluntary_disruption_queue_failures_total: decided,
  cluster_state_node_count: '',
  cluster_state_synced: '',
  cluster_state_unsynced_time_seconds: '',
  cluster_utilization_percent: 'resource_type',
  build_info: 'version goversion goarch commit',
  cloudprovider_duration_seconds: 'controller method provider',
  cloudprovider_errors_total: 'controller method provider error',
  cloudprovider_instance_type_cpu_cores: 'instance_type',
  cloudprovider_instance_type_memory_bytes: 'instance_type',
  cloudprovider_instance_type_offering_available: offering,
  cloudprovider_instance_type_offering_price_estimate: offering,
  cloudprovider_instance_launch_failures_total: 'zone zone_id capacity_type reason',
  cloudprovider_instance_termination_failures_total: 'zone zone_id',
  interruption_received_messages_total: 'message_type',
  interruption_deleted_messages_total: '',
  interruption_message_queue_duration_seconds: '',
  interruption_instance_status_unhealthy_total: 'category',
  ec2nodeclasses_userdata_bytes: 'nodeclass',
};

const operatorFamilies: Readonly<Record<string, string>> = Object.fromEntries(
  ['nodeclaim', 'nodepool', 'node', 'ec2nodeclass'].flatMap((kind) => [
    [`operator_${kind}_status_condition_count`, 'namespace name type status reason'],
    [`operator_${kind}_status_condition_current_status_seconds`, 'namespace name type status reason'],
    [`operator_${kind}_status_condition_transition_seconds`, 'type status to_status'],
    [`operator_${kind}_status_condition_transitions_total`, 'type status reason'],
    [`operator_${kind}_termination_current_time_seconds`, 'namespace name'],
    [`operator_${kind}_termination_duration_seconds`, ''],
  ]),
);

/** Karpenter's durations (metrics/types); what counts ends in `_total`, all else is a gauge. */
const summaries = ['pods_startup_duration_seconds', 'nodes_termination_duration_seconds'];
/** It ends so, and is a gauge there. */
const notCounted = ['nodepools_cost_total'];

function typeOf(name: string): string {
  if (summaries.includes(name)) return 'summary';
  if (/_(duration|transition)_seconds$/.test(name)) return 'histogram';
  return name.endsWith('_total') && !notCounted.includes(name) ? 'counter' : 'gauge';
}

/** What Karpenter has (metrics/families) and Stowage has not; docs/metrics.md says why. */
const leftOut = [
  'consolidation_moves_total',
  'consolidation_score',
  'cloudprovider_batcher_batch_size',
  'cloudprovider_batcher_batch_time_seconds',
  'nodepools_cost_tracker_errors_total',
  'pods_provisioning_bound_duration_seconds',
  'pods_provisioning_scheduling_undecided_time_seconds',
  'pods_provisioning_startup_duration_seconds',
  'pods_provisioning_unbound_time_seconds',
  'pods_provisioning_unstarted_time_seconds',
  'pods_scheduling_decision_duration_seconds',
  'scheduler_ignored_pods_count',
  'scheduler_pending_pods_by_effective_zone_count',
  'scheduler_unfinished_work_seconds',
  'voluntary_disruption_consolidation_timeouts_total',
];

describe('metric families (metrics/families)', () => {
  let world: ActivityWorld;
  let lean: Map<string, string>;
  let all: Map<string, string>;
  let types: Map<string, string>;
  beforeAll(async () => {
    world = await createActivityWorld();
    const cloud = new FakeCloud({ types: catalogue, now: () => world.clock.now, wellKnownLabels: awsWellKnownLabels });
    const deps = { ...world.deps, cloud };
    const registered = (objects: boolean): Map<string, string> => {
      const state = new Registry();
      registerGauges(state, deps, { objects });
      const metrics = [...createMetrics().registry.getMetricsAsArray(), ...state.getMetricsAsArray()];
      return new Map(metrics.map((metric) => [metric.name, labelsOf(metric)]));
    };
    const state = new Registry();
    registerGauges(state, deps, { objects: true });
    const described = [...(await createMetrics().registry.getMetricsAsJSON()), ...(await state.getMetricsAsJSON())];
    types = new Map(described.map(({ name, type }) => [name, String(type)]));
    all = registered(true);
    lean = registered(false);
  });
  afterAll(() => world.stop());

  test.each([
    ...Object.entries(families).map(([name, own]) => [`karpenter_${name}`, own] as const),
    ...Object.entries(operatorFamilies),
  ])('%s{%s}', (name, own) => {
    expect(all.get(name)).toBe(own.split(' ').sort().join(' '));
  });

  test.each([...Object.keys(families), ...Object.keys(operatorFamilies)])('%s has its type (metrics/types)', (name) => {
    expect(types.get(metricName(name))).toBe(typeOf(name));
  });

  test('no metric has a Karpenter name that Karpenter lacks', () => {
    const known = new Set([
      ...Object.keys(families).map((name) => `karpenter_${name}`),
      ...Object.keys(operatorFamilies),
    ]);
    expect([...all.keys()].filter((name) => /^(karpenter|operator)_/.test(name) && !known.has(name))).toEqual([]);
  });

  test("Karpenter's metrics that are left out are exactly those named in docs/metrics.md", () => {
    const text = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
    const named = [...text.matchAll(/^\| `karpenter_(\w+)`/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual([...leftOut].sort());
    for (const name of leftOut) expect(all.has(`karpenter_${name}`)).toBe(false);
  });

  test('without object metrics there is no series for each node, claim or pod', () => {
    const gone = [...all.keys()].filter((name) => !lean.has(name));
    expect(gone.sort()).toEqual(
      [
        ...Object.entries(families)
          .filter(([name, own]) => own.startsWith(nodeColumns) || own === pods || name.startsWith('pods_un'))
          .map(([name]) => `karpenter_${name}`),
        ...Object.keys(operatorFamilies).filter((name) => /_(node|nodeclaim)_.*(count|current\w*_seconds)$/.test(name)),
      ].sort(),
    );
  });
});

/** prom-client keeps the names of a metric's labels to itself. */
function labelsOf(metric: object): string {
  const { labelNames } = metric as { labelNames: readonly string[] };
  return labelNames.toSorted().join(' ');
}
