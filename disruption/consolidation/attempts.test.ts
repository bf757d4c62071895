import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import {
  apartBy,
  bufferOf,
  huge,
  large,
  node,
  pending,
  pod,
  pool,
  small,
  type,
  type World,
} from '../../test/builders/consolidation.js';
import { bought, named, placed, simulationOf } from '../../test/builders/simulation.js';
import { FleetPlan } from './fleet-plan.js';
import type { Purchase } from './outcome.js';
import type { Simulation } from './simulation.js';

const buying: Purchase = { search: { units: 0 }, most: 99 };
const nameOf = (launch: number): string => `new-${launch}`;
/** Pods of app `web`, at most one of them in the zone: what is counted wrongly leaves none a place, or places for two. */
const alone = (name: string, on: string) =>
  pod(name, on, 1, { spec: { ...apartBy(labels.zone, 'web'), nodeName: on } });

/** Moves the pods of nodes, by name, to targets. */
function placing(simulation: Simulation, from: readonly string[], targets: readonly string[], purchase?: Purchase) {
  simulation.setTargets(named(simulation, ...targets));
  return simulation.attempts.byPlacing(named(simulation, ...from), purchase);
}

describe('placing pods of an attempt', () => {
  const world: World = {
    nodes: [node('n0', huge), node('n1', large)],
    pods: [pod('web-0', 'n0', 3), pod('db-0', 'n0', 2)],
  };

  test('uses target nodes, and launches where they may be bought', () => {
    const outcome = placing(simulationOf(world), ['n0'], ['n1'], buying)!;
    expect([placed(outcome), bought(outcome)]).toEqual([['n1: web-0'], ['small: db-0']]);
  });

  test('fails where some pods fit nowhere, and then changes nothing', () => {
    const simulation = simulationOf(world);
    const room = () => simulation.nodes.map(({ state }) => [...state.free]);
    const before = room();
    expect(placing(simulation, ['n0'], ['n1'])).toBeUndefined();
    expect(placing(simulation, ['n0'], [], { ...buying, most: 0.1 })).toBeUndefined();
    simulation.attempts.highestPrice = 0.05;
    expect(placing(simulation, ['n0'], ['n1'], buying)).toBeUndefined();
    expect(room()).toEqual(before);
  });

  test('buys nothing for the rest alone where no other pod shares the launch', () => {
    const forRest = (targets: readonly string[], onlyForRest: boolean) =>
      placing(simulationOf({ ...world, pods: [pod('web-0', 'n0', 1)] }), ['n0'], targets, { ...buying, onlyForRest });
    expect(bought(forRest([], false)!)).toEqual(['small: web-0']);
    expect(forRest([], true)).toBeUndefined();
    expect(placed(forRest(['n1'], true)!)).toEqual(['n1: web-0']);
    const empty = simulationOf({ nodes: world.nodes });
    expect(placing(empty, ['n0'], [], { ...buying, onlyForRest: true })).toMatchObject({
      placements: [],
      launches: [],
    });
  });

  test('includes pods that only wait for room, for which launches are bought if there is no other', () => {
    const waiting = (cpu: number): World => ({ ...world, pods: [pending('late-0', cpu)] });
    expect(placed(placing(simulationOf(waiting(3)), ['n0'], ['n1'])!)).toEqual(['n1: late-0']);
    expect(placing(simulationOf(waiting(3)), ['n0'], [])).toBeUndefined();
    expect(bought(placing(simulationOf(waiting(3)), ['n0'], ['n1'], buying)!)).toEqual([]);
    expect(bought(placing(simulationOf(waiting(3)), ['n0'], [], buying)!)).toEqual(['large: late-0']);
  });

  // Rule `capacity-buffers/nodes-are-not-empty`.
  test('includes pods of a capacity buffer, for which launches are bought with others', () => {
    const buffered = () => simulationOf({ nodes: world.nodes, more: bufferOf(2, 1) });
    expect(bought(placing(buffered(), ['n0'], [], buying)!)).toEqual(['small: spare-buffer-0, spare-buffer-1']);
    expect(placing(buffered(), ['n0'], [])).toBeUndefined();
  });
});

describe('placing pods on one new node', () => {
  const zoned = (name: string, cpu: number, a: number, b: number) =>
    type(name, cpu, 4 * cpu, { 'a/on-demand': a, 'b/on-demand': b });
  // For each pod alone zone a is cheaper, for both together zone b.
  const t16 = zoned('t16', 16, 0.8, 0.8);
  const types = [zoned('t2', 2, 0.1, 0.11), zoned('t4', 4, 0.25, 0.2), t16];
  const near = (name: string, topologyKey: string) => {
    const term = { labelSelector: { matchLabels: { app: name.split('-')[0]! } }, topologyKey };
    return { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  };
  const alike = (name: string, topologyKey: string) =>
    pod(name, 'n0', 1.5, { spec: { nodeName: 'n0', affinity: near(name, topologyKey) } });

  test.each([labels.zone, labels.hostname])('tries each zone for all of them, with affinity by %s', (topologyKey) => {
    const pods = [alike('web-0', topologyKey), alike('web-1', topologyKey)];
    const simulation = simulationOf({ types, nodes: [node('n0', t16)], pods });
    const [launch] = simulation.attempts.onOneNode(named(simulation, 'n0'), 0.3)!.launches;
    expect([launch?.type, launch?.price]).toEqual(['t4', 0.2]);
    simulation.undo();
    expect(simulation.attempts.onOneNode(named(simulation, 'n0'), 0.2)).toBeUndefined();
  });

  test('leaves those on targets that have room there, and takes capacity buffers along', () => {
    const pods = [pod('big-0', 'n0', 3), pod('web-0', 'n0', 1.5)];
    const simulation = simulationOf({
      types,
      nodes: [node('n0', t16), node('n1', large)],
      pods,
      more: bufferOf(2, 1),
    });
    simulation.setTargets(named(simulation, 'n1'));
    const outcome = simulation.attempts.onOneNode(named(simulation, 'n0'), 1)!;
    expect([placed(outcome), bought(outcome)]).toEqual([['n1: big-0, spare-buffer-0'], ['t4: spare-buffer-1, web-0']]);
  });

  test('changes nothing where their rules keep them apart', () => {
    const simulation = simulationOf({
      types,
      nodes: [node('n0', t16)],
      pods: [alone('web-0', 'n0'), alone('web-1', 'n0')],
    });
    const before = [...simulation.nodes[0]!.state.free];
    expect(simulation.attempts.onOneNode(named(simulation, 'n0'), 9)).toBeUndefined();
    expect([...simulation.nodes[0]!.state.free]).toEqual(before);
  });
});

describe('removing one more node in an attempt', () => {
  const nodes = [node('n0', large), node('n1', large), node('n2', large)];

  test('moves its own pods and those moved to it before, and no others', () => {
    const pods = [pod('big-0', 'n0', 3), pod('web-0', 'n0', 1.5), pod('own-0', 'n2', 1.5)];
    const simulation = simulationOf({ nodes: [...nodes, node('n3', large)], pods });
    const first = placing(simulation, ['n0'], ['n1', 'n2', 'n3'])!;
    expect(placed(first)).toEqual(['n1: big-0', 'n2: web-0']);
    const more = named(simulation, 'n2');
    expect(simulation.attempts.extend(more[0]!)).toBe(true);
    const both = simulation.attempts.extended(first, more);
    expect(both.candidates.map(({ name }) => name)).toEqual(['n0', 'n2']);
    expect([placed(both), both.launches]).toEqual([['n1: big-0', 'n3: own-0, web-0'], []]);
  });

  test('is undone where they find no room', () => {
    const pods = [pod('big-0', 'n0', 2), pod('own-0', 'n1', 1), pod('own-1', 'n2', 2)];
    const simulation = simulationOf({ nodes, pods });
    const first = placing(simulation, ['n0'], ['n1', 'n2'])!;
    expect(simulation.attempts.extend(named(simulation, 'n2')[0]!)).toBe(false);
    expect(placed(simulation.attempts.extended(first, []))).toEqual(['n1: big-0']);
  });

  test('no longer counts pods moved to it in its zone', () => {
    const simulation = simulationOf({ nodes, pods: [alone('web-0', 'n0')] });
    const first = placing(simulation, ['n0'], ['n1', 'n2'])!;
    const more = named(simulation, 'n1');
    expect(simulation.attempts.extend(more[0]!)).toBe(true);
    expect(placed(simulation.attempts.extended(first, more))).toEqual(['n2: web-0']);
  });

  test('requires that pods waiting there find other room', () => {
    const extended = (cpu: number): boolean => {
      const simulation = simulationOf({ nodes, pods: [pending('late-0', 3), pod('own-0', 'n1', cpu)] });
      placing(simulation, ['n2'], ['n1']);
      return simulation.attempts.extend(named(simulation, 'n0')[0]!);
    };
    expect([extended(1), extended(2)]).toEqual([true, false]);
  });

  test('also of waiting pods that came there from another node', () => {
    const simulation = simulationOf({ nodes, pods: [pending('late-0', 1, apartBy(labels.zone, 'late'))] });
    const first = placing(simulation, ['n0'], ['n1', 'n2'])!;
    expect(placed(first)).toEqual(['n1: late-0']);
    expect(simulation.attempts.extend(named(simulation, 'n1')[0]!)).toBe(true);
    expect(placed(simulation.attempts.extended(first, named(simulation, 'n1')))).toEqual(['n2: late-0']);
  });
});

describe('moving pods along a fleet plan', () => {
  const world: World = {
    nodes: [node('n0', huge), node('n1', large)],
    pods: [pod('web-0', 'n0', 2), pod('db-0', 'n0', 3), pod('own-0', 'n1', 1)],
  };
  /** The plan that fills these targets with the pods of n0 and buys for the rest, and the attempt to follow it. */
  function following(more: Partial<World>, targets: readonly string[]) {
    const simulation = simulationOf({ ...world, ...more });
    const plan = new FleetPlan(placing(simulation, ['n0'], targets, buying)!);
    simulation.undo();
    return { simulation, plan, follow: () => simulation.attempts.byPlan(named(simulation, 'n0'), plan) };
  }

  test('uses the same nodes and launches as the plan', () => {
    const outcome = following({}, ['n1']).follow()!;
    expect([placed(outcome), bought(outcome)]).toEqual([['n1: db-0'], ['small: web-0']]);
    expect(outcome.route?.map(({ to }) => (typeof to === 'number' ? to : to.view.name))).toEqual(['n1', 0]);
  });

  test('fails where rules forbid a step, and then changes nothing', () => {
    const { simulation, follow } = following({}, ['n1']);
    const [n0, n1] = named(simulation, 'n0', 'n1');
    const free = [...n0!.state.free];
    simulation.trial.occupy(n1!.state, [pod('more-0', 'n1', 1)]);
    expect(follow()).toBeUndefined();
    expect([...n0!.state.free]).toEqual(free);
  });

  test('fails where the plan lacks a pod or a waiting pod finds no room', () => {
    const { simulation, plan } = following({}, ['n1']);
    expect(simulation.attempts.byPlan(named(simulation, 'n0', 'n1'), plan)).toBeUndefined();
    const waiting = following({ pods: [pod('web-0', 'n0', 3), pending('late-0', 1)] }, ['n1']);
    expect(placed(waiting.follow()!)).toEqual(['n1: late-0, web-0']);
    waiting.simulation.undo();
    waiting.simulation.trial.occupy(named(waiting.simulation, 'n1')[0]!.state, [pod('more-0', 'n1', 1)]);
    expect(waiting.follow()).toBeUndefined();
  });

  test('counts pods on launches once the launches exist', () => {
    const zoned: Partial<World> = { pods: [alone('web-0', 'n0')] };
    const { simulation, follow } = following(zoned, []);
    const [launched] = simulation.apply(follow()!, nameOf);
    expect(placed(placing(simulation, [launched!.name], ['n1'])!)).toEqual(['n1: web-0']);
  });

  test('gives each launch its own host name', () => {
    const apart = (name: string) =>
      pod(name, 'n0', 1, { spec: { ...apartBy(labels.hostname, 'web'), nodeName: 'n0' } });
    const spread = following({ pods: [apart('web-0'), apart('web-1')] }, []);
    expect(bought(spread.follow()!)).toEqual(['small: web-0', 'small: web-1']);
  });
});

describe('moving pods as a command recorded', () => {
  const world: World = {
    nodes: [node('n0', huge), node('n1', large)],
    pods: [pod('web-0', 'n0', 3), pod('db-0', 'n0', 2)],
  };
  /** What removing n0 comes to in one world, decided again in another. */
  function decidedIn(first: World, targets: readonly string[], then: World = first) {
    const before = simulationOf(first);
    const decided = before.describe(placing(before, ['n0'], targets, buying)!)!;
    const simulation = simulationOf(then);
    simulation.setTargets(named(simulation, ...targets));
    return { simulation, outcome: simulation.attempts.byDecision(named(simulation, 'n0'), decided) };
  }

  test('uses its replacements as they can be launched now, and targets for the rest', () => {
    const { outcome } = decidedIn(world, ['n1']);
    expect([placed(outcome!), bought(outcome!)]).toEqual([['n1: web-0'], ['small: db-0']]);
  });

  const limited = pool('default');
  limited.spec.limits = { cpu: '5' };
  test.each<[string, World]>([
    ['a type is not offered any more', { ...world, types: [large, huge] }],
    ['a pod has grown beyond the replacement', { ...world, pods: [pod('web-0', 'n0', 3), pod('db-0', 'n0', 3)] }],
    ['the rest has no room on targets', { ...world, pods: [...world.pods!, pod('new-0', 'n0', 2)] }],
    ['what waits has no room', { ...world, pods: [...world.pods!, pending('late-0', 11)] }],
    ['limits no longer allow a replacement', { ...world, pools: [limited] }],
  ])('fails where %s', (_, then) => {
    const { simulation, outcome } = decidedIn(world, ['n1'], then);
    expect(outcome).toBeUndefined();
    const fresh = simulationOf(then);
    expect(simulation.nodes.map(({ state }) => [...state.free])).toEqual(
      fresh.nodes.map(({ state }) => [...state.free]),
    );
  });

  // A record names a bounded number of pods.
  test.each([0, 1, 2])('uses replacements for three pods of which the record names %d for each', (known) => {
    const three: World = { ...world, pods: ['web-0', 'web-1', 'web-2'].map((name) => pod(name, 'n0', 1)) };
    const before = simulationOf(three);
    const planned = before.describe(placing(before, ['n0'], [], buying)!)!;
    const simulation = simulationOf(three);
    simulation.setTargets([]);
    const decided = planned.map((claim) => ({ ...claim, pods: claim.pods.slice(0, known) }));
    const outcome = simulation.attempts.byDecision(named(simulation, 'n0'), decided);
    expect(bought(outcome!)).toEqual(['small: web-0, web-1', 'small: web-2']);
  });

  test('requires that all pods of a replacement fit on it', () => {
    const pods = (cpu: number) => [pod('web-0', 'n0', 1), pod('db-0', 'n0', cpu)];
    expect(bought(decidedIn({ ...world, pods: pods(3) }, []).outcome!)).toEqual(['large: db-0, web-0']);
    expect(decidedIn({ ...world, pods: pods(3) }, [], { ...world, pods: pods(4) }).outcome).toBeUndefined();
  });

  test('gives each replacement its own host name', () => {
    const apart = (name: string) =>
      pod(name, 'n0', 1, { spec: { ...apartBy(labels.hostname, 'web'), nodeName: 'n0' } });
    const spread = { ...world, pods: [apart('web-0'), apart('web-1')] };
    expect(bought(decidedIn(spread, []).outcome!)).toEqual(['small: web-0', 'small: web-1']);
  });

  test('counts each pod in its zone once', () => {
    const zoned: World = { nodes: [node('n0', huge), node('n1', small)], pods: [alone('web-0', 'n0')] };
    const { simulation, outcome } = decidedIn(zoned, []);
    const [launched] = simulation.apply(outcome!, nameOf);
    expect(placed(placing(simulation, [launched!.name], ['n1'])!)).toEqual(['n1: web-0']);

    const both = type('both', 4, 16, { 'a/on-demand': 0.2, 'b/on-demand': 0.2 });
    const others: World = {
      nodes: [node('n0', both), node('n1', both), node('n2', both, { zone: 'b' }), node('n3', both)],
      pods: [alone('web-0', 'n0'), alone('web-1', 'n2')],
      types: [both],
    };
    const moved = decidedIn(others, ['n1']);
    moved.simulation.apply(moved.outcome!, nameOf);
    expect(placing(moved.simulation, ['n2'], ['n3'])).toBeUndefined();
  });
});
