import { describe, expect, test } from '@jest/globals';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DaemonSet, NodeSelectorOperator, NodeSelectorTerm, Pod } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import {
  instanceType,
  node,
  offering,
  packingInput,
  pod,
  podsOf,
  pool,
  sizes,
} from '../../test/builders/packing-fixtures.js';
import { podShape } from '../../core/refusals.js';
import { plan } from '../plan.js';
import type { ClusterObjects, Plan } from '../types.js';

const placed = (result: Plan): number =>
  [...result.newNodeClaims, ...result.existingNodes].reduce((sum, { pods }) => sum + pods.length, 0);
const typesOf = (result: Plan): string[] => result.newNodeClaims.map(({ cheapest }) => cheapest.instanceType);
const reasons = (result: Plan): string[] => [...new Set(result.unschedulable.map(({ reason }) => reason))];

function daemonSet(
  name: string,
  requests: Record<string, string>,
  spec: Partial<DaemonSet['spec']['template']['spec']> = {},
) {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'kube-system' },
    spec: {
      selector: { matchLabels: { name } },
      template: { spec: { containers: [{ name: 'main', resources: { requests } }], ...spec } },
    },
  } satisfies DaemonSet;
}

describe('labels and requirements of pods', () => {
  const team = { key: 'example.com/team', operator: 'In' as const, values: ['red', 'blue'] };
  const asking = (key: string, operator: NodeSelectorOperator, ...values: string[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key, operator, ...(values.length === 0 ? {} : { values }) }] }],
        },
      },
    },
  });

  test('an undefined custom label refuses In and allows NotIn (requirements/missing-keys)', () => {
    const pods = [
      pod('in', asking('example.com/team', 'In', 'red')),
      pod('not-in', asking('example.com/team', 'NotIn', 'red')),
    ];
    const result = plan(packingInput({ pods }));
    expect(result.newNodeClaims.flatMap(({ pods: names }) => names)).toEqual(['default/not-in']);
    expect(result.unschedulable[0]!.blockers).toEqual([
      {
        nodePool: 'default',
        reason: 'Requirements',
        subject: 'example.com/team',
        message: 'label example.com/team is not known here; the pod asks for example.com/team In [red]',
      },
    ]);
  });

  // Rules `requirements/restricted-keys`, `node-claims/defined-keys`.
  test.each<[key: string, operator: NodeSelectorOperator, values: string[], isLaunched: boolean]>([
    [labels.hostname, 'NotIn', ['bad-node'], true],
    [labels.hostname, 'Exists', [], true],
    [labels.hostname, 'In', ['bad-node'], false],
    [labels.hostname, 'DoesNotExist', [], false],
    [labels.hostname, 'Gt', ['1'], false],
    [labels.initialized, 'NotIn', ['false'], true],
    [labels.initialized, 'NotIn', ['true'], false],
    [labels.registered, 'In', ['true'], true],
    [labels.registered, 'DoesNotExist', [], false],
    ['karpenter.sh/provisioner-name', 'DoesNotExist', [], true],
    ['karpenter.sh/provisioner-name', 'Exists', [], false],
    ['karpenter.k8s.aws/colour', 'NotIn', ['red'], true],
    ['karpenter.k8s.aws/colour', 'In', ['red'], false],
    ['node-role.kubernetes.io/control-plane', 'NotIn', ['true'], true],
    ['node-role.kubernetes.io/control-plane', 'Exists', [], false],
    [labels.excludeFromLoadBalancers, 'NotIn', ['true'], true],
    ['undefined.example.com/x', 'NotIn', ['a'], true],
    ['undefined.example.com/x', 'Lt', ['5'], false],
  ])('%s %s %j: a node is launched: %s; kube-scheduler then agrees', (key, operator, values, isLaunched) => {
    const result = plan(packingInput({ pods: [pod('p', asking(key, operator, ...values)), pod('ordinary')] }));
    const planned = result.newNodeClaims.flatMap(({ pods }) => pods);
    expect(planned).toEqual(['default/ordinary', ...(isLaunched ? ['default/p'] : [])]);
    for (const claim of result.newNodeClaims) {
      expect([...claim.requirements.map((each) => each.key), ...Object.keys(claim.labels)]).not.toContain(key);
    }
    expect(result.unschedulable.map(({ blockers }) => blockers[0]!.subject)).toEqual(isLaunched ? [] : [key]);
  });

  test.each<[asked: ReturnType<typeof asking>, node: string | undefined]>([
    [asking(labels.hostname, 'NotIn', 'n1'), 'n2'],
    [asking(labels.hostname, 'In', 'n2'), 'n2'],
    [asking(labels.hostname, 'DoesNotExist'), undefined],
    [asking('karpenter.sh/provisioner-name', 'In', 'old'), 'n1'],
    [asking(labels.initialized, 'In', 'true'), 'n1'],
  ])('%j: existing nodes are judged by their own labels (requirements/restricted-keys)', (asked, expected) => {
    const n1 = node('n1', { initialized: false, labels: { 'karpenter.sh/provisioner-name': 'old' } });
    const nodes = [n1, node('n2', { initialized: false })];
    const { existingNodes, newNodeClaims } = plan(packingInput({ pods: [pod('p', asked)], nodes }));
    expect(existingNodes.find(({ pods }) => pods.length > 0)?.node).toBe(expected);
    expect(newNodeClaims).toEqual([]);
  });

  test.each<[why: string, key: string, operator: NodeSelectorOperator, asked: string]>([
    ['of another node', labels.hostname, 'In', 'the pod asks for an existing node: kubernetes.io/hostname In [x]'],
    [
      'that no NodePool may define',
      'karpenter.sh/foo',
      'In',
      'label karpenter.sh/foo is reserved, and no NodePool may define it; the pod asks for karpenter.sh/foo In [x]',
    ],
  ])('a label %s is reported as such', (_, key, operator, message) => {
    const [left] = plan(packingInput({ pods: [pod('p', asking(key, operator, 'x'))] })).unschedulable;
    expect(left?.blockers[0]?.message).toBe(message);
  });

  // Rule `labels/protected-domains`.
  test('labels of Kubernetes that a NodePool leaves open cannot be chosen by pods', () => {
    const key = 'node-restriction.kubernetes.io/tenant';
    const open = pool('default', { requirements: [{ key, operator: 'Exists' }] });
    const listed = pool('default', { requirements: [{ key, operator: 'In', values: ['a', 'b'] }] });
    const absent = pool('default', { requirements: [{ key, operator: 'NotIn', values: ['a'] }] });
    const labelsWith = (nodePool: NodePool, ...values: string[]) =>
      plan(
        packingInput({
          pods: [pod('p', values.length === 0 ? {} : asking(key, 'In', ...values))],
          nodePools: [nodePool],
        }),
      ).newNodeClaims.map(({ labels: own }) => own[key]);
    expect(labelsWith(open, 'secret')).toEqual([]);
    expect(labelsWith(open)).toEqual(['0']);
    expect(labelsWith(listed, 'b', 'c')).toEqual(['b']);
    expect(labelsWith(absent, 'b')).toEqual([]);
    expect(labelsWith(absent)).toEqual([undefined]);
  });

  test('Exists on a custom label gives the node a value (requirements/made-up-values)', () => {
    const nodePools = [pool('default', { requirements: [{ key: 'example.com/team', operator: 'Exists' }] })];
    const result = plan(packingInput({ pods: [pod('a')], nodePools }));
    expect(result.newNodeClaims[0]!.labels['example.com/team']).toMatch(/^\d+$/);
  });

  test('pods that ask for different values of a custom label get different nodes, each labelled', () => {
    const nodePools = [pool('default', { requirements: [team] })];
    const pods = ['red', 'blue'].map((value) => pod(value, { nodeSelector: { 'example.com/team': value } }));
    const result = plan(packingInput({ pods, nodePools }));
    expect(result.newNodeClaims.map(({ labels: own }) => own)).toEqual([
      { 'example.com/team': 'blue' },
      { 'example.com/team': 'red' },
    ]);
  });

  test('a misspelt well-known label gets a hint (requirements/typo-hint)', () => {
    const result = plan(
      packingInput({ pods: [pod('a', { nodeSelector: { 'topology.kubernetes.io/zon': 'zone-a' } })] }),
    );
    expect(reasons(result)[0]).toContain('did you mean topology.kubernetes.io/zone?');
  });

  const withTerms = (...nodeSelectorTerms: NodeSelectorTerm[]) => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  });
  const inZoneC = { matchExpressions: [{ key: labels.zone, operator: 'In' as const, values: ['zone-c'] }] };

  test('an empty term matches no node, as with kube-scheduler', () => {
    const result = plan(packingInput({ pods: [pod('none', withTerms({}, { matchExpressions: [] }))] }));
    expect(result.unschedulable[0]!.reason).toMatch(
      /nodeSelectorTerms\[0\]: a term without expressions matches no node$/,
    );
    const [claim] = plan(packingInput({ pods: [pod('some', withTerms({}, inZoneC))] })).newNodeClaims;
    expect(claim!.cheapest.zone).toBe('zone-c');
  });

  test('a pod that requires a node of no NodePool is ignored, unless another term does not (provisioning/pods-of-no-node-pool)', () => {
    const elsewhere = { matchExpressions: [{ key: labels.nodePool, operator: 'DoesNotExist' as const }] };
    const alone = plan(packingInput({ pods: [pod('p', withTerms(elsewhere))] }));
    expect([alone.newNodeClaims, alone.unschedulable, alone.ignored]).toEqual([[], [], ['default/p']]);
    const [claim] = plan(packingInput({ pods: [pod('p', withTerms(elsewhere, inZoneC))] })).newNodeClaims;
    expect(claim!.cheapest.zone).toBe('zone-c');
  });

  test('Exists and NotIn on one key both apply', () => {
    const terms = [
      {
        matchExpressions: [
          { key: 'example.com/team', operator: 'Exists' as const },
          { key: 'example.com/team', operator: 'NotIn' as const, values: ['red'] },
        ],
      },
    ];
    const spec = {
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
    };
    const nodePools = [pool('default', { requirements: [team] })];
    expect(plan(packingInput({ pods: [pod('a', spec)], nodePools })).newNodeClaims[0]!.labels).toEqual({
      'example.com/team': 'blue',
    });
    expect(placed(plan(packingInput({ pods: [pod('a', spec)] })))).toBe(0);
  });
});

describe('pods on existing nodes', () => {
  test('the initialized node is used before an uninitialized one (scheduling/existing-nodes-first)', () => {
    const nodes = [node('a', { initialized: false }), node('b')];
    expect(plan(packingInput({ pods: [pod('p')], nodes })).existingNodes).toEqual([{ node: 'b', pods: ['default/p'] }]);
  });

  test('the largest pods are placed first (scheduling/largest-first)', () => {
    const pods = [pod('small', { cpu: '1' }), pod('medium', { cpu: '2' }), pod('large', { cpu: '3' })];
    const result = plan(packingInput({ pods, nodes: [node('n', { cpu: '4' })] }));
    expect(result.existingNodes).toEqual([{ node: 'n', pods: ['default/large', 'default/small'] }]);
  });

  // Rule `scheduling/free-room`.
  test('running pods, missing DaemonSet pods and taints count', () => {
    const running = pod('r', { cpu: '1', nodeName: 'n' });
    const objects: Partial<ClusterObjects> = {
      pods: [running, ...podsOf(3, 'p')],
      nodes: [node('n', { cpu: '4' }), node('tainted', { taints: [{ key: 'k', effect: 'NoSchedule' }] })],
      daemonSets: [daemonSet('d', { cpu: '1' })],
    };
    expect(plan(packingInput(objects)).existingNodes).toEqual([{ node: 'n', pods: ['default/p-0', 'default/p-1'] }]);
  });

  test('startup taints of an uninitialized node are ignored, those of an initialized one are not (scheduling/starting-nodes)', () => {
    const taint = { key: 'startup', effect: 'NoSchedule' as const };
    const claim = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: 'claim' },
      spec: {
        startupTaints: [taint],
        requirements: [],
        nodeClassRef: { group: 'g', kind: 'k', name: 'n' },
        expireAfter: 'Never',
      },
      status: { nodeName: 'n', providerID: 'test:///n', allocatable: { cpu: '4', memory: '16Gi', pods: '110' } },
    };
    const run = (initialized: boolean): Plan =>
      plan(
        packingInput({ pods: [pod('p')], nodes: [node('n', { initialized, taints: [taint] })], nodeClaims: [claim] }),
      );
    expect(run(false).existingNodes).toHaveLength(1);
    expect(run(true).existingNodes).toHaveLength(0);
    expect(run(true).newNodeClaims).toHaveLength(1);
  });

  test('a claim without a node takes pods by its allocatable', () => {
    const claim = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: 'claim', labels: { [labels.nodePool]: 'default', [labels.zone]: 'zone-a' } },
      spec: { requirements: [], nodeClassRef: { group: 'g', kind: 'k', name: 'n' }, expireAfter: 'Never' },
      status: { providerID: 'test:///x', allocatable: { cpu: '2', memory: '8Gi', pods: '110' } },
    };
    const result = plan(packingInput({ pods: podsOf(3, 'p'), nodeClaims: [claim] }));
    expect(result.existingNodes).toEqual([{ node: 'claim', pods: ['default/p-0', 'default/p-1'] }]);
    expect(typesOf(result)).toEqual(['m1']);
  });

  test('pods of nodes that are assumed to be removed need another node', () => {
    const pods = [pod('p', { nodeName: 'n' }), { ...pod('d', { nodeName: 'n' }) }];
    pods[1]!.metadata.ownerReferences = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' }];
    const result = plan(packingInput({ pods, nodes: [node('n')] }, { withoutNodes: new Set(['n']) }));
    expect(result.newNodeClaims.map(({ pods: names }) => names)).toEqual([['default/p']]);
  });
});

describe('NodePools', () => {
  test('the heavier pool is used first, the lighter one for what it cannot hold (scheduling/heaviest-pool-first)', () => {
    const nodePools = [pool('light', { weight: 10 }), pool('heavy', { weight: 20 })];
    const claimsWhere = (price: number) => {
      const catalogues = new Map([
        ['light', sizes],
        ['heavy', [instanceType('only', { cpu: 4, price })]],
      ]);
      const pods = [pod('small'), pod('large', { cpu: '8' })];
      const result = plan(packingInput({ pods, nodePools }, { catalogues }));
      return result.newNodeClaims.map(({ nodePool, pods: names }) => [nodePool, names]);
    };
    expect(claimsWhere(0.01)).toEqual([
      ['light', ['default/large']],
      ['heavy', ['default/small']],
    ]);
    // As under Karpenter, pods may join a node that is launched anyway; here that costs less.
    expect(claimsWhere(9)).toEqual([['light', ['default/large', 'default/small']]]);
  });

  test('a NodePool whose claims get no nodes backs off, and other pools take its pods (node-pools/failing-pools-rest)', () => {
    const failing = pool('failing', { weight: 20, labels: { 'example.com/own': 'yes' } });
    const outcomes = [{ claimUid: 'c', registered: false, at: 0, message: 'Unauthorized' }];
    failing.metadata.annotations = { [annotations.registrations]: JSON.stringify({ of: '0/1', outcomes }) };
    const nodePools = [failing, pool('light')];
    const catalogues = new Map(nodePools.map(({ metadata }) => [metadata.name!, sizes]));
    const pods = [pod('any'), pod('picky', { nodeSelector: { 'example.com/own': 'yes' } })];
    const at = (now: number) => plan({ ...packingInput({ pods, nodePools }, { catalogues }), now });
    const claims = (now: number) => at(now).newNodeClaims.map(({ nodePool, pods: names }) => [nodePool, names]);
    expect(claims(30_000)).toEqual([['light', ['default/any']]]);
    expect(reasons(at(30_000))[0]).toContain(
      'failing backs off until 1970-01-01T00:01:00Z, because its last node was not launched: Unauthorized',
    );
    expect(claims(60_000)).toEqual([['failing', ['default/any', 'default/picky']]]);
  });

  test('pods ride on nodes that others need in a lighter pool, in a plan of any size (scheduling/heaviest-pool-first)', () => {
    const nodePools = [pool('light', { weight: 10 }), pool('heavy', { weight: 20 })];
    const catalogues = new Map([
      ['light', [instanceType('l16', { cpu: 16, price: 1 }), instanceType('l64', { cpu: 64, price: 3 })]],
      ['heavy', [instanceType('h4', { cpu: 4, price: 1 })]],
    ]);
    const pods = [...podsOf(440, 'small'), ...podsOf(9, 'large', { cpu: '8' })];
    const result = plan(packingInput({ pods, nodePools }, { catalogues }));
    const light = result.newNodeClaims.filter(({ nodePool }) => nodePool === 'light');
    expect(light.every(({ pods: names }) => names.some((name) => name.startsWith('default/large')))).toBe(true);
    // Alone the small ones need 110 nodes of the heavy pool or more, for a dollar each.
    expect(result.pricePerHour).toBeLessThan(40);
    expect(result.unschedulable).toEqual([]);
  });

  test('a NodePool that is not Ready or is being deleted is skipped and says so (node-pools/considered)', () => {
    const unready = pool('unready', { weight: 90 });
    unready.status = {
      conditions: [{ type: 'Ready', status: 'False', message: 'no subnet' }],
    };
    const classless = pool('classless', { weight: 70 });
    const why = { type: 'NodeClassReady', status: 'False' as const, message: 'EC2NodeClass default is being deleted' };
    classless.status = { conditions: [why, { type: 'Ready', status: 'False', message: 'NodeClassReady=False' }] };
    const deleting = pool('deleting', { weight: 80 });
    deleting.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(
      plan(packingInput({ pods: [pod('p')], nodePools: [unready, deleting, pool()] })).newNodeClaims[0]!.nodePool,
    ).toBe('default');
    const result = plan(packingInput({ pods: [pod('p')], nodePools: [unready, deleting, classless] }));
    expect(result.unschedulable[0]!.blockers).toEqual([
      {
        nodePool: 'classless',
        reason: 'NotReady',
        message: 'NodePool classless is not ready: EC2NodeClass default is being deleted',
      },
      { nodePool: 'deleting', reason: 'NotReady', message: 'NodePool deleting is being deleted' },
      { nodePool: 'unready', reason: 'NotReady', message: 'NodePool unready is not ready: no subnet' },
    ]);
  });

  test('types above the remaining limits are excluded; with limits.nodes used up none is launched (limits/remaining, limits/nodes)', () => {
    const run = (limits: Record<string, string>): Plan =>
      plan(packingInput({ pods: podsOf(8, 'p'), nodePools: [pool('default', { limits })] }));
    const small = run({ cpu: '4' });
    expect(placed(small)).toBe(4);
    expect(small.newNodeClaims.flatMap(({ instanceTypes }) => instanceTypes)).not.toContain('m8');
    expect(run({ nodes: '0' }).newNodeClaims).toEqual([]);
    expect(run({ nodes: '0' }).unschedulable[0]!.blockers[0]!.reason).toBe('Limits');
    expect(run({ nodes: '1' }).newNodeClaims).toHaveLength(1);
  });

  test('a NodePool at its limit leaves the other pods to the next one', () => {
    const nodePools = [pool('heavy', { weight: 20, limits: { cpu: '2' } }), pool('light')];
    const result = plan(packingInput({ pods: podsOf(6, 'p'), nodePools }));
    expect(placed(result)).toBe(6);
    const cores = (name: string): number =>
      result.newNodeClaims.filter(({ nodePool }) => nodePool === name).reduce((sum, { pods }) => sum + pods.length, 0);
    expect([cores('heavy'), cores('light')]).toEqual([2, 4]);
  });

  // Rule `limits/largest-type-counts`.
  test('no type listed beside the cheapest can exceed a limit', () => {
    const result = plan(packingInput({ pods: podsOf(4, 'p'), nodePools: [pool('default', { limits: { cpu: '6' } })] }));
    const worst = result.newNodeClaims.reduce(
      (sum, { instanceTypes }) => sum + Math.max(...instanceTypes.map((name) => Number(name.slice(1)))),
      0,
    );
    expect(worst).toBeLessThanOrEqual(6);
  });

  test('a NodePool with a PreferNoSchedule taint is used only when no other fits (scheduling/prefer-no-schedule)', () => {
    const tainted = pool('tainted', { weight: 50, taints: [{ key: 'k', effect: 'PreferNoSchedule' }] });
    expect(plan(packingInput({ pods: [pod('p')], nodePools: [tainted, pool()] })).newNodeClaims[0]!.nodePool).toBe(
      'default',
    );
    expect(plan(packingInput({ pods: [pod('p')], nodePools: [tainted] })).newNodeClaims[0]!.nodePool).toBe('tainted');
  });

  test('a taint that the pod does not tolerate is named', () => {
    const nodePools = [pool('default', { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] })];
    expect(reasons(plan(packingInput({ pods: [pod('p')], nodePools })))).toEqual([
      'default: the pod does not tolerate the taint gpu=yes:NoSchedule',
    ]);
    const tolerant = pod('p', { tolerations: [{ key: 'gpu', operator: 'Exists' }] });
    expect(placed(plan(packingInput({ pods: [tolerant], nodePools })))).toBe(1);
  });
});

describe('minValues', () => {
  const families = ['a', 'b', 'c', 'd'].map((family) =>
    instanceType(`${family}.large`, { cpu: 4, labels: { 'example.com/family': family } }),
  );
  const wanting = (minValues: number) =>
    pool('default', { requirements: [{ key: 'example.com/family', operator: 'Exists', minValues }] });

  // Rule `node-claims/min-values-within-values`.
  test('a claim whose zone the pods decide has no larger minValues for zones, which the API server would refuse', () => {
    const zones = ['zone-a', 'zone-b', 'zone-c'];
    const nodePools = [
      pool('default', { requirements: [{ key: labels.zone, operator: 'In', values: zones, minValues: 2 }] }),
    ];
    const spread = {
      maxSkew: 1,
      topologyKey: labels.zone,
      whenUnsatisfiable: 'DoNotSchedule' as const,
      labelSelector: { matchLabels: { app: 'x' } },
    };
    const zoned = podsOf(3, 'zoned', { labels: { app: 'x' }, topologySpreadConstraints: [spread] });
    const types = [instanceType('one', { cpu: 4, zones })];
    const zoneOf = (pods: readonly Pod[]) =>
      plan(packingInput({ pods, nodePools }, { types })).newNodeClaims.map(({ requirements }) =>
        requirements.find(({ key }) => key === labels.zone),
      );
    const found = zoneOf(zoned);
    expect(found.map((each) => each!.values![0]).sort()).toEqual(zones);
    expect(found.map((each) => each!.minValues)).toEqual([1, 1, 1]);
    expect(zoneOf([pod('anywhere')])).toEqual([expect.objectContaining({ values: zones, minValues: 2 })]);
  });

  test('four families of five are refused under Strict, and launch with an annotation under BestEffort (min-values/strict-and-best-effort)', () => {
    const objects = { pods: [pod('p')], nodePools: [wanting(5)] };
    const strict = plan(packingInput(objects, { types: families }));
    expect(strict.newNodeClaims).toEqual([]);
    const relaxed = plan(packingInput(objects, { types: families, settings: { minValuesPolicy: 'BestEffort' } }));
    expect(relaxed.newNodeClaims[0]!.annotations).toEqual({ [annotations.minValuesRelaxed]: 'true' });
    const written = relaxed.newNodeClaims[0]!.requirements.find(({ key }) => key === 'example.com/family');
    expect(written?.minValues).toBe(4);
  });

  test('under BestEffort minValues are lowered only where too few types hold a pod (min-values/strict-and-best-effort)', () => {
    const uneven = [...families, instanceType('e.large', { cpu: 16, labels: { 'example.com/family': 'e' } })];
    const nodePools = [wanting(4)];
    const [big, small] = [[pod('big', { cpu: '16' })], podsOf(8, 'small', { cpu: '2' })];
    expect(reasons(plan(packingInput({ pods: big, nodePools }, { types: uneven })))[0]).toContain(
      'minValues asks for 4',
    );
    const settings = { minValuesPolicy: 'BestEffort' } as const;
    const marksFor = (pods: ClusterObjects['pods']) => {
      const result = plan(packingInput({ pods, nodePools }, { types: uneven, settings }));
      return result.newNodeClaims.map(({ annotations: own, instanceTypes }) => [own, instanceTypes.length]);
    };
    expect(marksFor(big)).toEqual([[{ [annotations.minValuesRelaxed]: 'true' }, 1]]);
    expect(marksFor(small)).toEqual(Array.from({ length: 4 }, () => [{}, 5]));
  });

  // Rule `min-values/counted`.
  test('a claim lists enough values, however many types it may list', () => {
    const many = [
      ...Array.from({ length: 20 }, (_, i) =>
        instanceType(`a.${i}`, { cpu: 4, price: 0.1, labels: { 'example.com/family': 'a' } }),
      ),
      ...families,
    ];
    const result = plan(
      packingInput({ pods: [pod('p')], nodePools: [wanting(4)] }, { types: many, settings: { listedTypes: 5 } }),
    );
    const listed = result.newNodeClaims[0]!.instanceTypes;
    expect(listed).toHaveLength(5);
    expect(new Set(listed.map((name) => name[0])).size).toBe(4);
  });

  test('pods are packed so that enough types hold them', () => {
    const uneven = [
      instanceType('a.large', { cpu: 2, labels: { 'example.com/family': 'a' } }),
      instanceType('b.large', { cpu: 8, price: 0.3, labels: { 'example.com/family': 'b' } }),
    ];
    const result = plan(packingInput({ pods: podsOf(8, 'p'), nodePools: [wanting(2)] }, { types: uneven }));
    expect(result.newNodeClaims.map(({ pods, instanceTypes }) => [pods.length, instanceTypes.length])).toEqual(
      Array.from({ length: 4 }, () => [2, 2]),
    );
  });
});

describe('types and prices in planned claims', () => {
  test('as many types as allowed are listed, cheapest first, by spot price where spot is allowed (node-claims/type-list)', () => {
    const types = Array.from({ length: 700 }, (_, i) =>
      instanceType(`t${i}`, { cpu: 4, price: 1 + i / 100, spot: i % 2 === 0 ? 0.9 : 0.2 }),
    );
    const result = plan(packingInput({ pods: [pod('p')] }, { types, settings: { listedTypes: 600 } }));
    const [claim] = result.newNodeClaims;
    expect(claim!.instanceTypes).toHaveLength(600);
    expect(claim!.instanceTypes.slice(0, 2)).toEqual(['t1', 't3']);
    expect(claim!.cheapest).toMatchObject({ instanceType: 't1', capacityType: 'spot' });
  });

  test('a pod that requires on-demand makes its claim on-demand', () => {
    const result = plan(packingInput({ pods: [pod('p', { nodeSelector: { [labels.capacityType]: 'on-demand' } })] }));
    expect(result.newNodeClaims[0]!.cheapest).toMatchObject({ capacityType: 'on-demand', pricePerHour: 0.1 });
    expect(result.newNodeClaims[0]!.requirements).toContainEqual({
      key: labels.capacityType,
      operator: 'In',
      values: ['on-demand'],
    });
  });

  test('an unavailable offering is not used, and is named when only it would fit', () => {
    const types = [
      instanceType('m4', {
        cpu: 4,
        offerings: [
          offering('zone-a', 'on-demand', 1),
          offering('zone-b', 'spot', 0.1, {
            available: false,
            unavailableReason: 'out of capacity',
            unavailableUntil: Date.UTC(2026, 0, 1, 14, 5),
          }),
        ],
      }),
    ];
    const spot = pod('p', { nodeSelector: { [labels.capacityType]: 'spot' } });
    expect(reasons(plan(packingInput({ pods: [spot] }, { types })))).toEqual([
      'default: m4 in zone-b has no spot capacity: out of capacity; excluded until 14:05 UTC',
    ]);
  });

  test('a pod larger than the largest type says so', () => {
    const result = plan(packingInput({ pods: [pod('p', { cpu: '96' })] }));
    expect(result.unschedulable[0]!.blockers).toEqual([
      {
        nodePool: 'default',
        reason: 'Resources',
        subject: 'cpu',
        message: 'cpu 96 exceeds what the largest type allowed leaves for pods, m64',
      },
    ]);
  });

  test('a pod above the disk size that all types share names the node class; where they differ, the largest', () => {
    const large = { cpu: '1', requests: { cpu: '1', 'ephemeral-storage': '100Gi' } };
    const typesWith = (...disks: string[]) =>
      disks.map((disk, i) => instanceType(`m${i}`, { cpu: 4, resources: { 'ephemeral-storage': disk } }));
    const said = (...disks: string[]) =>
      reasons(plan(packingInput({ pods: [pod('p', large)] }, { types: typesWith(...disks) })));
    expect(said('20Gi', '20Gi')).toEqual([
      'default: ephemeral-storage 100Gi exceeds what the disk of a new node leaves for pods, 20Gi: the node class sizes it, whatever the type',
    ]);
    expect(said('20Gi', '80Gi')).toEqual([
      'default: ephemeral-storage 100Gi exceeds what the largest type allowed leaves for pods, m1',
    ]);
  });

  test('extended resources need a type that has them', () => {
    const gpu = instanceType('g4', { cpu: 4, price: 3, resources: { 'nvidia.com/gpu': '1' } });
    const pods = [pod('plain'), pod('gpu', { requests: { 'nvidia.com/gpu': '1' } })];
    const result = plan(packingInput({ pods }, { types: [...sizes, gpu] }));
    expect(typesOf(result)).toEqual(['g4']);
    expect(reasons(plan(packingInput({ pods: [pods[1]!] })))).toEqual([
      'default: no instance type that the pod may use has nvidia.com/gpu',
    ]);
  });

  test('types with an extended resource are excluded by a requirement, which is named (surfaces/one-reason)', () => {
    const gpu = instanceType('g4', { cpu: 4, price: 3, resources: { 'nvidia.com/gpu': '1' } });
    const requirements = [{ key: 'node.kubernetes.io/instance-type', operator: 'NotIn' as const, values: ['g4'] }];
    const nodePools = [pool('default', { requirements })];
    const asks = pod('gpu', { requests: { 'nvidia.com/gpu': '1' } });
    expect(reasons(plan(packingInput({ pods: [asks], nodePools }, { types: [...sizes, gpu] })))).toEqual([
      'default: no instance type that the pod may use has nvidia.com/gpu (node.kubernetes.io/instance-type NotIn [g4] leaves 1 out that has it)',
    ]);
  });

  test('an invalid quantity is reported by pod and field and affects no other pod', () => {
    const result = plan(packingInput({ pods: [pod('bad', { cpu: 'one' }), pod('good')] }));
    expect(placed(result)).toBe(1);
    expect(result.unschedulable).toHaveLength(1);
    expect(result.unschedulable[0]).toMatchObject({ pod: 'default/bad', blockers: [{ reason: 'Invalid' }] });
    expect(result.unschedulable[0]!.reason).toContain('"one"');
  });

  test('a million pods that fit nowhere cost as much as one class', () => {
    const pods = podsOf(3000, 'p', { cpu: '1000' });
    const result = plan(packingInput({ pods }));
    expect(result.unschedulable).toHaveLength(3000);
    expect(new Set(result.unschedulable.map(({ blockers }) => blockers)).size).toBe(1);
  });
});

describe('DaemonSets', () => {
  test('overhead above the small type takes a larger one, once per node (scheduling/daemon-overhead)', () => {
    const result = plan(packingInput({ pods: [pod('a'), pod('b')], daemonSets: [daemonSet('d', { cpu: '1' })] }));
    expect(typesOf(result)).toEqual(['m4']);
    expect(result.newNodeClaims[0]!.requests['cpu']).toBe(3000);
  });

  test('DaemonSets that run on some types alone take from those alone (scheduling/daemon-overhead)', () => {
    const only = daemonSet('big-only', { cpu: '3' }, { nodeSelector: { 'example.com/cpu': '2' } });
    const result = plan(packingInput({ pods: [pod('p', { cpu: '1500m' })], daemonSets: [only] }));
    expect(result.newNodeClaims[0]!.instanceTypes).not.toContain('m2');
    expect(typesOf(result)).toEqual(['m4']);
    expect(result.newNodeClaims[0]!.requests['cpu']).toBe(1500);
  });

  test("a DaemonSet that does not tolerate the NodePool's taints takes nothing", () => {
    const nodePools = [pool('default', { taints: [{ key: 'k', effect: 'NoSchedule' }] })];
    const pods = [pod('p', { tolerations: [{ operator: 'Exists' }] })];
    expect(typesOf(plan(packingInput({ pods, nodePools, daemonSets: [daemonSet('d', { cpu: '1' })] })))).toEqual([
      'm1',
    ]);
  });
});

describe('host ports', () => {
  const withPort = (name: string, hostIP: string | undefined, protocol: string) =>
    pod(name, {
      containers: [
        {
          name: 'main',
          resources: { requests: { cpu: '1' } },
          ports: [{ hostPort: 8080, protocol, ...(hostIP === undefined ? {} : { hostIP }) }],
        },
      ],
    });

  test.each([
    ['one address unspecified', ['10.0.0.1', undefined], ['TCP', 'TCP'], 2],
    ['different protocols', [undefined, undefined], ['TCP', 'UDP'], 1],
    ['different addresses', ['10.0.0.1', '10.0.0.2'], ['TCP', 'TCP'], 1],
    ['the same address', ['10.0.0.1', '10.0.0.1'], ['TCP', 'TCP'], 2],
  ] as const)('%s (scheduling/host-ports)', (_, ips, protocols, nodes) => {
    const pods = [withPort('a', ips[0], protocols[0]), withPort('b', ips[1], protocols[1])];
    expect(plan(packingInput({ pods })).newNodeClaims).toHaveLength(nodes);
  });

  test('a host port of a running pod excludes its node', () => {
    const running = {
      ...withPort('r', undefined, 'TCP'),
      spec: { ...withPort('r', undefined, 'TCP').spec, nodeName: 'n' },
    };
    const result = plan(packingInput({ pods: [running, withPort('a', undefined, 'TCP')], nodes: [node('n')] }));
    expect(result.existingNodes).toEqual([]);
  });
});

describe('requests', () => {
  const container = (cpu: string, restartPolicy?: string) => ({
    name: 'c',
    resources: { requests: { cpu } },
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  });
  test.each([
    ['an init container larger than the containers decides', { initContainers: [container('4')] }, 4000],
    ['a sidecar adds', { initContainers: [container('2', 'Always')] }, 3000],
    [
      'a sidecar runs beside a later init container',
      { initContainers: [container('2', 'Always'), container('3')] },
      5000,
    ],
    [
      'a sidecar does not run beside an earlier one',
      { initContainers: [container('3'), container('1', 'Always')] },
      3000,
    ],
    ['overhead adds', { overhead: { cpu: '500m' } }, 1500],
    ['pod-level requests decide', { resources: { requests: { cpu: '7' } } }, 7000],
    [
      'pod-level limits stand in where no container asks',
      { containers: [{ name: 'c' }], resources: { limits: { cpu: '7' } } },
      7000,
    ],
    ['and nowhere else', { resources: { limits: { cpu: '7' } } }, 1000],
    ['limits stand in for requests', { containers: [{ name: 'c', resources: { limits: { cpu: '6' } } }] }, 6000],
  ])('%s (scheduling/pod-requests)', (_, spec, millicores) => {
    const result = plan(packingInput({ pods: [pod('p', { containers: [container('1')], ...spec })] }));
    expect(result.newNodeClaims[0]!.requests['cpu']).toBe(millicores);
  });
});

describe('preferences', () => {
  const inZone = (zone: string) => ({
    matchExpressions: [{ key: labels.zone, operator: 'In' as const, values: [zone] }],
  });
  const zoneRequirement = (result: Plan) =>
    result.newNodeClaims[0]!.requirements.find(({ key }) => key === labels.zone)?.values;

  test('of three required terms the one that fits is used (scheduling/relaxation)', () => {
    const terms = [inZone('nowhere'), inZone('elsewhere'), inZone('zone-c')];
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } };
    expect(zoneRequirement(plan(packingInput({ pods: [pod('p', { affinity })] })))).toEqual(['zone-c']);
  });

  test('the heaviest preference is tried first, then the next (scheduling/relaxation)', () => {
    const prefer = (zones: readonly (readonly [number, string])[]) => ({
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: zones.map(([weight, zone]) => ({
            weight,
            preference: inZone(zone),
          })),
        },
      },
    });
    const run = (zones: readonly (readonly [number, string])[]) =>
      plan(packingInput({ pods: [pod('p', prefer(zones))] }));
    expect(
      zoneRequirement(
        run([
          [1, 'zone-b'],
          [50, 'zone-c'],
        ]),
      ),
    ).toEqual(['zone-c']);
    expect(
      zoneRequirement(
        run([
          [1, 'zone-b'],
          [50, 'nowhere'],
        ]),
      ),
    ).toEqual(['zone-b']);
    expect(zoneRequirement(run([[1, 'nowhere']]))).toBeUndefined();
  });

  test('under preferencePolicy Ignore preferences never add a node (scheduling/preference-policy)', () => {
    const anti = {
      labels: { app: 'x' },
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 1,
              podAffinityTerm: { topologyKey: labels.hostname, labelSelector: { matchLabels: { app: 'x' } } },
            },
          ],
        },
      },
    };
    const pods = podsOf(4, 'p', anti);
    expect(plan(packingInput({ pods })).newNodeClaims).toHaveLength(4);
    expect(plan(packingInput({ pods }, { settings: { preferencePolicy: 'Ignore' } })).newNodeClaims).toHaveLength(1);
  });
});

describe('plans as a whole', () => {
  test('at equal prices have fewer nodes', () => {
    expect(typesOf(plan(packingInput({ pods: podsOf(8, 'p') })))).toEqual(['m8']);
  });

  // Rules `scheduling/pure-plan`, `invariants/same-plan`.
  test('are the same in any order of the input', () => {
    const pods = [...podsOf(5, 'a', { cpu: '1500m' }), ...podsOf(7, 'b', { memory: '3Gi' })];
    const nodes = [node('x'), node('y', { cpu: '2' })];
    const one = plan(packingInput({ pods, nodes }));
    const other = plan(
      packingInput({ pods: [...pods].reverse(), nodes: [...nodes].reverse() }, { types: [...sizes].reverse() }),
    );
    expect(other).toEqual(one);
  });

  test('are empty where nothing is pending', () => {
    expect(plan(packingInput({}))).toEqual({
      newNodeClaims: [],
      existingNodes: [],
      unschedulable: [],
      pricePerHour: 0,
      lowerBoundPerHour: 0,
    });
  });
});

test('planned claims name their pods in order, by namespace and then by name', () => {
  const names = ['b/x', 'a/z', 'a/y', 'c/w', 'a/yy'];
  const pods = names.map((name, k) => {
    const [namespace, own] = name.split('/');
    return pod(own!, { namespace: namespace!, cpu: `${100 + k}m` });
  });
  const [claim] = plan(packingInput({ pods })).newNodeClaims;
  expect(claim!.pods).toEqual([...names].sort());
});

describe('what was refused, as the NodePool records it', () => {
  const now = 1_000_000;
  const refusal = { pod: 'default/a', nodes: [], message: 'no', times: 1, at: now, until: now + 60_000, generation: 0 };
  const planned = (more: object, objects: Partial<ClusterObjects> = {}): Plan => {
    const [a, b] = [pod('a'), pod('b', { memory: '2Gi' })];
    const text = JSON.stringify([{ ...refusal, shape: podShape(a), ...more }]);
    const own = pool();
    const nodePools = [{ ...own, metadata: { ...own.metadata, annotations: { [annotations.refusals]: text } } }];
    return plan({ ...packingInput({ pods: [a, b], nodePools, ...objects }), now });
  };

  // Rule `provisioning/refused-claims`.
  test('a NodeClaim refused for pods of a shape: none is planned for these alone', () => {
    const result = planned({ by: 'api-server' });
    expect(result.newNodeClaims.map(({ pods }) => pods)).toEqual([['default/b']]);
    expect(reasons(result)).toEqual([expect.stringContaining('for this pod it backs off until')]);
  });

  // Rule `provisioning/refused-pods`.
  test('pods refused on a node: pods of their shape are planned onto others, also after the back-off', () => {
    const nodes = [node('n1'), node('n2')];
    const result = planned({ by: 'kube-scheduler', nodes: ['n1', 'gone'], until: now - 1 }, { nodes });
    const on = new Map(result.existingNodes.map(({ node: name, pods }) => [name, pods]));
    expect([on.get('n1'), on.get('n2')]).toEqual([['default/b'], ['default/a']]);
  });
});
