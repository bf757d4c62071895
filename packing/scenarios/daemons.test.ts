import { describe, expect, test } from '@jest/globals';
import type { DaemonSet, Pod, PodSpec, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { instanceType, node, packingInput, pod, podsOf, pool } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import type { Plan } from '../types.js';

const daemonSet = (spec: Partial<PodSpec>): DaemonSet => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'kube-system' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }], ...spec } },
  },
});

const launched = ({ newNodeClaims }: Plan): string[] => newNodeClaims.map(({ cheapest }) => cheapest.instanceType);

const asks = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', ...values: string[]) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }] }],
    },
  },
});

describe('DaemonSets that require registered or initialized nodes (scheduling/daemons-of-registered-nodes)', () => {
  test.each<[string, Partial<PodSpec>, string]>([
    ['take from every new node', { nodeSelector: { [labels.initialized]: 'true' } }, 'm4'],
    ['by node affinity too', { affinity: asks(labels.registered, 'Exists') }, 'm4'],
    ['and other labels still count', { nodeSelector: { [labels.registered]: 'true', disk: 'ssd' } }, 'm2'],
    ['not where they ask for the opposite', { affinity: asks(labels.initialized, 'DoesNotExist') }, 'm2'],
  ])('%s', (_, spec, type) => {
    const pods = [pod('p', { cpu: '2' })];
    expect(launched(plan(packingInput({ pods, daemonSets: [daemonSet(spec)] })))).toEqual([type]);
  });

  test('take from a node that is still to be initialized, and from none without a NodePool', () => {
    const daemonSets = [daemonSet({ nodeSelector: { [labels.initialized]: 'true' } })];
    const young = node('n', { cpu: '2', initialized: false });
    expect(plan(packingInput({ pods: [pod('p', { cpu: '2' })], nodes: [young], daemonSets })).existingNodes).toEqual(
      [],
    );
    const foreign = { ...node('n', { cpu: '2' }), metadata: { name: 'n' } };
    const result = plan(packingInput({ pods: [pod('p', { cpu: '2' })], nodes: [foreign], daemonSets }));
    expect(result.existingNodes).toEqual([{ node: 'n', pods: ['default/p'] }]);
  });
});

test("a mirror pod does not count as a DaemonSet's pod on its node (scheduling/daemon-overhead)", () => {
  const onNode = pod('proxy', { cpu: '1', namespace: 'kube-system', nodeName: 'n' });
  const mirror: Pod = {
    ...onNode,
    metadata: { ...onNode.metadata, annotations: { 'kubernetes.io/config.mirror': 'abc' } },
  };
  const placed = (cpu: string) =>
    plan(
      packingInput({
        pods: [mirror, pod('p', { cpu })],
        nodes: [node('n', { cpu: '4' })],
        daemonSets: [daemonSet({})],
      }),
    ).existingNodes;
  expect(placed('2')).toEqual([{ node: 'n', pods: ['default/p'] }]);
  expect(placed('2500m')).toEqual([]);
});

describe('host ports of DaemonSets', () => {
  const ports = [{ containerPort: 80, hostPort: 8080 }];
  const serving = (name: string): Pod =>
    pod(name, { containers: [{ name: 'main', resources: { requests: { cpu: '1' } }, ports }] });
  const agent = (spec: Partial<PodSpec>) => daemonSet({ containers: [{ name: 'main', ports }], ...spec });

  test("exclude types whose DaemonSets have the pod's host port, among those listed beside the cheapest too", () => {
    const daemonSets = [agent({ affinity: asks('example.com/cpu', 'In', '1', '4') })];
    const [claim] = plan(packingInput({ pods: [serving('p')], daemonSets })).newNodeClaims;
    expect(claim!.instanceTypes).toEqual(['m2', 'm8', 'm16', 'm32', 'm64']);
  });

  test('exclude zones in which such DaemonSets run', () => {
    const daemonSets = [agent({ nodeSelector: { [labels.zone]: 'zone-a' } })];
    const [claim] = plan(packingInput({ pods: [serving('p')], daemonSets })).newNodeClaims;
    expect(claim!.cheapest.zone).toBe('zone-b');
    expect(claim!.requirements).toContainEqual({ key: labels.zone, operator: 'In', values: ['zone-b'] });
  });

  test('count for all pods that share a node', () => {
    const types = [2, 4].map((cpu) => instanceType(`m${cpu}`, { cpu, labels: { size: `${cpu}` } }));
    const daemonSets = [agent({ nodeSelector: { size: '2' } })];
    const pods = [serving('p'), pod('q')];
    expect(launched(plan(packingInput({ pods, daemonSets }, { types })))).toEqual(['m4']);
  });

  test('of hostNetwork DaemonSets are all their container ports', () => {
    const containers = [{ name: 'main', ports: [{ containerPort: 8080 }] }];
    const daemonSets = [daemonSet({ hostNetwork: true, containers })];
    const result = plan(packingInput({ pods: [serving('p')], daemonSets }));
    expect(result.unschedulable[0]!.blockers[0]).toMatchObject({ reason: 'HostPorts' });
    expect(plan(packingInput({ pods: [serving('p')], daemonSets: [daemonSet({ containers })] })).unschedulable).toEqual(
      [],
    );
  });
});

describe('DaemonSets that run already', () => {
  const created = (day: number): string => `2026-01-0${day}T00:00:00Z`;
  const running = (name: string, spec: Partial<PodSpec>, day = 1, apiVersion = 'apps/v1'): Pod => ({
    ...pod(name, { namespace: 'kube-system', nodeName: 'elsewhere', ...spec }),
    metadata: {
      name,
      namespace: 'kube-system',
      creationTimestamp: created(day),
      ownerReferences: [{ apiVersion, kind: 'DaemonSet', name: 'agent', uid: 'agent', controller: true }],
    },
  });
  const requesting = (cpu: string): Partial<PodSpec> => ({
    containers: [{ name: 'main', resources: { requests: { cpu } } }],
  });
  const onHost = (name: string, ...terms: { key: string; operator: 'In'; values: string[] }[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            {
              matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: [name] }],
              ...(terms.length > 0 && { matchExpressions: terms }),
            },
          ],
        },
      },
    },
  });
  const ssd = { key: 'disk', operator: 'In' as const, values: ['ssd'] };

  test.each<[string, Partial<PodSpec>, Pod[], string]>([
    ['count as their pods request', { containers: [{ name: 'main' }] }, [running('a', requesting('2'))], 'm4'],
    ['less as well', requesting('4'), [running('a', requesting('1'))], 'm2'],
    [
      'by the newest of them',
      requesting('1'),
      [running('a', requesting('7'), 1), running('c', requesting('2'), 3), running('b', requesting('7'), 2)],
      'm4',
    ],
    [
      'and not as those of another group of that name (provisioning/owner-kinds)',
      requesting('1'),
      [running('a', requesting('7'), 2, 'apps.kruise.io/v1alpha1')],
      'm2',
    ],
    ['with their overhead', requesting('1'), [running('a', { ...requesting('1'), overhead: { cpu: '1' } })], 'm4'],
    ['on every host', requesting('1'), [running('a', { ...requesting('2'), ...onHost('elsewhere') })], 'm4'],
    [
      'where the template wants them',
      { ...requesting('1'), affinity: asks('disk', 'In', 'ssd') },
      [running('a', { ...requesting('2'), ...onHost('elsewhere', ssd) })],
      'm1',
    ],
    [
      'where a webhook wants them',
      requesting('1'),
      [running('a', { ...requesting('2'), ...onHost('elsewhere', ssd) })],
      'm1',
    ],
    [
      'by the template where no pod is theirs',
      requesting('1'),
      [pod('other', { nodeName: 'elsewhere', cpu: '9' })],
      'm2',
    ],
  ])('%s', (_, template, pods, type) => {
    const input = packingInput({ pods: [pod('p'), ...pods], daemonSets: [daemonSet(template)] });
    expect(launched(plan(input))).toEqual([type]);
  });

  test('take from nodes where their pod is still missing', () => {
    const input = packingInput({
      pods: [pod('p'), running('a', requesting('2'))],
      nodes: [node('n', { cpu: '2' })],
      daemonSets: [daemonSet({ containers: [{ name: 'main' }] })],
    });
    expect(plan(input).existingNodes).toEqual([]);
  });
});

describe('DaemonSet pods count for topology rules on the nodes where they will run (topology/daemon-pods)', () => {
  const partner = (spec: Partial<PodSpec> = {}): DaemonSet => {
    const made = daemonSet({ containers: [{ name: 'main', resources: { requests: { cpu: '100m' } } }], ...spec });
    return {
      ...made,
      spec: { ...made.spec, template: { ...made.spec.template, metadata: { labels: { app: 'agent' } } } },
    };
  };
  const term = (topologyKey: string, app = 'agent') => ({
    topologyKey,
    labelSelector: { matchLabels: { app } },
    namespaceSelector: {},
  });
  const near = (topologyKey: string) => ({
    podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(topologyKey)] },
  });
  const apart = (topologyKey: string, app = 'agent') => ({
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(topologyKey, app)] },
  });
  const inPool = (name: string) => ({ [labels.nodePool]: name });
  const pools = [pool('a', { weight: 2 }), pool('b')];
  const made = (pods: readonly Pod[], daemon: DaemonSet, more: Partial<Parameters<typeof packingInput>[0]> = {}) =>
    plan(packingInput({ pods, daemonSets: [daemon], nodePools: pools, ...more }));
  const poolsOf = ({ newNodeClaims }: Plan) => newNodeClaims.map(({ nodePool }) => nodePool);
  const reasons = ({ unschedulable }: Plan) => unschedulable.map(({ reason }) => reason);

  test.each([labels.hostname, labels.zone])('affinity by %s finds them on a new node', (key) => {
    const pods = podsOf(3, 'p', { cpu: '3', affinity: near(key) });
    const result = made(pods, partner());
    expect(result.newNodeClaims.flatMap((claim) => claim.pods)).toHaveLength(3);
    expect(result.unschedulable).toEqual([]);
    expect(new Set(poolsOf(made(pods, partner({ nodeSelector: inPool('b') }))))).toEqual(new Set(['b']));
    const [reason] = reasons(
      made([pod('p', { affinity: near(key), nodeSelector: inPool('a') })], partner({ nodeSelector: inPool('b') })),
    );
    expect(reason).toContain('affinity');
  });

  test('a starting node counts with its missing DaemonSet pods, a started one only with those that run', () => {
    const pods = [pod('p', { affinity: near(labels.hostname) })];
    const young = node('n', { initialized: false });
    expect(made(pods, partner(), { nodes: [young] }).existingNodes).toEqual([{ node: 'n', pods: ['default/p'] }]);
    expect(made(pods, partner(), { nodes: [node('n')] }).existingNodes).toEqual([]);
    const bound = pod('agent-1', { namespace: 'kube-system', labels: { app: 'agent' }, nodeName: 'n' });
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent', controller: true };
    const running = { ...bound, metadata: { ...bound.metadata, ownerReferences: [owner] } };
    expect(made([...pods, running], partner(), { nodes: [node('n')] }).existingNodes).toEqual([
      { node: 'n', pods: ['default/p'] },
    ]);
  });

  test.each([labels.hostname, labels.zone])('anti-affinity by %s excludes their nodes, in both directions', (key) => {
    const shy = pod('p', { affinity: apart(key) });
    expect(poolsOf(made([shy], partner({ nodeSelector: inPool('a') })))).toEqual(['b']);
    expect(made([shy], partner()).newNodeClaims).toEqual([]);
    expect(reasons(made([shy], partner()))).toEqual([
      'a, b: its anti-affinity keeps it away from DaemonSet kube-system/agent, whose pods would run there',
    ]);
    const shunned = pod('p', { labels: { app: 'web' } });
    const shunning = partner({ affinity: apart(key, 'web') });
    expect(reasons(made([shunned], shunning))).toEqual([
      'a, b: the anti-affinity of DaemonSet kube-system/agent, whose pods would run there, keeps it away',
    ]);
    expect(poolsOf(made([shunned], partner({ affinity: apart(key, 'web'), nodeSelector: inPool('a') })))).toEqual([
      'b',
    ]);
    expect(poolsOf(made([pod('q', { labels: { app: 'other' } })], shunning))).toEqual(['a']);
    expect(made([shy], partner(), { nodes: [node('n', { initialized: false })] }).existingNodes).toEqual([]);
  });

  test('a preference that they break is dropped', () => {
    const preferred = {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term(labels.hostname) }],
      },
    };
    expect(poolsOf(made([pod('p', { affinity: preferred })], partner({ nodeSelector: inPool('a') })))).toEqual(['b']);
    expect(made([pod('p', { affinity: preferred })], partner()).newNodeClaims).toHaveLength(1);
  });

  test('all types that a claim lists have the same DaemonSet pods for these rules', () => {
    const large = partner({ nodeSelector: { [labels.instanceType]: 'm4' } });
    const [claim] = made([pod('p', { affinity: apart(labels.hostname) })], large).newNodeClaims;
    expect(claim?.instanceTypes).toContain('m2');
    expect(claim?.instanceTypes).not.toContain('m4');
  });

  test('a spread by host counts them: on every node they change nothing, else they take their share', () => {
    const constraint = {
      maxSkew: 1,
      topologyKey: labels.hostname,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: {},
    } as const;
    const pods = podsOf(2, 'p', { namespace: 'kube-system', topologySpreadConstraints: [constraint] });
    expect(made(pods, partner()).newNodeClaims).toHaveLength(2);
    expect(poolsOf(made(pods, partner({ nodeSelector: inPool('a') })))).toEqual(['b', 'b']);
    const two = podsOf(4, 'p', {
      cpu: '100m',
      namespace: 'kube-system',
      topologySpreadConstraints: [{ ...constraint, maxSkew: 2 }],
    });
    for (const { nodePool, pods: there } of made(two, partner({ nodeSelector: inPool('a') })).newNodeClaims)
      expect(there.length).toBeLessThanOrEqual(nodePool === 'a' ? 1 : 2);
    expect(made(two, partner()).newNodeClaims).toHaveLength(2);
    const bound = pod('agent-1', { namespace: 'kube-system', labels: { app: 'agent' }, nodeName: 'n' });
    expect(made([...pods.slice(1), bound], partner(), { nodes: [node('n')] }).existingNodes).toHaveLength(1);
  });

  describe('in the domain of another new node', () => {
    const rack = 'example.com/rack';
    const racked = [
      pool('a', { weight: 2, labels: { [rack]: 'x' } }),
      pool('b', { labels: { [rack]: 'x' } }),
      pool('c', { labels: { [rack]: 'y' } }),
    ];
    const inA = partner({ nodeSelector: inPool('a') });
    const onA = pod('q', { cpu: '3', nodeSelector: { ...inPool('a'), [labels.zone]: 'zone-a' } });
    const zoneOf = ({ newNodeClaims }: Plan, name: string) =>
      newNodeClaims.find(({ pods }) => pods.includes(`default/${name}`))?.cheapest.zone;
    const inBoth = (nodeSelector: Record<string, string>) => pod('p', { affinity: apart(labels.zone), nodeSelector });

    test.each<[string, Pod, DaemonSet]>([
      ['whose pods they keep away', inBoth(inPool('b')), inA],
      [
        'that keeps them away',
        pod('p', { labels: { app: 'web' }, nodeSelector: inPool('b') }),
        partner({ affinity: apart(labels.zone, 'web'), nodeSelector: inPool('a') }),
      ],
    ])('pods keep out of the zone of a DaemonSet %s', (_, shy, daemon) => {
      const result = made([shy, onA], daemon);
      expect(zoneOf(result, 'q')).toBe('zone-a');
      expect(zoneOf(result, 'p')).not.toBe('zone-a');
      expect(zoneOf(result, 'p')).toBeDefined();
    });

    test('and of a rack', () => {
      const result = made([pod('p', { affinity: apart(rack), nodeSelector: {} }), onA], inA, { nodePools: racked });
      expect(new Set(poolsOf(result))).toEqual(new Set(['a', 'c']));
    });

    test.each([labels.zone, rack])('a spread over %s counts them with the pods of every node', (topologyKey) => {
      const spread: TopologySpreadConstraint = {
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['agent', 'p'] }] },
      };
      const counted = podsOf(4, 'p', {
        labels: { app: 'p' },
        namespace: 'kube-system',
        topologySpreadConstraints: [spread],
      });
      const others = podsOf(6, 'q', { cpu: '60', nodeSelector: { ...inPool('a'), [labels.zone]: 'zone-a' } });
      const result = made([...counted, ...others], inA, { nodePools: racked });
      expect(
        result.newNodeClaims.filter(({ cheapest, nodePool }) => cheapest.zone === 'zone-a' && nodePool === 'a'),
      ).not.toEqual([]);
      const crowded = result.newNodeClaims
        .filter(({ cheapest, nodePool }) => (topologyKey === rack ? nodePool !== 'c' : cheapest.zone === 'zone-a'))
        .flatMap(({ pods }) => pods.filter((name) => name.startsWith('kube-system/')));
      expect(crowded).toEqual([]);
    });
  });
});
