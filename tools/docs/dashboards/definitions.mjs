// What the dashboards show. Standby operators have gauges of the cluster's state too: `max` before any `sum`. Counters are summed.

const perSecond = '$__rate_interval';
/** What processes of Stowage alone have: default metrics of Node.js have the names that every program's have. */
const own = 'and on (instance) stowage_karpenter_lease_held';
const pool = 'nodepool=~"$nodepool"';

const quantile = (q, by, metric, selector = '') =>
  `histogram_quantile(${q}, sum by (${['le', ...by].join(', ')}) (rate(${metric}_bucket${selector}[${perSecond}])))`;
const increases = (by, metric, selector = '') => `sum by (${by}) (increase(${metric}${selector}[${perSecond}]))`;

const series = (expr, legend) => ({ expr, legend });
const panel = (title, unit, ...targets) => ({ title, unit, targets });
const ofNodes = (by, metric, resource) =>
  `sum by (${by}) (max by (${by}, node_name) (${metric}{${pool}, resource_type="${resource}"}))`;

const capacity = {
  name: 'capacity',
  title: 'Stowage: capacity and cost',
  pools: true,
  panels: [
    panel(
      'Cost per hour',
      'currencyUSD',
      series(`max by (nodepool) (karpenter_nodepools_cost_total{${pool}})`, '{{nodepool}}'),
    ),
    panel('Nodes', 'short', series('max(karpenter_cluster_state_node_count)', 'nodes')),
    panel(
      'Nodes by capacity type',
      'short',
      series(
        `count by (capacity_type) (max by (capacity_type, node_name) (karpenter_nodes_allocatable{${pool}, resource_type="cpu"}))`,
        '{{capacity_type}}',
      ),
    ),
    panel(
      'Nodes by instance type',
      'short',
      series(
        `count by (instance_type) (max by (instance_type, node_name) (karpenter_nodes_allocatable{${pool}, resource_type="cpu"}))`,
        '{{instance_type}}',
      ),
    ),
    panel(
      'Requested of what is allocatable',
      'percent',
      series('max by (resource_type) (karpenter_cluster_utilization_percent)', '{{resource_type}}'),
    ),
    panel(
      'CPU requested of what is allocatable',
      'percentunit',
      series(
        `${ofNodes('nodepool', 'karpenter_nodes_total_pod_requests', 'cpu')} / ${ofNodes('nodepool', 'karpenter_nodes_allocatable', 'cpu')}`,
        '{{nodepool}}',
      ),
    ),
    panel(
      'Used of the limits of NodePools',
      'percentunit',
      series(
        `max by (nodepool, resource_type) (karpenter_nodepools_usage{${pool}}) / max by (nodepool, resource_type) (karpenter_nodepools_limit{${pool}})`,
        '{{nodepool}} {{resource_type}}',
      ),
    ),
    panel(
      'Savings per hour of commands in a day',
      'currencyUSD',
      series(`sum(increase(stowage_command_savings_predicted_dollars_per_hour_sum{${pool}}[24h]))`, 'predicted'),
      series(`sum(increase(stowage_command_savings_realised_dollars_per_hour_sum{${pool}}[24h]))`, 'realised'),
    ),
    panel(
      'Age of on-demand prices',
      's',
      series('time() - max by (source) (stowage_cloud_on_demand_prices_timestamp_seconds)', '{{source}}'),
    ),
  ],
};

const disruption = {
  name: 'disruption',
  title: 'Stowage: disruption',
  pools: true,
  panels: [
    panel(
      'Nodes that may be disrupted',
      'short',
      series('max by (reason) (karpenter_voluntary_disruption_eligible_nodes)', '{{reason}}'),
    ),
    panel(
      'Decisions',
      'short',
      series(
        increases('reason, decision', 'karpenter_voluntary_disruption_decisions_total'),
        '{{reason}} {{decision}}',
      ),
    ),
    panel(
      'Disrupted NodeClaims',
      'short',
      series(increases('reason', 'karpenter_nodeclaims_disrupted_total', `{${pool}}`), '{{reason}}'),
    ),
    panel(
      'Budgets',
      'short',
      series(
        `max by (nodepool, reason) (karpenter_nodepools_allowed_disruptions{${pool}})`,
        '{{nodepool}} {{reason}} allowed',
      ),
      series(
        `max by (nodepool, reason) (karpenter_nodepools_nodes_consuming_budgets{${pool}})`,
        '{{nodepool}} {{reason}} in use',
      ),
    ),
    panel(
      'Commands that were given up',
      'short',
      series(
        increases('consolidation_type', 'karpenter_voluntary_disruption_failed_validations_total'),
        'validation {{consolidation_type}}',
      ),
      series(increases('reason', 'karpenter_voluntary_disruption_queue_failures_total'), 'after marking {{reason}}'),
    ),
    panel(
      'Interruption notices',
      'short',
      series(increases('message_type', 'karpenter_interruption_received_messages_total'), '{{message_type}}'),
    ),
    panel(
      'Time to terminate a NodeClaim',
      's',
      series(quantile(0.5, [], 'karpenter_nodeclaims_termination_duration_seconds', `{${pool}}`), 'half'),
      series(quantile(0.95, [], 'karpenter_nodeclaims_termination_duration_seconds', `{${pool}}`), '95%'),
    ),
    panel(
      'Evictions by answer',
      'short',
      series(increases('code', 'karpenter_pods_eviction_requests_total'), '{{code}}'),
    ),
    panel(
      'Since the last look at the cluster',
      's',
      series('time() - max(stowage_disruption_last_search_timestamp_seconds)', 'seconds'),
    ),
  ],
};

const launches = {
  name: 'launches',
  title: 'Stowage: launches and failures',
  pools: true,
  panels: [
    panel(
      'Pods without a node',
      'short',
      series('max(karpenter_scheduler_queue_depth)', 'waiting'),
      series('max(karpenter_scheduler_unschedulable_pods_count)', 'unschedulable'),
    ),
    panel(
      'Created NodeClaims',
      'short',
      series(
        increases('nodepool, reason', 'karpenter_nodeclaims_created_total', `{${pool}}`),
        '{{nodepool}} {{reason}}',
      ),
    ),
    panel(
      'Nodes that came and went',
      'short',
      series(increases('nodepool', 'karpenter_nodes_created_total', `{${pool}}`), '{{nodepool}} created'),
      series(increases('nodepool', 'karpenter_nodes_terminated_total', `{${pool}}`), '{{nodepool}} terminated'),
    ),
    panel(
      'Time until a pod is bound',
      's',
      series(quantile(0.5, [], 'karpenter_pods_bound_duration_seconds'), 'half'),
      series(quantile(0.95, [], 'karpenter_pods_bound_duration_seconds'), '95%'),
    ),
    panel(
      'Time of a pass of planning',
      's',
      series(quantile(0.95, [], 'karpenter_scheduler_scheduling_duration_seconds'), '95%'),
    ),
    panel(
      'Launch failures',
      'short',
      series(
        increases('reason, capacity_type, zone', 'karpenter_cloudprovider_instance_launch_failures_total'),
        '{{reason}} {{capacity_type}} {{zone}}',
      ),
    ),
    panel(
      'Unavailable offerings',
      'short',
      series(
        'count(max by (instance_type, zone, capacity_type) (karpenter_cloudprovider_instance_type_offering_available) == 0) or vector(0)',
        'offerings',
      ),
    ),
    panel(
      'NodeClaims by what they lack',
      'short',
      series(
        'count by (type, reason) (max by (name, type, reason) (operator_nodeclaim_status_condition_count{status!="True", type=~"Launched|Registered|Initialized"}))',
        '{{type}} {{reason}}',
      ),
    ),
    panel(
      'Failed calls to the cloud',
      'short',
      series(increases('method, error', 'karpenter_cloudprovider_errors_total'), '{{method}} {{error}}'),
    ),
    panel(
      'Time of calls to the cloud',
      's',
      series(quantile(0.95, ['method'], 'karpenter_cloudprovider_duration_seconds'), '{{method}} 95%'),
    ),
  ],
};

const engine = {
  name: 'temporal',
  title: 'Stowage: Temporal workers and queues',
  pools: false,
  panels: [
    panel('What is stuck', 'short', series('max by (kind) (stowage_stuck)', '{{kind}}')),
    panel('For how long', 's', series('max by (kind) (stowage_stuck_oldest_seconds)', '{{kind}}')),
    panel('Packing jobs', 'short', series('sum by (job, state) (stowage_packing_jobs)', '{{job}} {{state}}')),
    panel(
      'Oldest packing job',
      's',
      series('max by (job, state) (stowage_packing_oldest_job_seconds)', '{{job}} {{state}}'),
    ),
    panel(
      'Wait for a packing thread',
      's',
      series(quantile(0.95, ['job'], 'stowage_packing_job_wait_seconds'), '{{job}} 95%'),
    ),
    panel(
      'Time of a packing job',
      's',
      series(quantile(0.95, ['job'], 'stowage_packing_job_duration_seconds'), '{{job}} 95%'),
    ),
    panel(
      'Begun anew',
      'short',
      series(increases('workflow_type', 'stowage_workflows_restarted_total'), 'workflow {{workflow_type}}'),
      series(increases('kind', 'stowage_watches_restarted_total'), 'watch of {{kind}}'),
      series(increases('job', 'stowage_packing_jobs_abandoned_total'), 'packing job {{job}}'),
    ),
    panel("Karpenter's lease is held", 'short', series('max(stowage_karpenter_lease_held)', 'held')),
    panel(
      'Lag of the event loop',
      's',
      series(`max by (instance) (nodejs_eventloop_lag_p99_seconds ${own})`, '{{instance}}'),
    ),
    panel(
      'CPU',
      'short',
      series(`max by (instance) (rate(process_cpu_seconds_total[${perSecond}]) ${own})`, '{{instance}}'),
    ),
    panel('Memory', 'bytes', series(`max by (instance) (process_resident_memory_bytes ${own})`, '{{instance}}')),
  ],
};

export const dashboards = [capacity, disruption, launches, engine];
