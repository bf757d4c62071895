import { describe, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../api/kubernetes.js';
import { offering } from '../cases/catalogues.js';
import { inValues, nodePool, pod, requestsOf, runningNode, zoneKey } from '../cases/objects.js';
import { nodeLabels } from '../cases/realistic.js';
import { type CommandJson, type ConsolidationJson, checkConsolidation } from './consolidation.js';
import type { CatalogueEntry, ClaimJson, Rule } from './types.js';

const type = (name: string, cpu: number, price: number): CatalogueEntry => ({
  name,
  architecture: 'amd64',
  operatingSystems: ['linux'],
  resources: { cpu: String(cpu), memory: `${cpu * 4}Gi`, pods: '10' },
  offerings: [offering('a', 'on-demand', price)],
});
const small = type('m-2x', 2, 0.1);
const large = type('m-4x', 4, 0.2);
const catalogue = [small, large];

const node = (name: string, of: CatalogueEntry = large): KubernetesObject[] =>
  runningNode({ name, pool: 'default', labels: nodeLabels(of, of.offerings[0]!), allocatable: { ...of.resources } });
const onNode = (name: string, nodeName: string): KubernetesObject =>
  pod(name, { app: 'web' }, requestsOf('1', '1Gi'), { nodeName });
const pool = (budget = '100%'): KubernetesObject =>
  nodePool('default', { disruption: { budgets: [{ nodes: budget }] } });
/** Three nodes of four cores at 0.2, of which the first two run one pod each and the third none. */
const cluster = (...more: KubernetesObject[]): KubernetesObject[] => [
  pool(),
  ...['n1', 'n2', 'n3'].flatMap((name) => node(name)),
  onNode('p1', 'n1'),
  onNode('p2', 'n2'),
  ...more,
];

const command = (more: Partial<CommandJson>): CommandJson => ({
  method: 'multi',
  decision: 'delete',
  candidates: [],
  replacements: [],
  moves: [],
  priceBefore: 0.6,
  priceAfter: 0.4,
  ...more,
});
const result = (commands: CommandJson[], priceAfter: number, nodesAfter: number): ConsolidationJson => ({
  engine: 'test',
  nodesBefore: 3,
  nodesAfter,
  priceBefore: 0.6,
  priceAfter,
  totalMs: 1,
  commands,
});
const broken = (objects: KubernetesObject[], given: ConsolidationJson): Rule[] => [
  ...new Set(checkConsolidation({ items: objects }, catalogue, given).violations.map(({ rule }) => rule)),
];

const empty = command({ method: 'empty', candidates: ['n3'] });
const merge = command({ candidates: ['n1'], moves: [{ pod: 'default/p1', to: 'n2' }] });
const claim: ClaimJson = {
  nodePool: 'default',
  pods: ['default/p1'],
  instanceTypes: ['m-2x'],
  requirements: [inValues(zoneKey, 'a')],
  cheapest: { instanceType: 'm-2x', zone: 'a', capacityType: 'on-demand', pricePerHour: 0.1 },
};
const replace = command({
  decision: 'replace',
  method: 'single',
  candidates: ['n1'],
  replacements: [claim],
  moves: [{ pod: 'default/p1', to: 'replacement-0-0' }],
  priceAfter: 0.5,
});

describe('checkConsolidation of a sequence of commands', () => {
  test('applies each command before it checks the next', () => {
    const given = result([empty, { ...merge, priceBefore: 0.4, priceAfter: 0.2 }], 0.2, 1);
    const verdict = checkConsolidation({ items: cluster() }, catalogue, given);
    expect(verdict).toMatchObject({ violations: [], evictions: 1, nodesAfter: 1 });
    expect(verdict.priceAfter).toBeCloseTo(0.2, 9);
  });

  test('later commands may use the replacements of earlier ones', () => {
    const second = command({
      candidates: ['n2'],
      moves: [{ pod: 'default/p2', to: 'replacement-0-0' }],
      priceBefore: 0.5,
      priceAfter: 0.3,
    });
    expect(broken(cluster(), result([replace], 0.5, 3))).toEqual([]);
    expect(broken(cluster(), result([replace, second], 0.3, 2))).toEqual([]);
    // There is room for two pods on it, not for three.
    const three = [
      { ...replace },
      { ...second, moves: [...second.moves, { pod: 'default/p3', to: 'replacement-0-0' }] },
    ];
    expect(broken(cluster(onNode('p3', 'n2')), result(three, 0.3, 2))).toEqual(['over-full']);
  });

  test.each<[string, KubernetesObject[], CommandJson, Rule[]]>([
    ['a node that is not there', cluster(), command({ candidates: ['n9'], priceAfter: 0.6 }), ['candidate']],
    [
      'a pod that is not to be disrupted',
      [
        pool(),
        ...['n1', 'n2', 'n3'].flatMap((name) => node(name)),
        {
          ...onNode('p1', 'n1'),
          metadata: { name: 'p1', namespace: 'default', annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
        },
        onNode('p2', 'n2'),
      ],
      merge,
      ['candidate'],
    ],
    [
      'a pod that its disruption budget holds',
      cluster({
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'web', namespace: 'default' },
        spec: { selector: { matchLabels: { app: 'web' } } },
        status: { disruptionsAllowed: 0 },
      } as KubernetesObject),
      merge,
      ['candidate'],
    ],
    ['a pod left behind', cluster(), { ...merge, moves: [] }, ['moves']],
    [
      'a pod moved to a node that goes',
      cluster(),
      { ...merge, moves: [{ pod: 'default/p1', to: 'n1' }] },
      ['moves', 'unknown-node'],
    ],
    [
      'a pod of another node',
      cluster(),
      { ...merge, moves: [...merge.moves, { pod: 'default/p2', to: 'n3' }] },
      ['moves', 'unknown-pod'],
    ],
    ['a price that is not so', cluster(), { ...merge, priceAfter: 0.1 }, ['price']],
  ])('%s', (_says, objects, given, rules) => {
    const after = given.candidates.includes('n9') ? [0.6, 3] : [0.4, 2];
    expect(broken(objects, result([given], after[0]!, after[1]!)).sort()).toEqual([...rules].sort());
  });

  test('policies and overlays set the price of old and new nodes alike', () => {
    const policy = {
      apiVersion: 'stowage.dev/v1alpha1',
      kind: 'DisruptionPolicy',
      metadata: { name: 'agents' },
      spec: { nodeCost: '0.05' },
    } as KubernetesObject;
    const dearer = { ...claim, cheapest: { ...claim.cheapest!, pricePerHour: 0.15 } };
    const withCost = { ...replace, replacements: [dearer], priceBefore: 0.75, priceAfter: 0.65 };
    expect(broken(cluster(policy), result([withCost], 0.65, 3))).toEqual([]);
    expect(broken(cluster(policy), result([replace], 0.5, 3))).toEqual(['price']);

    const overlay = {
      apiVersion: 'karpenter.sh/v1alpha1',
      kind: 'NodeOverlay',
      metadata: { name: 'discount' },
      spec: { requirements: [inValues('node.kubernetes.io/instance-type', 'm-4x')], price: '0.09' },
    } as KubernetesObject;
    // The nodes that are there cost 0.09 each, less than the smaller one to launch.
    const discounted = { ...replace, priceBefore: 0.27, priceAfter: 0.28 };
    expect(broken(cluster(overlay), result([discounted], 0.28, 3))).toEqual(['price']);
    const merged = { ...merge, priceBefore: 0.27, priceAfter: 0.18 };
    expect(broken(cluster(overlay), result([merged], 0.18, 2))).toEqual([]);
  });

  test('a budget for Empty also binds commands that remove empty nodes with others', () => {
    const both = command({ candidates: ['n1', 'n3'], moves: [{ pod: 'default/p1', to: 'n2' }], priceAfter: 0.2 });
    const [, ...rest] = cluster();
    const budgets = [{ nodes: '100%' }, { nodes: '0', reasons: ['Empty'] }];
    const objects = [nodePool('default', { disruption: { budgets } }), ...rest];
    expect(broken(objects, result([both], 0.2, 1))).toEqual(['disruption-budget']);
    expect(broken(objects, result([merge], 0.4, 2))).toEqual([]);
  });

  test('a pod may not move to a node whose consolidateAfter has not passed', () => {
    const [, ...rest] = cluster();
    const objects = [
      nodePool('default', { disruption: { budgets: [{ nodes: '100%' }], consolidateAfter: '30s' } }),
      ...rest,
    ];
    const at = (lastPodEventTime: string): KubernetesObject[] =>
      objects.map((each) => {
        if (each.kind !== 'NodeClaim') return each;
        const { status } = each as { status?: object };
        const conditions = [{ type: 'Initialized', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
        return { ...each, status: { ...status, lastPodEventTime, conditions } };
      });
    const now = Date.parse('2026-11-21T12:00:00Z');
    const rules = (time: string): Rule[] =>
      checkConsolidation({ items: at(time) }, catalogue, result([merge], 0.4, 2), now).violations.map(
        ({ rule }) => rule,
      );
    expect(rules('2026-11-21T11:59:50Z')).toEqual(['moves']);
    expect(rules('2026-11-21T11:59:00Z')).toEqual([]);
  });

  test('budgets bind each command', () => {
    const both = command({
      candidates: ['n1', 'n3'],
      moves: [{ pod: 'default/p1', to: 'n2' }],
      priceAfter: 0.2,
    });
    const [, ...rest] = cluster();
    expect(broken([pool('1'), ...rest], result([both], 0.2, 1))).toEqual(['disruption-budget']);
    expect(broken([pool('50%'), ...rest], result([both], 0.2, 1))).toEqual([]);
  });

  test.each<[string, string | undefined, boolean]>([
    ['is always open', undefined, true],
    ['opened this very minute', '0 12 * * *', true],
    ['opened within its duration', '30 11 * * *', true],
    ['closed long ago', '0 9 * * *', false],
    ['opens on another day', '0 12 * * 1-3', false],
  ])('a budget of 0 forbids a command while its schedule %s', (_, schedule, binds) => {
    const budgets = [{ nodes: '0', ...(schedule !== undefined && { schedule, duration: '1h' }) }];
    const [, ...rest] = cluster();
    const objects = [nodePool('default', { disruption: { budgets } }), ...rest];
    const saturday = Date.parse('2026-11-21T12:00:30Z');
    const { violations } = checkConsolidation({ items: objects }, catalogue, result([merge], 0.4, 2), saturday);
    expect(violations.map(({ rule }) => rule)).toEqual(binds ? ['disruption-budget'] : []);
  });

  test('nodes of static pools are not consolidated, and only empty nodes are removed as Empty', () => {
    const [, ...rest] = cluster();
    expect(broken([nodePool('default', { replicas: 3 }), ...rest], result([merge], 0.4, 2))).toContain('candidate');
    expect(broken(cluster(), result([{ ...merge, method: 'empty' }], 0.4, 2))).toEqual(['candidate']);
  });

  test('a launch may not be dearer than the removed nodes, whichever instance type it gets', () => {
    const steep = { ...small, offerings: [...small.offerings, offering('b', 'on-demand', 0.25)] };
    const open: ClaimJson = { ...claim, requirements: [] };
    const judge = (given: ClaimJson): string[] =>
      checkConsolidation(
        { items: cluster() },
        [steep, large],
        result([{ ...replace, replacements: [given] }], 0.5, 3),
      ).violations.map(({ message }) => message);
    expect(judge(claim)).toEqual([]);
    expect(judge(open)).toEqual(['command 0: may launch 0.25 for 0.2']);
  });

  test('under Balanced the saving has to be worth the evictions', () => {
    const [, ...rest] = cluster(...Array.from({ length: 9 }, (_, i) => onNode(`more-${i}`, i < 3 ? 'n1' : 'n9')));
    const balanced = nodePool('default', {
      disruption: { consolidationPolicy: 'Balanced', budgets: [{ nodes: '100%' }] },
    });
    const moves = ['p1', 'more-0', 'more-1', 'more-2'].map((name, i) => ({
      pod: `default/${name}`,
      to: i < 1 ? 'n2' : 'n3',
    }));
    // A third of the price for five eighths of the disruption is enough, for all but one of ten is not.
    expect(broken([balanced, ...rest], result([{ ...merge, moves }], 0.4, 2))).toEqual([]);
    const cheap = { ...large, offerings: [offering('a', 'on-demand', 0.02)] };
    const other = node('n1', { ...cheap, name: 'm-4y' });
    const dearer = [...rest.filter(({ metadata }) => metadata.name !== 'n1'), ...other];
    const verdict = checkConsolidation(
      { items: [balanced, ...dearer] },
      [...catalogue, { ...cheap, name: 'm-4y' }],
      result([{ ...merge, moves, priceBefore: 0.42, priceAfter: 0.4 }], 0.4, 2),
    );
    expect(verdict.violations.map(({ rule }) => rule)).toEqual(['candidate']);
  });
});
