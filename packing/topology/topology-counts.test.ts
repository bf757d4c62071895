import { describe, expect, test } from '@jest/globals';
import type { Pod, PodSpec, Taint, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { instanceType, node, packingInput, pod, pool } from '../../test/builders/packing-fixtures.js';
import { spreads, topologyOf } from '../../test/builders/topology.js';
import type { Compiled } from '../compile/compiled.js';
import type { Group } from './groups.js';
import { includesNode } from './groups.js';
import type { TopologyCounts, Site } from './topology-counts.js';

const { zone, hostname } = labels;

const spreadPod = (spread: Partial<TopologySpreadConstraint> = {}, spec: Partial<PodSpec> = {}): Pod =>
  pod('web', {
    labels: { app: 'web' },
    ...spreads(spread),
    ...spec,
  });

interface World {
  readonly zones?: readonly string[];
  readonly nodes?: Parameters<typeof packingInput>[0]['nodes'];
  readonly pools?: Parameters<typeof packingInput>[0]['nodePools'];
  readonly others?: readonly Pod[];
}

/** The one rule of the pod, with the topologyCounts of a pass that it is in. */
function countsFor(own: Pod, { zones = ['zone-a', 'zone-b'], nodes, pools, others = [] }: World = {}) {
  const objects = {
    pods: [own, ...others],
    ...(nodes === undefined ? {} : { nodes }),
    ...(pools === undefined ? {} : { nodePools: pools }),
  };
  const {
    topologyCounts,
    rulesOf,
    nodes: states,
    compiled,
  } = topologyOf(packingInput(objects, { types: [instanceType('m4', { cpu: 4, zones })] }));
  const { spread, hostSpread } = rulesOf(own);
  return { topologyCounts, group: [...spread, ...hostSpread][0]!, states, compiled, rules: rulesOf(own) };
}

/** What a node with these labels and taints is to the rules of the pass. */
const siteWith = ({ space }: Compiled, values: Readonly<Record<string, string>>, taints: Taint[] = []): Site => ({
  host: undefined,
  kind: { values: space.keys.map((key) => values[key]), taints },
});

/** Counts pods that the rule selects, by domain. */
function fill(topologyCounts: TopologyCounts, group: Group, counts: Readonly<Record<string, number>>): void {
  for (const [domain, pods] of Object.entries(counts)) topologyCounts.addSelected(group, domain, pods);
}

/** Pods that want to be with `web` in a zone, and one of `web` that refuses all others. */
function companyInZones() {
  const affinity = {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: zone, labelSelector: { matchLabels: { app: 'web' } } },
      ],
    },
  };
  const follower = pod('follower', { labels: { app: 'web' }, affinity });
  const plain = pod('plain', { labels: { app: 'web' } });
  const { topologyCounts, rulesOf, compiled } = topologyOf(packingInput({ pods: [follower, plain] }));
  const put = (own: Pod, name: string, pods = 1): void =>
    topologyCounts.record(rulesOf(own), pods, siteWith(compiled, { [zone]: name }));
  return { topologyCounts, group: rulesOf(follower).affinity[0]!, follower, plain, put };
}

describe('topology counts', () => {
  test('begin at 0, add up by domain, and are subtracted again', () => {
    const { topologyCounts, group } = countsFor(spreadPod());
    expect([
      topologyCounts.count(group, 'zone-a'),
      topologyCounts.owners(group, 'zone-a'),
      topologyCounts.total(group),
    ]).toEqual([0, 0, 0]);
    fill(topologyCounts, group, { 'zone-a': 2, 'zone-b': 1 });
    topologyCounts.addSelected(group, 'zone-a', 3);
    expect([
      topologyCounts.count(group, 'zone-a'),
      topologyCounts.count(group, 'zone-b'),
      topologyCounts.total(group),
    ]).toEqual([5, 1, 6]);
    expect(topologyCounts.count(group, 'zone-c')).toBe(0);
    expect(topologyCounts.owners(group, 'zone-a')).toBe(0);
    topologyCounts.addSelected(group, 'zone-a', -5);
    expect([topologyCounts.count(group, 'zone-a'), topologyCounts.total(group)]).toEqual([0, 1]);
  });

  test('separate pods that are selected from pods that have the rule', () => {
    const { topologyCounts, group } = countsFor(spreadPod());
    topologyCounts.addOwner(group, 'zone-a', 2);
    topologyCounts.addOwner(group, 'zone-a', 1);
    expect([topologyCounts.owners(group, 'zone-a'), topologyCounts.owners(group, 'zone-b')]).toEqual([3, 0]);
    expect([topologyCounts.count(group, 'zone-a'), topologyCounts.total(group)]).toEqual([0, 0]);
  });

  test('record placed pods for the rules that select them and for their anti-affinity', () => {
    const shy = pod('shy', {
      labels: { app: 'web' },
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: zone, labelSelector: { matchLabels: { app: 'other' } } },
          ],
        },
      },
    });
    const { topologyCounts, rulesOf, compiled } = topologyOf(packingInput({ pods: [shy, spreadPod()] }));
    const rules = rulesOf(shy);
    const [selecting] = rules.matched;
    const [keepsOff] = rules.keepsOff;
    const counts = (): number[] => [
      topologyCounts.count(selecting!, 'zone-a'),
      topologyCounts.owners(keepsOff!, 'zone-a'),
      topologyCounts.count(keepsOff!, 'zone-a'),
      topologyCounts.owners(selecting!, 'zone-a'),
    ];
    const inZone = siteWith(compiled, { [zone]: 'zone-a' });
    topologyCounts.record(rules, 2, siteWith(compiled, {}));
    expect([...counts(), topologyCounts.total(selecting!)]).toEqual([0, 0, 0, 0, 0]);
    topologyCounts.record(rules, 2, inZone);
    expect(counts()).toEqual([2, 2, 0, 0]);
    topologyCounts.record(rules, 1, inZone, (key) => key === zone);
    expect(counts()).toEqual([3, 3, 0, 0]);
    topologyCounts.record(rules, 1, inZone, (key) => key !== zone);
    expect(counts()).toEqual([3, 3, 0, 0]);
    topologyCounts.record(rules, -3, inZone);
    expect(counts()).toEqual([0, 0, 0, 0]);
  });

  test('of host name rules are recorded by host', () => {
    const alone = spreadPod({ topologyKey: hostname });
    const { topologyCounts, rulesOf, compiled } = topologyOf(packingInput({ pods: [alone] }));
    const rules = rulesOf(alone);
    topologyCounts.record(rules, 2, { ...siteWith(compiled, {}), host: 'node-1' }, () => false);
    topologyCounts.record(rules, 1, siteWith(compiled, {}));
    expect([topologyCounts.count(rules.hostSpread[0]!, 'node-1'), topologyCounts.total(rules.hostSpread[0]!)]).toEqual([
      2, 2,
    ]);
  });

  test('say where pods with affinity may be: where another pod is selected, or the first has begun', () => {
    const { topologyCounts, group, follower, plain, put } = companyInZones();
    expect(topologyCounts.meetsHostAffinity(group, 'zone-a')).toBe(false);
    put(follower, 'zone-a', 2);
    expect(topologyCounts.meetsHostAffinity(group, 'zone-a')).toBe(true);
    put(plain, 'zone-b');
    expect(['zone-a', 'zone-b', 'zone-c'].map((name) => topologyCounts.meetsHostAffinity(group, name))).toEqual([
      false,
      true,
      false,
    ]);
    put(plain, 'zone-a');
    expect(topologyCounts.meetsHostAffinity(group, 'zone-a')).toBe(true);
    put(plain, 'zone-a', -1);
    expect(topologyCounts.meetsHostAffinity(group, 'zone-a')).toBe(false);
  });

  test('say where the first pod with affinity may have begun, and nowhere while some run', () => {
    const { topologyCounts, group, follower, plain, put } = companyInZones();
    topologyCounts.markRunning();
    expect(topologyCounts.mayBegin(group, 'zone-a')).toBe(false);
    put(plain, 'zone-b');
    put(follower, 'zone-a');
    expect([topologyCounts.meetsHostAffinity(group, 'zone-a'), topologyCounts.mayBegin(group, 'zone-a')]).toEqual([
      false,
      true,
    ]);
    put(follower, 'zone-c');
    expect(topologyCounts.mayBegin(group, 'zone-a')).toBe(false);
    put(plain, 'zone-c');
    expect(topologyCounts.mayBegin(group, 'zone-a')).toBe(true);
    topologyCounts.markRunning();
    expect(topologyCounts.mayBegin(group, 'zone-a')).toBe(false);
  });

  test('check a skew in turn where pods without the rule come after those with it and those that run', () => {
    const own = spreadPod();
    const plain = pod('plain', { labels: { app: 'web' } });
    const { topologyCounts, group, compiled, rules } = countsFor(own, { others: [plain] });
    const { rulesOf } = topologyOf(packingInput({ pods: [own, plain] }));
    const matched = { ...rulesOf(plain), matched: rules.matched };
    const inZone = siteWith(compiled, { [zone]: 'zone-a' });
    topologyCounts.record(rules, 1, inZone);
    topologyCounts.record(matched, 2, inZone);
    expect(topologyCounts.count(group, 'zone-a')).toBe(3);
    expect(topologyCounts.keepsSkewInOrder(group, 'zone-a')).toBe(true);
    topologyCounts.record(rules, 1, inZone);
    expect(topologyCounts.keepsSkewInOrder(group, 'zone-a')).toBe(false);
    topologyCounts.record(rules, -1, inZone);
    topologyCounts.markRunning();
    expect(topologyCounts.keepsSkewInOrder(group, 'zone-a')).toBe(false);
  });

  test('leave out pods on nodes that the rule does not count', () => {
    const critical = spreadPod({ nodeTaintsPolicy: 'Honor' }, { nodeSelector: { tier: 'critical' } });
    const other = pod('other', { labels: { app: 'web' } });
    const { topologyCounts, rulesOf, compiled } = topologyOf(packingInput({ pods: [critical, other] }));
    const [group] = rulesOf(critical).spread;
    const place = { [zone]: 'zone-a', tier: 'critical' };
    topologyCounts.record(rulesOf(other), 1, siteWith(compiled, { [zone]: 'zone-a' }));
    topologyCounts.record(rulesOf(other), 1, siteWith(compiled, place, [{ key: 'apart', effect: 'NoSchedule' }]));
    expect(topologyCounts.count(group!, 'zone-a')).toBe(0);
    topologyCounts.record(rulesOf(other), 1, siteWith(compiled, place));
    expect(topologyCounts.count(group!, 'zone-a')).toBe(1);
  });

  test('of a host leave out no pod, since its labels are not decided yet', () => {
    const critical = spreadPod({ topologyKey: hostname }, { nodeSelector: { tier: 'critical' } });
    const other = pod('other', { labels: { app: 'web' } });
    const { topologyCounts, rulesOf, compiled } = topologyOf(packingInput({ pods: [critical, other] }));
    const [group] = rulesOf(critical).hostSpread;
    topologyCounts.record(rulesOf(other), 1, { ...siteWith(compiled, {}), host: 'draft' });
    expect(topologyCounts.count(group!, 'draft')).toBe(1);
  });
});

describe('the fewest pods in a domain that a spread counts', () => {
  test.each<[string, Record<string, number>, Partial<TopologySpreadConstraint>, number]>([
    ['has none before anything is counted', {}, {}, 0],
    ['has none while one domain is empty', { 'zone-a': 3 }, {}, 0],
    ['is the least of all', { 'zone-a': 3, 'zone-b': 2 }, {}, 2],
    ['wherever it stands', { 'zone-a': 2, 'zone-b': 3 }, {}, 2],
    ['is not a domain that does not concern it', { 'zone-a': 3, 'zone-b': 2, 'zone-z': 1 }, {}, 2],
    ['counts as empty below minDomains', { 'zone-a': 3, 'zone-b': 2 }, { minDomains: 3 }, 0],
    ['counts at minDomains', { 'zone-a': 3, 'zone-b': 2 }, { minDomains: 2 }, 2],
    ['counts above minDomains', { 'zone-a': 3, 'zone-b': 2 }, { minDomains: 1 }, 2],
  ])('%s', (_, counts, spread, expected) => {
    const { topologyCounts, group } = countsFor(spreadPod(spread));
    fill(topologyCounts, group, counts);
    expect(topologyCounts.least(group)).toBe(expected);
  });

  test('are counted again after pods are added or removed', () => {
    const { topologyCounts, group } = countsFor(spreadPod());
    const steps: Record<string, number>[] = [{ 'zone-a': 3, 'zone-b': 1 }, { 'zone-b': 4 }, { 'zone-a': -2 }];
    const seen: number[] = [];
    for (const counts of steps) {
      fill(topologyCounts, group, counts);
      seen.push(topologyCounts.least(group));
    }
    expect(seen).toEqual([1, 3, 1]);
  });

  test('are 0 for the host name, since a new node is possible', () => {
    const own = spreadPod({ topologyKey: hostname }, { nodeSelector: { [hostname]: 'old' } });
    const { topologyCounts, group } = countsFor(own, { nodes: [node('old')] });
    fill(topologyCounts, group, { old: 3 });
    expect(topologyCounts.least(group)).toBe(0);
  });

  test('are 0 where there is no domain', () => {
    const { topologyCounts, group } = countsFor(spreadPod({ topologyKey: 'example.com/rack', minDomains: 0 }));
    expect(topologyCounts.domains(group)).toStrictEqual([]);
    fill(topologyCounts, group, { somewhere: 2 });
    expect(topologyCounts.least(group)).toBe(0);
  });
});

describe('the domains of a topology rule', () => {
  const taints: Taint[] = [{ key: 'apart', effect: 'NoSchedule' }];
  const soft: Taint[] = [{ key: 'apart', effect: 'PreferNoSchedule' }];
  const tolerations: PodSpec['tolerations'] = [{ key: 'apart', operator: 'Exists' }];
  const honour: Partial<TopologySpreadConstraint> = { nodeTaintsPolicy: 'Honor' };
  const onlyA: Partial<PodSpec> = { nodeSelector: { [zone]: 'zone-a' } };
  const x = [node('old', { zone: 'zone-x' })];
  const tainted = [node('old', { zone: 'zone-x', taints })];
  const others = Object.entries(x[0]!.metadata.labels ?? {}).filter(([key]) => key !== zone);
  const bare = [{ ...x[0]!, metadata: { ...x[0]!.metadata, labels: Object.fromEntries(others) } }];
  const poolB = pool('b', { taints, requirements: [{ key: zone, operator: 'In', values: ['zone-b'] }] });
  const poolA = pool('a', { requirements: [{ key: zone, operator: 'In', values: ['zone-a'] }] });

  test.each<[string, Pod, World, string[]]>([
    ['are those that can be launched in, sorted', spreadPod(), { zones: ['zone-b', 'zone-a'] }, ['zone-a', 'zone-b']],
    ['are those of nodes too', spreadPod(), { nodes: x }, ['zone-a', 'zone-b', 'zone-x']],
    ['are each once', spreadPod(), { nodes: [node('old')] }, ['zone-a', 'zone-b']],
    ['are none of a node without the label', spreadPod(), { nodes: bare }, ['zone-a', 'zone-b']],
    ['are those that the node affinity admits', spreadPod({}, onlyA), { nodes: x }, ['zone-a']],
    [
      'are all where node affinity is ignored',
      spreadPod({ nodeAffinityPolicy: 'Ignore' }, onlyA),
      { nodes: x },
      ['zone-a', 'zone-b', 'zone-x'],
    ],
    ['are those of tainted nodes too', spreadPod(), { nodes: tainted }, ['zone-a', 'zone-b', 'zone-x']],
    ['are not, where taints are honoured', spreadPod(honour), { nodes: tainted }, ['zone-a', 'zone-b']],
    [
      'are again where these are tolerated',
      spreadPod(honour, { tolerations }),
      { nodes: tainted },
      ['zone-a', 'zone-b', 'zone-x'],
    ],
    [
      'are whatever a taint only prefers',
      spreadPod(honour),
      { nodes: [node('old', { zone: 'zone-x', taints: soft })] },
      ['zone-a', 'zone-b', 'zone-x'],
    ],
    ['are those of tainted pools too', spreadPod(), { pools: [poolA, poolB] }, ['zone-a', 'zone-b']],
    ['but not where taints are honoured', spreadPod(honour), { pools: [poolA, poolB] }, ['zone-a']],
  ])('%s', (__, own, world, expected) => {
    const { topologyCounts, group } = countsFor(own, world);
    expect(topologyCounts.domains(group)).toStrictEqual(expected);
    expect(topologyCounts.domains(group)).toBe(topologyCounts.domains(group));
  });
});

describe('whether a topology rule counts a node', () => {
  const taints: Taint[] = [{ key: 'apart', effect: 'NoSchedule' }];
  const onlyA: Partial<PodSpec> = { nodeSelector: { [zone]: 'zone-a' } };
  test.each<[string, Partial<TopologySpreadConstraint>, string, Taint[], boolean]>([
    ['its labels satisfy the pod', {}, 'zone-a', [], true],
    ['they do not', {}, 'zone-b', [], false],
    ['nobody asks for that', { nodeAffinityPolicy: 'Ignore' }, 'zone-b', taints, true],
    ['its taints are ignored', {}, 'zone-a', taints, true],
    ['its taints are honoured', { nodeTaintsPolicy: 'Honor' }, 'zone-a', taints, false],
    ['it has none to honour', { nodeTaintsPolicy: 'Honor' }, 'zone-a', [], true],
    ['taints alone are honoured', { nodeAffinityPolicy: 'Ignore', nodeTaintsPolicy: 'Honor' }, 'zone-b', [], true],
    ['either fails', { nodeTaintsPolicy: 'Honor' }, 'zone-b', [], false],
  ])('where %s', (_, spread, value, nodeTaints, expected) => {
    const { group, compiled } = countsFor(spreadPod(spread, onlyA));
    const values = compiled.space.keys.map((key) => (key === zone ? value : undefined));
    expect(includesNode(group, values, nodeTaints)).toBe(expected);
  });

  test.each([
    ['one of the alternatives suffices', ['zone-a', 'zone-b'], { 'zone-a': true, 'zone-b': true, 'zone-c': false }],
    ['a contradiction admits none', [], { 'zone-a': false, 'zone-b': false, 'zone-c': false }],
  ])('%s', (_, zones, expected) => {
    const nodeSelectorTerms = zones.map((value) => ({
      matchExpressions: [{ key: zone, operator: 'In' as const, values: [value] }],
    }));
    const contradiction = [{ matchExpressions: [{ key: zone, operator: 'In' as const, values: [] }] }];
    const { group, compiled } = countsFor(
      spreadPod(
        {},
        {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: zones.length > 0 ? nodeSelectorTerms : contradiction,
              },
            },
          },
        },
      ),
    );
    const admitted = Object.keys(expected).map((value) => [
      value,
      includesNode(
        group,
        compiled.space.keys.map((key) => (key === zone ? value : undefined)),
        [],
      ),
    ]);
    expect(Object.fromEntries(admitted)).toEqual(expected);
  });
});
