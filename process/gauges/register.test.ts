import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { labels } from '../../api/labels.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { registerGauges } from './register.js';

const initialized = ['Launched', 'Registered', 'Initialized'].map((type) => ({
  type,
  status: 'True' as const,
  lastTransitionTime: '2026-01-05T11:59:00Z',
}));

describe('gauges of the cluster (metrics/of-the-cluster)', () => {
  let world: ActivityWorld;
  beforeEach(async () => {
    world = await createActivityWorld();
    const providerID = 'fake:///a/i-1';
    const own = {
      [labels.nodePool]: 'default',
      [labels.zone]: 'a',
      [labels.instanceType]: 'm5.xlarge',
      [labels.capacityType]: 'spot',
      [labels.arch]: 'amd64',
      [labels.os]: 'linux',
    };
    world.kube.put('NodePool', nodePool('default', { limits: { cpu: '10' } }));
    const claim = nodeClaim('c1', { status: { providerID, conditions: initialized } });
    world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, labels: own } });
    world.kube.put('Node', {
      metadata: { name: 'n1', labels: own },
      spec: { providerID },
      status: {
        capacity: { cpu: '4' },
        allocatable: { cpu: '3900m' },
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
    world.kube.put('EC2NodeClass', nodeClass('default'));
    const pod = (name: string, owner: string, cpu: string): void =>
      void world.kube.put('Pod', {
        metadata: {
          name,
          namespace: 'default',
          ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: 'o', uid: 'o' }],
        },
        spec: { nodeName: 'n1', containers: [{ name: 'app', resources: { requests: { cpu }, limits: { cpu: '2' } } }] },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      });
    const waiting = (name: string, reason: string): void =>
      void world.kube.put('Pod', {
        metadata: { name, namespace: 'default', creationTimestamp: '2026-01-05T11:59:20Z' },
        spec: { containers: [{ name: 'app' }] },
        status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason }] },
      });
    pod('web', 'ReplicaSet', '1500m');
    pod('agent', 'DaemonSet', '250m');
    waiting('late', 'Unschedulable');
    await world.synced();
  });
  afterEach(() => world.stop());

  const scrape = async (objects: boolean): Promise<string[]> => {
    const registry = new Registry();
    registerGauges(registry, world.deps, { objects });
    return (await registry.metrics()).split('\n').filter((line) => /^(karpenter|operator)_/.test(line));
  };
  const node =
    'node_name="n1",nodepool="default",instance_type="m5.xlarge",zone="a",arch="amd64",os="linux",capacity_type="spot",phase="",managed="true"';

  test('have the resources of nodes, their overhead and requests', async () => {
    const lines = await scrape(true);

    expect(lines).toEqual(
      expect.arrayContaining([
        `karpenter_nodes_allocatable{${node},resource_type="cpu"} 3.9`,
        `karpenter_nodes_system_overhead{${node},resource_type="cpu"} 0.1`,
        `karpenter_nodes_total_pod_requests{${node},resource_type="cpu"} 1.75`,
        `karpenter_nodes_total_pod_limits{${node},resource_type="cpu"} 4`,
        `karpenter_nodes_total_daemon_limits{${node},resource_type="cpu"} 2`,
        `karpenter_nodes_total_daemon_requests{${node},resource_type="cpu"} 0.25`,
        'karpenter_pods_state{name="web",namespace="default",owner="ReplicaSet/o",node="n1",scheduled="true",' +
          'nodepool="default",zone="a",arch="amd64",capacity_type="spot",instance_type="m5.xlarge",managed="true",' +
          'phase="Running",ready="true"} 1',
        'karpenter_pods_unbound_time_seconds{name="late",namespace="default"} 40',
        'karpenter_pods_unstarted_time_seconds{name="late",namespace="default"} 40',
        'operator_nodeclaim_status_condition_count{namespace="",name="c1",type="Launched",status="True",reason=""} 1',
        'operator_nodeclaim_status_condition_current_status_seconds{namespace="",name="c1",type="Launched",status="True",reason=""} 60',
      ]),
    );
  });

  test('have limits and allowed disruptions of NodePools, and leave out object series where so set', async () => {
    const lines = await scrape(false);

    expect(lines).toEqual(
      expect.arrayContaining([
        'karpenter_nodepools_limit{nodepool="default",resource_type="cpu"} 10',
        'karpenter_nodepools_allowed_disruptions{nodepool="default",reason="Empty"} 1',
        'karpenter_cluster_state_node_count 1',
        'karpenter_cluster_state_synced 1',
        'karpenter_cluster_state_unsynced_time_seconds 0',
        'karpenter_nodepools_nodes_consuming_budgets{nodepool="default",reason="Drifted"} 0',
        'karpenter_nodepools_cost_total{nodepool="default"} 0.06',
        'karpenter_scheduler_queue_depth{controller="provisioner",scheduling_id=""} 1',
        'karpenter_cloudprovider_instance_type_cpu_cores{instance_type="m5.xlarge"} 4',
        `karpenter_cloudprovider_instance_type_memory_bytes{instance_type="m5.xlarge"} ${16 * 2 ** 30}`,
        'karpenter_cloudprovider_instance_type_offering_available{instance_type="m5.xlarge",capacity_type="spot",zone="a"} 1',
        'karpenter_cloudprovider_instance_type_offering_price_estimate{instance_type="m5.xlarge",capacity_type="on-demand",zone="a"} 0.2',
      ]),
    );
    const utilization = lines.find((line) => line.startsWith('karpenter_cluster_utilization_percent'));
    expect(Number(utilization?.split(' ')[1])).toBeCloseTo((100 * 1.75) / 3.9);
    expect(lines.some((line) => /"(n1|c1|late|web)"/.test(line))).toBe(false);
  });

  test('have no reserved capacity where there is no reservation (metrics/offerings)', async () => {
    const offerings = (await scrape(false)).filter((line) => line.includes('_instance_type_offering_'));
    const types = offerings.map((line) => /capacity_type="([^"]*)"/.exec(line)?.[1]);
    expect([...new Set(types)].sort()).toEqual(['on-demand', 'spot']);
  });

  // Rule `budgets/not-ready-nodes-count`.
  test('count a NotReady node against budgets, and a consolidatable one without blocking PodDisruptionBudget as eligible', async () => {
    const eligible = async (): Promise<string[]> =>
      (await scrape(false)).filter((line) => line.startsWith('karpenter_voluntary_disruption_eligible_nodes'));
    const reason = (name: string): string => `karpenter_voluntary_disruption_eligible_nodes{reason="${name}"}`;
    expect(await eligible()).toEqual([
      `${reason('drifted')} 0`,
      `${reason('empty')} 0`,
      `${reason('underutilized')} 1`,
    ]);
    world.kube.put('Node', {
      metadata: { name: 'n1', labels: {} },
      spec: { providerID: 'fake:///a/i-1' },
      status: { conditions: [{ type: 'Ready', status: 'False' }] },
    });
    await world.synced();

    expect(await scrape(false)).toContain(
      'karpenter_nodepools_nodes_consuming_budgets{nodepool="default",reason="Empty"} 1',
    );
  });

  test("with a failing cloud leave only the cloud's families empty", async () => {
    world.cloud.instanceTypes = () => Promise.reject(new Error('away'));
    const lines = await scrape(false);

    expect(lines.some((line) => line.startsWith('karpenter_cloudprovider_instance_type'))).toBe(false);
    expect(lines).toContain('karpenter_nodepools_allowed_disruptions{nodepool="default",reason="Empty"} 1');
  });

  // Rule `instance-types/built-in-prices`.
  test('have the source and age of on-demand prices', async () => {
    const registry = new Registry();
    const cloud = Object.assign(Object.create(world.deps.cloud) as typeof world.deps.cloud, {
      priceList: { source: 'estimate', at: 1_784_555_070_000 },
    });
    registerGauges(registry, { ...world.deps, cloud }, { objects: false });
    expect(await registry.metrics()).toContain(
      'stowage_cloud_on_demand_prices_timestamp_seconds{source="estimate"} 1784555070',
    );
  });
});
