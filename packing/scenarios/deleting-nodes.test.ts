import { describe, expect, test } from '@jest/globals';
import type { Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { annotations } from '../../api/labels.js';
import { node, packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';

const deleting = (name: string) => {
  const made = node(name);
  return { ...made, metadata: { ...made.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
};
const running = (name: string, more: Partial<Pod['metadata']> = {}): Pod => {
  const made = pod(name, { nodeName: 'old', labels: { app: 'web' } });
  return { ...made, metadata: { ...made.metadata, ...more } };
};
const budget = (name: string, spec: PodDisruptionBudget['spec']): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
});
const planned = (pods: readonly Pod[], budgets: readonly PodDisruptionBudget[] = [], without?: ReadonlySet<string>) =>
  plan(
    packingInput(
      { pods, nodes: [deleting('old')], podDisruptionBudgets: budgets },
      without === undefined ? {} : { withoutNodes: without },
    ),
  ).newNodeClaims.flatMap((claim) => claim.pods);

describe('pods of nodes that are being deleted (provisioning/pods-of-deleting-nodes, provisioning/held-back-pods)', () => {
  test('get another node', () => {
    expect(planned([running('web')])).toEqual(['default/web']);
  });

  test.each([
    ['maxUnavailable 0', [budget('a', { maxUnavailable: 0 })]],
    ['maxUnavailable 0%', [budget('a', { maxUnavailable: '0%' })]],
    ['minAvailable 100%', [budget('a', { minAvailable: '100%' })]],
    ['two budgets', [budget('a', { maxUnavailable: 1 }), budget('b', { maxUnavailable: 1 })]],
  ] as const)('wait where a PodDisruptionBudget never allows their eviction: %s', (_, budgets) => {
    expect(planned([running('web')], budgets)).toEqual([]);
    expect(planned([running('web')], budgets, new Set(['old']))).toEqual(['default/web']);
  });

  test('do not wait where a PodDisruptionBudget allows some evictions, or is of another namespace', () => {
    const other = budget('a', { maxUnavailable: 0 });
    const budgets = [budget('b', { maxUnavailable: 1 }), { ...other, metadata: { name: 'a', namespace: 'other' } }];
    expect(planned([running('web')], budgets)).toEqual(['default/web']);
  });

  test('wait while they are do-not-disrupt', () => {
    expect(planned([running('web', { annotations: { [annotations.doNotDisrupt]: 'true' } })])).toEqual([]);
    expect(planned([running('web', { annotations: { [annotations.doNotDisrupt]: '1h' } })])).toEqual([]);
    expect(planned([running('web', { annotations: { [annotations.doNotDisrupt]: 'nonsense' } })])).toEqual([
      'default/web',
    ]);
    const old = running('web', { annotations: { [annotations.doNotDisrupt]: '1h' } });
    const started = { ...old, status: { startTime: '1969-12-31T22:00:00Z' } };
    expect(planned([started])).toEqual(['default/web']);
  });

  test('are planned for where a StatefulSet creates them again, and otherwise not', () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const owner = (kind: string) => [{ apiVersion: 'apps/v1', kind, name: 'db', uid: 'db', controller: true }];
    expect(planned([running('db-0', { deletionTimestamp, ownerReferences: owner('StatefulSet') })])).toEqual([
      'default/db-0',
    ]);
    expect(planned([running('web', { deletionTimestamp, ownerReferences: owner('ReplicaSet') })])).toEqual([]);
    expect(planned([running('agent', { ownerReferences: owner('DaemonSet') })])).toEqual([]);
    const mirror = { annotations: { 'kubernetes.io/config.mirror': 'abc' } };
    expect(planned([running('proxy', mirror)])).toEqual([]);
  });
});

// Rule `scheduling/moved-pods`.
describe('a pod that was resized in place', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true };
  const template = (cpu: string) => ({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'web', namespace: 'default' },
    spec: { template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }] } } },
  });
  const resized = (requests: Record<string, string>, generation: number, of: object = owner): Pod => {
    const made = running('web', { generation, ownerReferences: [{ ...owner, ...of }] });
    return { ...made, spec: { ...made.spec, containers: [{ name: 'main', resources: { requests } }] } };
  };
  const typeFor = (web: Pod, cpu: string): string | undefined =>
    plan(packingInput({ pods: [web], nodes: [deleting('old')], replicaSets: [template(cpu)] })).newNodeClaims[0]
      ?.cheapest.instanceType;

  test.each([
    ['smaller than its template counts as that', resized({ cpu: '500m' }, 2), '3', '3'],
    ['larger than its template counts as it is', resized({ cpu: '3' }, 2), '500m', '3'],
    ['of another owner counts as it is', resized({ cpu: '500m' }, 2, { name: 'constructor' }), '3', '500m'],
    [
      'of an earlier version of the kind counts as the template',
      resized({ cpu: '500m' }, 2, { apiVersion: 'apps/v1beta2' }),
      '3',
      '3',
    ],
    ['of a kind of another group counts as it is', resized({ cpu: '500m' }, 2, { apiVersion: 'x/v1' }), '3', '500m'],
    ['and was made smaller by admission alone counts as it is', resized({ cpu: '500m' }, 1), '3', '500m'],
  ])('%s where it moves', (_, web, cpu, expected) => {
    const fresh = {
      ...pod('fresh'),
      spec: { containers: [{ name: 'main', resources: { requests: { cpu: expected } } }] },
    };
    expect(typeFor(web, cpu)).toBe(plan(packingInput({ pods: [fresh] })).newNodeClaims[0]?.cheapest.instanceType);
  });

  test('keeps its actual requests where it stays', () => {
    const stays = {
      ...node('old'),
      status: { ...node('old').status, allocatable: { cpu: '4', memory: '8Gi', pods: '10' } },
    };
    const { existingNodes } = plan(
      packingInput({
        pods: [resized({ cpu: '500m' }, 2), pod('next', { requests: { cpu: '3' } })],
        nodes: [stays],
        replicaSets: [template('3')],
      }),
    );
    expect(existingNodes.map(({ pods }) => pods)).toEqual([['default/next']]);
  });
});

describe('existing nodes that take no pods', () => {
  test('a cordoned node gets none, even before its taint is there', () => {
    const free = node('free');
    const cordoned = { ...free, spec: { ...free.spec, unschedulable: true } };
    expect(plan(packingInput({ pods: [pod('web')], nodes: [cordoned] })).existingNodes).toEqual([]);
    expect(plan(packingInput({ pods: [pod('web')], nodes: [free] })).existingNodes).toHaveLength(1);
  });
});

describe('host ports of sidecars', () => {
  test('count as those of other containers', () => {
    const port = [{ containerPort: 80, hostPort: 8080 }];
    const sidecar = { name: 'proxy', image: 'proxy', restartPolicy: 'Always', ports: port };
    const pods = [
      pod('one', { initContainers: [sidecar] }),
      pod('two', { containers: [{ name: 'main', image: 'main', ports: port }] }),
    ];
    expect(plan(packingInput({ pods })).newNodeClaims).toHaveLength(2);
    const once = pod('one', { initContainers: [{ name: 'start', image: 'start', ports: port }] });
    expect(plan(packingInput({ pods: [once, pods[1]!] })).newNodeClaims).toHaveLength(1);
  });

  test('distinguish otherwise equal pods', () => {
    const proxied = (name: string, hostPort: number) =>
      pod(name, { initContainers: [{ name: 'proxy', restartPolicy: 'Always', ports: [{ hostPort }] }] });
    const pods = [proxied('one', 8080), proxied('two', 9090), proxied('three', 9090)];
    expect(plan(packingInput({ pods })).newNodeClaims).toHaveLength(2);
  });
});

describe('pods that are held back on a deleting node count where they run (topology/held-back-pods)', () => {
  const zone = 'topology.kubernetes.io/zone';
  const term = { topologyKey: zone, labelSelector: { matchLabels: { app: 'web' } } };
  const protectedPod = running('web', { annotations: { [annotations.doNotDisrupt]: 'true' } });
  const placed = (waiting: Pod, held = protectedPod, budgets: readonly PodDisruptionBudget[] = []) => {
    const made = plan(packingInput({ pods: [held, waiting], nodes: [deleting('old')], podDisruptionBudgets: budgets }));
    return made.newNodeClaims.map(({ cheapest, pods }) => `${pods.join()} in ${cheapest.zone}`);
  };
  const near = pod('near', {
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  });
  const apart = (more: Parameters<typeof pod>[1] = {}) =>
    pod('apart', {
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
      ...more,
    });

  test('for affinity', () => {
    expect(placed(near)).toEqual(['default/near in zone-a']);
  });

  test('for affinity, behind a PodDisruptionBudget that never allows an eviction', () => {
    expect(placed(near, running('web'), [budget('a', { maxUnavailable: 0 })])).toEqual(['default/near in zone-a']);
    const status = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
    const whole = { ...budget('a', { minAvailable: 1 }), status };
    expect(placed(near, running('web'), [whole])).toEqual(['default/near in zone-a']);
  });

  test('for anti-affinity, in both directions', () => {
    expect(placed(apart())).toEqual(['default/apart in zone-b']);
    expect(placed(apart({ nodeSelector: { [zone]: 'zone-a' } }))).toEqual([]);
    const shunning = apart();
    const held = { ...protectedPod, spec: { ...protectedPod.spec, affinity: shunning.spec.affinity! } };
    expect(placed(pod('other', { labels: { app: 'web' } }), held)).toEqual(['default/other in zone-b']);
  });

  test('for spread', () => {
    const constraint = {
      maxSkew: 1,
      topologyKey: zone,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: term.labelSelector,
    } as const;
    const spread = pod('spread', { labels: { app: 'web' }, topologySpreadConstraints: [constraint] });
    expect(placed(spread)).toEqual(['default/spread in zone-b']);
  });

  test('but a pod that moves counts where it goes', () => {
    const { newNodeClaims } = plan(
      packingInput({
        pods: [running('web'), apart({ nodeSelector: { [zone]: 'zone-a' } })],
        nodes: [deleting('old')],
      }),
    );
    expect(newNodeClaims.flatMap(({ pods }) => pods).sort()).toEqual(['default/apart', 'default/web']);
  });

  test('but an unready pod under AlwaysAllow and a terminating pod of a StatefulSet are not held back', () => {
    const free = budget('a', { maxUnavailable: 0, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
    expect(planned([running('web')], [free])).toEqual(['default/web']);
    const ready: Pod = { ...running('web'), status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    expect(planned([ready], [free])).toEqual([]);
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'db', controller: true }];
    const ending = running('db-0', {
      deletionTimestamp: '2026-01-01T00:00:00Z',
      ownerReferences,
      annotations: { [annotations.doNotDisrupt]: 'true' },
    });
    expect(planned([ending], [budget('a', { maxUnavailable: 0 })])).toEqual(['default/db-0']);
  });
});
