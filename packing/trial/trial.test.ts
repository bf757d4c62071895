import { describe, expect, test } from '@jest/globals';
import type { DaemonSet, Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import {
  instanceType,
  node,
  packingInput,
  pod,
  podsOf,
  pool,
  type PodOptions,
} from '../../test/builders/packing-fixtures.js';
import { apart, near, spreads } from '../../test/builders/topology.js';
import type { NodeState } from '../place/node-states.js';
import type { Part } from '../place/part.js';
import type { PackingInput } from '../types.js';
import { Trial } from './trial.js';

const { hostname, zone, nodePool } = labels;
const web: PodOptions = { labels: { app: 'web' } };
const on = (nodeName: string, more: PodOptions = {}): PodOptions => ({ nodeName, ...more });
const types = [
  instanceType('m4', { cpu: 4, spot: 0, zones: ['zone-a', 'zone-b'] }),
  instanceType('m8', { cpu: 8, spot: 0, zones: ['zone-a', 'zone-b'] }),
];

/** A trial in which the nodes `going` may be taken away, with the pods that stay on them. */
function trialOf(
  objects: Partial<PackingInput['objects']>,
  going: Readonly<Record<string, readonly Pod[]>> = {},
  more: Partial<Omit<PackingInput, 'objects'>> = {},
) {
  const trial = new Trial({ ...packingInput(objects, { types }), ...more }, new Map(Object.entries(going)));
  const stateOf = (name: string): NodeState => trial.nodes.find(({ view }) => view.name === name)!;
  const cpus = (name: string): number => stateOf(name).free[0]! / 1000;
  const classOf = (own: Pod) => trial.classOf(own)!;
  const loads = (...pods: Pod[]) => {
    const all = new Map<ReturnType<typeof classOf>, Pod[]>();
    for (const each of pods) all.set(classOf(each), [...(all.get(classOf(each)) ?? []), each]);
    return all;
  };
  return { trial, stateOf, cpus, classOf, loads };
}
const search = { search: { units: 100 }, most: Infinity };

describe('nodes of a trial', () => {
  test('are those that stay and the candidates, each with the pods that stay on it', () => {
    const agent = pod('agent', on('gone', { cpu: '500m' }));
    const mover = pod('mover', on('gone'));
    const nodes = [node('stays'), node('gone'), node('out')];
    const { trial, cpus } = trialOf(
      { nodes, pods: [agent, mover] },
      { gone: [agent] },
      { withoutNodes: new Set(['out']) },
    );
    expect(trial.nodes.map(({ view }) => view.name)).toEqual(['gone', 'stays']);
    expect([cpus('gone'), cpus('stays')]).toEqual([3.5, 4]);
    expect(trial.classOf(mover)?.pods).toEqual([mover]);
    expect(trial.queue.flatMap(({ pods }) => pods)).toContain(mover);
    expect(trial.poolOf('default')?.metadata.name).toBe('default');
    expect(trial.poolOf('none')).toBeUndefined();
  });

  test('have all their room where no pods stay', () => {
    const mover = pod('mover', on('gone'));
    const { cpus, trial } = trialOf({ nodes: [node('gone')], pods: [mover] }, { gone: [] });
    expect(cpus('gone')).toBe(4);
    trial.occupy(trial.nodes[0]!, [mover, mover]);
    expect(cpus('gone')).toBe(2);
  });

  test('have no class for pods that cannot be placed', () => {
    const broken = pod('broken', { cpu: 'x' });
    const { trial } = trialOf({ pods: [broken] });
    expect(trial.classOf(broken)).toBeUndefined();
    expect(trial.queue).toEqual([]);
  });

  test('load: the requests of pods add up', () => {
    const [one, two] = [podsOf(2, 'p'), podsOf(1, 'q', { cpu: '2' })];
    const { trial, loads } = trialOf({ pods: [...one, ...two] });
    expect(trial.loadOf(loads(...one, ...two))[0]).toBe(4000);
  });
});

describe('steps of a trial', () => {
  const own = podsOf(2, 'p', on('gone'));
  const start = () => {
    const world = trialOf({ nodes: [node('gone'), node('a')], pods: own }, { gone: [] });
    world.trial.placer.settleOn(world.stateOf('gone'), world.loads(...own));
    world.trial.commit();
    return world;
  };

  test('are undone', () => {
    const { trial, stateOf, cpus, loads } = start();
    expect(cpus('gone')).toBe(2);
    expect(trial.placer.placements).toEqual([]);
    const { landed } = trial.begin();
    trial.removePods(stateOf('gone'), loads(...own));
    expect(stateOf('gone').free.every((amount) => amount === -1)).toBe(true);
    trial.placer.setTargets([stateOf('a')]);
    trial.begin();
    expect(trial.placer.place(loads(...own), false, [])).toBe(true);
    expect([landed, cpus('a')]).toEqual([0, 2]);
    expect(trial.placer.placementsSince(landed).map(({ pods }) => pods.length)).toEqual([2]);
    const more = trial.begin();
    trial.placer.place(loads(own[0]!), false, []);
    expect([more.landed, trial.placer.placementsSince(more.landed).map(({ pods }) => pods)]).toEqual([1, [[own[0]]]]);
    trial.undo();
    expect([cpus('gone'), cpus('a')]).toEqual([2, 4]);
  });

  test('are undone back to a mark', () => {
    const { trial, stateOf, cpus, loads } = start();
    trial.begin();
    trial.removePods(stateOf('gone'), new Map());
    const { mark } = trial.begin();
    trial.placer.place(loads(own[0]!), false, []);
    trial.backTo(mark);
    expect(cpus('a')).toBe(4);
    expect(stateOf('gone').free[0]).toBe(-1);
    trial.placer.place(loads(own[0]!), false, []);
    trial.undo();
    expect([cpus('gone'), cpus('a')]).toEqual([2, 4]);
  });

  test('stay after a commit', () => {
    const { trial, cpus, loads, stateOf } = start();
    trial.placer.setTargets([stateOf('a')]);
    trial.begin();
    trial.placer.place(loads(own[0]!), false, []);
    trial.commit();
    trial.undo();
    expect(cpus('a')).toBe(3);
  });

  test('stay only within withoutEffect', () => {
    const { trial, cpus, loads, stateOf } = start();
    trial.placer.setTargets([stateOf('a')]);
    const seen = trial.withoutEffect(() => {
      trial.begin();
      trial.placer.place(loads(own[0]!), false, []);
      trial.commit();
      trial.begin();
      trial.placer.place(loads(own[1]!), false, []);
      trial.undo();
      return cpus('a');
    });
    expect([seen, cpus('a')]).toEqual([3, 4]);
  });
});

describe('pods placed on target nodes of a trial', () => {
  const nodes = [node('a', { cpu: '2' }), node('b', { cpu: '2', zone: 'zone-b' })];

  test('fill them in order; the rest becomes parts, if nodes may be launched', () => {
    const own = podsOf(5, 'p');
    const { trial, stateOf, loads } = trialOf({ nodes, pods: own });
    trial.placer.setTargets([stateOf('b'), stateOf('a')]);
    const parts: Part[] = [];
    expect(trial.placer.place(loads(...own), true, parts)).toBe(true);
    expect(stateOf('b').pods).toEqual(own.slice(0, 2));
    expect(parts.map(({ count }) => count)).toEqual([1]);
    const other = trialOf({ nodes, pods: own });
    expect(other.trial.placer.place(other.loads(...own), false, [])).toBe(false);
  });

  test('fail where a pod fits nowhere', () => {
    const own = podsOf(1, 'p', { cpu: '99' });
    const { trial, loads } = trialOf({ nodes, pods: own });
    expect(trial.placer.place(loads(...own), true, [])).toBe(false);
  });

  test.each([
    ['queue', 'large-0'],
    ['alike', 'shy-0'],
  ] as const)('are placed in the order of %s', (filling, first) => {
    const large = podsOf(1, 'large', { cpu: '2' });
    const shy = podsOf(1, 'shy', { ...web, ...apart('web', hostname) });
    const { trial, stateOf, loads } = trialOf({ nodes: [node('a', { cpu: '2' })], pods: [...large, ...shy] });
    trial.placer.setTargets([stateOf('a')], filling);
    const parts: Part[] = [];
    trial.placer.place(loads(...shy, ...large), true, parts);
    expect(stateOf('a').pods.map(({ metadata }) => metadata.name)).toEqual([first]);
  });

  test('go to nodes whose free room resembles their requests', () => {
    const thirsty = podsOf(1, 'thirsty', { cpu: '1', memory: '7Gi' });
    const busy = podsOf(1, 'busy', { cpu: '3', memory: '1Gi' });
    const takenBy = (filling: 'queue' | 'alike') => {
      const sold = [
        instanceType('lean', { cpu: 4, memory: 8, price: 0.15, spot: 0 }),
        instanceType('rich', { cpu: 4, memory: 32, price: 0.25, spot: 0 }),
      ];
      const nodes = [node('a', { cpu: '8', memory: '8Gi' }), node('b', { cpu: '2', memory: '14Gi' })];
      const { trial, stateOf, loads } = trialOf(
        { nodes, pods: [...thirsty, ...busy] },
        {},
        { catalogues: new Map([['default', sold]]) },
      );
      trial.placer.setTargets([stateOf('a'), stateOf('b')], filling);
      trial.placer.place(loads(...thirsty), false, []);
      return trial.nodes.filter(({ pods }) => pods.length > 0).map(({ view }) => view.name);
    };
    expect([takenBy('queue'), takenBy('alike')]).toEqual([['a'], ['b']]);
  });

  test('with most siblings are placed first among restricted ones, by scarcity', () => {
    const few = podsOf(1, 'few', {
      labels: { app: 'few' },
      cpu: '1500m',
      ...spreads({ topologyKey: hostname, labelSelector: { matchLabels: { app: 'few' } } }),
    });
    const many = podsOf(2, 'many', { ...web, ...apart('web', hostname) });
    const { trial, stateOf, loads } = trialOf({ nodes: [node('a', { cpu: '2' })], pods: [...few, ...many] });
    trial.placer.setTargets([stateOf('a')], 'alike');
    trial.placer.place(loads(...few, ...many), true, []);
    expect(stateOf('a').pods.map(({ metadata }) => metadata.name)).toEqual(['many-0']);
  });

  test('with affinity are placed after those that they may select', () => {
    const fond = podsOf(1, 'fond', { cpu: '2', ...near('web') });
    const wanted = podsOf(1, 'web', { ...web, nodeSelector: { [zone]: 'zone-b' } });
    const { trial, loads } = trialOf({ pods: [...fond, ...wanted] });
    const parts: Part[] = [];
    expect(trial.placer.place(loads(...fond, ...wanted), true, parts)).toBe(true);
    expect(parts).toHaveLength(2);
  });

  test('give up preferences', () => {
    const own = podsOf(1, 'p', {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] } },
          ],
        },
      },
    });
    const { trial, stateOf, loads } = trialOf({ nodes: [node('a')], pods: own }, {}, { catalogues: new Map() });
    expect(trial.placer.place(loads(...own), false, [])).toBe(true);
    expect(stateOf('a').pods).toEqual(own);
  });

  test('that only wait need room, and nothing is launched for them', () => {
    const own = podsOf(3, 'p', { cpu: '2' });
    const { trial, classOf } = trialOf({ nodes, pods: own });
    expect(trial.placer.placeWaiting(classOf(own[0]!), own.slice(0, 2))).toBe(true);
    expect(trial.placer.placeWaiting(classOf(own[0]!), own.slice(2))).toBe(false);
  });
});

describe('pods placed on one given node of a trial', () => {
  const put = (options: PodOptions, count = 2, nodeOptions: Parameters<typeof node>[1] = {}, others: Pod[] = []) => {
    const own = podsOf(count, 'p', options);
    const { trial, stateOf, classOf } = trialOf({
      nodes: [node('a', nodeOptions), node('b', { zone: 'zone-b' })],
      pods: [...own, ...others],
    });
    return trial.placer.putAll(stateOf('a'), classOf(own[0]!), own);
  };

  test.each<[string, PodOptions, number, Parameters<typeof node>[1], boolean]>([
    ['have room', {}, 4, {}, true],
    ['have too little', {}, 5, {}, false],
    ['are kept off by taints', {}, 1, { taints: [{ key: 'own', effect: 'NoSchedule' }] }, false],
    ['are kept off by labels', { nodeSelector: { disk: 'ssd' } }, 1, {}, false],
    ['keep apart', { ...web, ...apart('web', hostname) }, 2, {}, false],
    ['are alone', { ...web, ...apart('web', hostname) }, 1, {}, true],
    ['are spread', { ...web, ...spreads() }, 2, {}, false],
    ['are spread, one', { ...web, ...spreads() }, 1, {}, true],
    ['want to be beside one another', { ...web, ...near('web', hostname) }, 2, {}, true],
    ['want to be beside others, of which none is there', near('db', hostname), 1, {}, false],
    ['go by a label that it does not have', { ...web, ...spreads({ topologyKey: 'rack' }) }, 1, {}, false],
  ])('%s', (_, options, count, nodeOptions, expected) => {
    expect(put(options, count, nodeOptions)).toBe(expected);
  });

  test('give up a preference that the node does not meet', () => {
    const preferring: PodOptions = {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: { matchExpressions: [{ key: zone, operator: 'In', values: ['zone-b'] }] } },
          ],
        },
      },
    };
    expect(put(preferring, 1)).toBe(true);
  });
});

describe('launches of a trial', () => {
  const own = podsOf(3, 'p', on('gone'));
  const world = (limits?: Record<string, string>) => {
    const made = trialOf(
      { nodes: [node('gone')], pods: own, nodePools: [pool('default', limits === undefined ? {} : { limits })] },
      { gone: [] },
    );
    made.trial.placer.setTargets([]);
    const parts: Part[] = [];
    made.trial.placer.place(made.loads(...own), true, parts);
    return { ...made, parts };
  };

  test('are bought for parts, below a highest price', () => {
    const { trial, parts } = world();
    const bought = trial.buy(parts, [], search).launches!;
    expect(bought.map(({ type, capacityType, price, counted }) => [type, capacityType, price, counted])).toEqual([
      ['m4', 'on-demand', 0.4, true],
    ]);
    expect(trial.buy(parts, [], { ...search, dearest: 0.3 }).launches).toBeUndefined();
    // The pods are worth 0.3 an hour at least.
    expect(trial.buy(parts, [], { ...search, most: 0.29 }).launches).toBeUndefined();
    expect(trial.buy(parts, [], { ...search, most: 0.5 }).launches).toHaveLength(1);
  });

  test('above a limit become possible when candidates are removed', () => {
    const { trial, parts, stateOf } = world({ nodes: '1' });
    expect(trial.buy(parts, [], search).launches).toBeUndefined();
    expect(trial.buy(parts, [stateOf('gone')], search).launches).toHaveLength(1);
    const byCpu = world({ cpu: '7' });
    expect(byCpu.trial.buy(byCpu.parts, [], search).launches).toBeUndefined();
    expect(byCpu.trial.buy(byCpu.parts, [byCpu.stateOf('gone')], search).launches).toHaveLength(1);
  });

  test('count toward limits, until they are released', () => {
    const { trial, parts } = world({ nodes: '2' });
    const [bought] = trial.buy(parts, [], search).launches!;
    const launched = trial.launch(bought!, undefined, 'new');
    expect(trial.buy(parts, [], search).launches).toBeUndefined();
    expect(trial.buy(parts, [launched], search).launches).toHaveLength(1);
    trial.release(launched);
    expect(trial.buy(parts, [], search).launches).toHaveLength(1);
    const second = trial.launch(bought!, undefined, 'second');
    expect(second.index).toBe(launched.index + 1);
    expect(trial.blank(bought!, 'blank').index).toBe(second.index + 1);
  });

  test('within withoutEffect count toward nothing afterwards', () => {
    const { trial, parts } = world({ nodes: '2' });
    const [bought] = trial.buy(parts, [], search).launches!;
    trial.withoutEffect(() => {
      trial.launch(bought!, undefined, 'new');
      expect(trial.buy(parts, [], search).launches).toBeUndefined();
    });
    expect(trial.buy(parts, [], search).launches).toHaveLength(1);
    expect(trial.launch(bought!, undefined, 'later').index).toBe(1);
  });

  test('become nodes with their pods on them', () => {
    const { trial, parts } = world();
    const [bought] = trial.buy(parts, [], search).launches!;
    const blank = trial.blank(bought!, 'blank');
    expect([blank.free[0], blank.host, blank.index]).toEqual([4000, 'blank', 1]);
    const launched = trial.launch(bought!, undefined, 'new');
    expect(launched.free[0]).toBe(1000);
    expect(launched.view).toMatchObject({
      name: 'new',
      initialized: true,
      deleting: false,
      labels: {
        [nodePool]: 'default',
        [labels.instanceType]: 'm4',
        [labels.capacityType]: 'on-demand',
        [hostname]: 'new',
      },
    });
    expect(launched.kind.taints).toEqual([]);
  });

  test('are described as NodeClaims, and found again by these', () => {
    const { trial, parts, loads } = world();
    const bought = trial.buy(parts, [], search).launches!;
    const [planned] = trial.describe(bought, [])!;
    expect(planned).toMatchObject({ nodePool: 'default', pods: ['default/p-0', 'default/p-1', 'default/p-2'] });
    expect(planned!.instanceTypes).toEqual(['m4', 'm8']);
    const again = trial.launchOf(planned!)!;
    expect([again.type, again.price, again.counted]).toEqual(['m4', 0.4, false]);
    expect(trial.launchOf({ ...planned!, instanceTypes: ['m4', 'gone'] })).toBeUndefined();
    expect(trial.launchOf({ ...planned!, instanceTypes: ['m8'] })?.type).toBe('m8');
    expect(trial.launchOf({ ...planned!, instanceTypes: ['m8', 'm4'] })?.type).toBe('m4');
    const ways = trial.launches.waysUnder(planned!);
    expect(ways('m8')).toEqual(
      ['zone-a', 'zone-b'].map((name) => ({ zone: name, capacityType: 'on-demand', price: 0.8 })),
    );
    expect(ways('none')).toEqual([]);
    const filled = trial.filled(again, loads(own[0]!));
    expect(filled.claim.members.map(({ pods }) => pods)).toEqual([[own[0]]]);
    expect(again.claim.members).toEqual([]);
    const { level } = bought[0]!.claim.members[0]!;
    expect(filled.claim.members[0]!.level).toBe(level);
    const turned = trial.filled(bought[0]!, loads(own[1]!, own[0]!));
    expect(turned.claim.members).toEqual([{ podClass: trial.classOf(own[0]!), level, pods: [own[1], own[0]] }]);
    const [both] = trial.describe([{ ...turned, whole: bought[0]!.claim }], [])!;
    expect(both!.pods).toEqual(['default/p-0', 'default/p-1']);
    const some = { ...bought[0]!, claim: filled.claim, whole: bought[0]!.claim };
    const [part] = trial.describe([some], [])!;
    expect(part!.pods).toEqual(['default/p-0']);
    expect(part!.why).toMatch(/, with 2 more pods to come in later steps$/);
    expect(trial.describe([{ ...bought[0]!, whole: bought[0]!.claim }], [])![0]!.why).toBe(planned!.why);
  });

  test('are of the row of their NodeClaim', () => {
    const { trial, parts } = world();
    const [bought] = trial.buy(parts, [], search).launches!;
    const [planned] = trial.describe([bought!], [])!;
    const launched = (cheapest: Partial<NonNullable<typeof planned>['cheapest']>) => {
      const { view } = trial.launch(bought!, { ...planned!, cheapest: { ...planned!.cheapest, ...cheapest } }, 'n');
      return [view.labels[labels.instanceType], view.labels[zone]];
    };
    expect(launched({})).toEqual(['m4', planned!.cheapest.zone]);
    expect(launched({ instanceType: 'm8', pricePerHour: 0.8, zone: 'zone-b' })).toEqual(['m8', 'zone-b']);
    const own = trial.blank(bought!, 'x').view.labels[zone];
    expect(launched({ instanceType: 'm8', pricePerHour: 0.7 })).toEqual(['m4', own]);
    expect(launched({ instanceType: 'm8', pricePerHour: 0.8, capacityType: 'spot' })).toEqual(['m4', own]);
    expect(launched({ instanceType: 'none' })).toEqual(['m4', own]);
  });

  test('list as many types as minValues requires (min-values/at-replacement)', () => {
    const varied = pool('default', { requirements: [{ key: labels.instanceType, operator: 'Exists', minValues: 2 }] });
    const { trial } = trialOf({ pods: own, nodePools: [varied] });
    const [planned] = trial.describe([], []) ?? [];
    expect(planned).toBeUndefined();
    const claim = {
      nodePool: 'default',
      requirements: [{ key: labels.instanceType, operator: 'Exists', minValues: 1 }],
    };
    const uniform = (relaxed: boolean, ...names: string[]) =>
      trial.launches.missMinValues(
        claim as unknown as Parameters<typeof trial.launches.missMinValues>[0],
        relaxed,
        names,
      );
    expect([uniform(false, 'm4'), uniform(false, 'm4', 'm8'), uniform(false, 'm4', 'none')]).toEqual([
      true,
      false,
      true,
    ]);
    expect([uniform(true, 'm4'), uniform(true)]).toEqual([false, true]);
    expect([trial.launches.offers('on-demand'), trial.launches.offers('spot')]).toEqual([true, false]);
    const { launches } = new Trial(packingInput({ pods: own }), new Map());
    expect(['on-demand', 'spot', 'reserved'].map((kind) => launches.offers(kind))).toEqual([true, true, false]);
  });

  test('get no limits back from nodes of other NodePools', () => {
    const nodes = [node('gone', { pool: 'other' })];
    const nodePools = [
      pool('default', { limits: { nodes: '0', cpu: '100' } }),
      pool('other', { taints: [{ key: 'own', effect: 'NoSchedule' }] }),
    ];
    const { trial, stateOf, loads } = trialOf({ nodes, pods: own, nodePools }, { gone: [] });
    trial.placer.setTargets([]);
    const parts: Part[] = [];
    trial.placer.place(loads(...own), true, parts);
    expect(trial.buy(parts, [stateOf('gone')], search).launches).toBeUndefined();
  });

  test('are in the required zone', () => {
    const { trial, parts } = world();
    const [planned] = trial.describe(trial.buy(parts, [], search).launches!, [])!;
    const zoneOf = (...values: string[]) => {
      const requirements = [
        ...planned!.requirements.filter(({ key }) => key !== zone),
        { key: zone, operator: 'In' as const, values },
      ];
      const launch = trial.launchOf({ ...planned!, requirements });
      return launch && trial.blank(launch, 'n').view.labels[zone];
    };
    expect([zoneOf('zone-a'), zoneOf('zone-b'), zoneOf('zone-x')]).toEqual(['zone-a', 'zone-b', undefined]);
    expect(trial.launchOf({ ...planned!, nodePool: 'none' })).toBeUndefined();
    expect(trial.launchOf({ ...planned!, cheapest: { ...planned!.cheapest, commitment: 'c' } })).toBeUndefined();
  });

  test('have the DaemonSets of their node', () => {
    const waiting = podsOf(3, 'w');
    const agent: DaemonSet = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent', namespace: 'kube-system' },
      spec: {
        selector: { matchLabels: { app: 'agent' } },
        template: {
          spec: { containers: [{ name: 'main', ports: [{ hostPort: 80 }], resources: { requests: { cpu: '500m' } } }] },
        },
      },
    };
    const { trial, loads } = trialOf({ pods: waiting, daemonSets: [agent] });
    const parts: Part[] = [];
    trial.placer.place(loads(...waiting), true, parts);
    const [bought] = trial.buy(parts, [], search).launches!;
    const blank = trial.blank(bought!, 'n');
    expect([blank.free[0], blank.ports.map(({ hostPort }) => hostPort), blank.pods]).toEqual([3500, [80], []]);
    expect(trial.launch(bought!, undefined, 'n').free[0]).toBe(500);
  });

  // Rule `topology/daemon-pods`.
  describe('whose DaemonSet pods are partners by zone', () => {
    const agent: DaemonSet = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent', namespace: 'default' },
      spec: {
        selector: { matchLabels: { app: 'agent' } },
        template: {
          metadata: { labels: { app: 'agent' } },
          spec: {
            containers: [{ name: 'main', resources: { requests: { cpu: '100m' } } }],
            nodeSelector: { [labels.instanceType]: 'm4' },
          },
        },
      },
    };
    const big = pod('big', on('gone', { cpu: '3', nodeSelector: { [zone]: 'zone-a', [labels.instanceType]: 'm4' } }));
    const small = (more: PodOptions): Pod =>
      pod('small', on('gone', { cpu: '500m', labels: { app: 'small' }, ...more }));
    /** `small` moves to a node in zone-a, for `big` a node with the agent is launched there. */
    const described = (mover: Pod, daemonSets = [agent]) => {
      const nodes = [node('stays', { cpu: '1' }), node('gone', { cpu: '8' })];
      const { trial, stateOf, loads } = trialOf({ nodes, pods: [big, mover], daemonSets }, { gone: [] });
      trial.placer.setTargets([stateOf('stays')]);
      trial.begin();
      const parts: Part[] = [];
      expect(trial.placer.place(loads(big, mover), true, parts)).toBe(true);
      const launches = trial.buy(parts, [], search).launches!;
      expect(trial.placer.placements.map(({ pods }) => pods)).toEqual([[mover]]);
      return trial.describe(launches, [])?.length;
    };

    test.each<[string, PodOptions]>([
      ['anti-affinity to them', apart('agent', zone)],
      [
        'a spread that counts them',
        {
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: zone,
              whenUnsatisfiable: 'DoNotSchedule',
              labelSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['agent', 'small'] }] },
            },
          ],
        },
      ],
    ])('are refused where a pod that moves into the zone has %s', (_, more) => {
      expect(described(small(more))).toBeUndefined();
      expect(described(small(more), [])).toBe(1);
      expect(described(small({}))).toBe(1);
    });
  });

  test('have a node kind each', () => {
    const { trial, parts } = world();
    const [bought] = trial.buy(parts, [], search).launches!;
    const kinds = [1, 2].map((i) => trial.launch(bought!, undefined, `n${i}`).kind.index);
    expect(kinds).toEqual([-2, -3]);
  });

  test('have the host ports of their pods', () => {
    const ported = podsOf(1, 'p', {
      containers: [{ name: 'main', ports: [{ hostPort: 81 }], resources: { requests: { cpu: '1' } } }],
    });
    const { trial, loads } = trialOf({ pods: ported });
    const parts: Part[] = [];
    trial.placer.place(loads(...ported), true, parts);
    const launched = trial.launch(trial.buy(parts, [], search).launches![0]!, undefined, 'n');
    expect(launched.ports.map(({ hostPort }) => hostPort)).toEqual([81]);
  });

  test('of an unknown NodePool meet no minValues', () => {
    const { trial } = trialOf({ pods: own });
    const claim = (...keys: readonly (readonly [string, number])[]) =>
      ({
        nodePool: 'default',
        requirements: keys.map(([key, minValues]) => ({ key, operator: 'Exists', minValues })),
      }) as unknown as Parameters<typeof trial.launches.missMinValues>[0];
    const one = claim([labels.instanceType, 1]);
    expect(trial.launches.missMinValues({ ...one, nodePool: 'none' }, false, ['m4'])).toBe(true);
    expect(trial.launches.missMinValues(claim(), true, [])).toBe(false);
    expect(trial.launches.missMinValues(claim([labels.instanceType, 1], [zone, 9]), true, ['m4'])).toBe(true);
    expect(trial.launches.missMinValues(one, false, [])).toBe(false);
  });
});

describe('topology counts of a trial', () => {
  const spread = (maxSkew: number): PodOptions => ({ ...web, ...spreads({ maxSkew }) });

  test('leave out pods that are removed from their node', () => {
    const own = podsOf(1, 'p', { ...spread(1), nodeName: 'a' });
    const { trial, stateOf, loads, classOf } = trialOf(
      { nodes: [node('a'), node('a2')], pods: own },
      { a: [], a2: [] },
    );
    trial.placer.settleOn(stateOf('a'), loads(...own));
    trial.begin();
    expect(trial.placer.putAll(stateOf('a2'), classOf(own[0]!), own)).toBe(false);
    trial.undo();
    trial.begin();
    trial.removePods(stateOf('a'), loads(...own));
    expect(trial.placer.putAll(stateOf('a2'), classOf(own[0]!), own)).toBe(true);
  });

  test.each([
    ['that have them already', true, 1],
    ['that do not', false, 2],
  ])('include pods of launches %s', (_, counted, inZone) => {
    const own = podsOf(3, 'p', spread(2));
    const { trial, stateOf, loads, classOf } = trialOf({ nodes: [node('a', { cpu: '16' })], pods: own });
    trial.placer.setTargets([]);
    const parts: Part[] = [];
    trial.placer.place(loads(own[0]!), true, parts);
    const [bought] = trial.buy(parts, [], search).launches!;
    trial.launch({ ...bought!, counted }, undefined, 'n');
    trial.commit();
    // Two may be in the zone while the other is empty.
    trial.placer.setTargets([stateOf('a')]);
    const more = [1, 2].filter((count) => {
      trial.begin();
      const fits = trial.placer.putAll(stateOf('a'), classOf(own[0]!), own.slice(0, count));
      trial.undo();
      return fits;
    });
    expect(Math.max(0, ...more)).toBe(2 - inZone);
  });
});
