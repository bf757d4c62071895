/** What Karpenter's two published dashboards (capacity, performance) ask, panel by panel: which series, by which labels, over which time. */
export interface Panel {
  readonly title: string;
  readonly expr: string;
}

const panel = (title: string, expr: string): Panel => ({ title, expr });
/** Grafana puts every value that there is in place of its variables. */
const ofPools = '{nodepool=~"default|other"}';
const ofNodes = 'arch=~"amd64",capacity_type=~"spot",instance_type=~"m5.xlarge",nodepool=~"default",zone=~"a"';
const grouped = ['arch', 'capacity_type', 'instance_type', 'namespace', 'node', 'nodepool', 'zone'];
const quantiles = [0, 0.5, 0.9, 0.99, 1];

const counted = (title: string, family: string, by: string, selector = ''): Panel[] => [
  panel(`${title}, rate`, `sum by (${by}) (rate(${family}${selector}[5m]))`),
  panel(`${title}, total`, `sum by (${by}) (${family}${selector})`),
];

const share = (resource: string): string =>
  `karpenter_nodepools_usage{resource_type="${resource}"} / karpenter_nodepools_limit{resource_type="${resource}"}`;

const requested = (resource: string): string =>
  ['daemon', 'pod']
    .map(
      (of) =>
        `(karpenter_nodes_total_${of}_requests{resource_type="${resource}",${ofNodes}} or karpenter_nodes_allocatable * 0)`,
    )
    .join(' + ');

export const capacityPanels: readonly Panel[] = [
  ...counted('nodes created', 'karpenter_nodes_created_total', 'cluster, nodepool', ofPools),
  ...counted('nodes terminated', 'karpenter_nodes_terminated_total', 'cluster, nodepool', ofPools),
  ...counted('nodes disrupted', 'karpenter_nodeclaims_disrupted_total', 'cluster, nodepool', ofPools),
  ...counted('decisions', 'karpenter_voluntary_disruption_decisions_total', 'consolidation_type, decision'),
  panel('eligible nodes', 'sum by (reason) (karpenter_voluntary_disruption_eligible_nodes)'),
  ...grouped.map((label) => panel(`pods by ${label}`, `sum by (${label}) (karpenter_pods_state{${ofNodes}})`)),
  panel('pods by phase', 'sum by (phase) (karpenter_pods_state)'),
  panel('NodePools, share of CPU', share('cpu')),
  panel('NodePools, share of memory', share('memory')),
  panel('NodePools, nodes', 'count by (nodepool) (karpenter_nodes_allocatable{nodepool!="N/A",resource_type="cpu"})'),
  panel('NodePools, CPU', 'sum by (nodepool) (karpenter_nodes_allocatable{nodepool!="N/A",resource_type="cpu"})'),
  panel('NodePools, memory', 'sum by (nodepool) (karpenter_nodes_allocatable{nodepool!="N/A",resource_type="memory"})'),
  panel(
    'spot nodes',
    `(count(karpenter_nodes_allocatable{${ofNodes.replace('=~"spot"', '="spot"')}}) or vector(0)) / count(karpenter_nodes_allocatable)`,
  ),
  ...['cpu', 'memory'].map((resource) =>
    panel(
      `nodes, share of ${resource}`,
      `(${requested(resource)}) / karpenter_nodes_allocatable{resource_type="${resource}",${ofNodes}}`,
    ),
  ),
  panel('nodes, pods', requested('pods')),
];

export const performancePanels: readonly Panel[] = [
  ...['nodes_termination', 'pods_startup'].flatMap((what) =>
    quantiles.map((q) => panel(`${what}, ${q}`, `max(karpenter_${what}_duration_seconds{quantile="${q}"})`)),
  ),
  ...quantiles.map((q) =>
    panel(
      `reconciliation, ${q}`,
      `histogram_quantile(${q}, rate(controller_runtime_reconcile_time_seconds_bucket{controller="createFleet"}[10m]))`,
    ),
  ),
  panel('reconciliations', 'sum by (controller) (rate(controller_runtime_reconcile_total{job="karpenter"}[10m]))'),
];

/** What fills the choices of Grafana's variables: a series and the label that is listed. */
export const variables: readonly (readonly [expr: string, label: string])[] = [
  ...['nodepool', 'zone', 'arch', 'capacity_type', 'instance_type'].map(
    (label) => ['karpenter_nodes_allocatable', label] as const,
  ),
  ['controller_runtime_reconcile_time_seconds_count{job="karpenter"}', 'controller'],
];
