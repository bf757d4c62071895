import { describe, expect, test } from '@jest/globals';
import { annotations, labels } from '../../api/labels.js';
import { bufferOf, huge, large, node, pending, pod, pool, type World } from '../../test/builders/consolidation.js';
import { bought, named, placed, simulationOf } from '../../test/builders/simulation.js';
import type { FleetNode } from './fleet.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';

const nameOf = (launch: number): string => `new-${launch}`;
const namesOf = (loads: FleetNode['loads']): string[] =>
  [...loads.values()].flat().map(({ metadata }) => metadata.name!);
/** A pod that takes all of a `small`, which is what new capacity for it costs. */
const whole = (name: string, on: string) =>
  pod(name, on, 2, {
    spec: { nodeName: on, containers: [{ name: 'main', resources: { requests: { cpu: '2', memory: '8Gi' } } }] },
  });

const stateOf = ({ nodes }: Simulation) =>
  nodes.map(({ name, loads, waiting, cost, gone, state }) => {
    return { name, loads: namesOf(loads), waiting: namesOf(waiting), cost, gone, free: [...state.free] };
  });

/** Removes nodes, whose pods go to targets and to launches. */
function attempt(simulation: Simulation, from: readonly string[], targets: readonly string[]): Outcome | undefined {
  simulation.setTargets(named(simulation, ...targets));
  return simulation.attempts.byPlacing(named(simulation, ...from), { search: { units: 0 }, most: 99 });
}
const moving = (...args: Parameters<typeof attempt>): Outcome => attempt(...args)!;

describe('simulated removal: what it has to save', () => {
  test('its price less new capacity for its pods is compared per disruption cost', () => {
    const simulation = simulationOf({ nodes: [node('n0', large), node('n1', large)], pods: [whole('web-0', 'n0')] });
    const [n0, n1] = named(simulation, 'n0', 'n1');
    expect(simulation.savingOf(n1!)).toBeCloseTo(0.2, 9);
    expect(simulation.savingOf(n0!)).toBeCloseTo((0.2 - 0.1) / 2, 9);
  });

  test("is the fleet's share that its pods have of all pods", () => {
    const pods = [0, 1, 2].map((i) => pod(`web-${i}`, 'n0', 1));
    const world = { nodes: [node('n0', large), node('n1', large)], pods: [...pods, pod('web-3', 'n1', 1)] };
    const weighed = simulationOf(world, { disruptionWeight: 0.1 });
    expect(weighed.disruptionOf(named(weighed, 'n0'))).toBeCloseTo(0.03, 9);
    expect(weighed.disruptionOf(named(weighed, 'n1', 'n0'))).toBeCloseTo(0.04, 9);
    const free = simulationOf(world);
    expect(free.disruptionOf(free.nodes)).toBe(0);
  });

  test('is 0 where no pod runs', () => {
    const empty = simulationOf({ nodes: [node('n0', large)] }, { disruptionWeight: 0.1 });
    expect(empty.disruptionOf(empty.nodes)).toBe(0);
  });
});

describe('simulated removal: pods that fit nowhere and cost nothing', () => {
  const nodes = [node('n0', huge), node('n1', large)];

  // Rule `consolidation/pods-without-weight`.
  test('are evicted, and no longer counted', () => {
    const simulation = simulationOf({
      nodes: [...nodes, node('n2', huge)],
      pods: [pod('web-0', 'n0', 1), pending('late-0', 15)],
    });
    const [n0, n1, n2] = named(simulation, 'n0', 'n1', 'n2');
    expect([n0!, n1!, n2!].map(({ waiting }) => namesOf(waiting))).toEqual([['late-0'], [], []]);
    simulation.remove(n0!);
    simulation.undo();
    expect([n0!.loads.size, [...n0!.state.free].every((amount) => amount < 0)]).toEqual([0, true]);
    expect(placed(moving(simulation, ['n0'], ['n2']))).toEqual(['n2: late-0']);
  });
});

describe('simulated removal: pods that stay on a candidate', () => {
  const owned = (kind: string) => ({ ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o' }] });
  const agent = pod('agent-0', 'n1', 1, { metadata: { name: 'agent-0', namespace: 'default', ...owned('DaemonSet') } });
  const done = pod('done-0', 'n1', 2, { status: { phase: 'Succeeded' } });
  const fits = (cpu: number): boolean => {
    const world = {
      nodes: [node('n0', huge), node('n1', large)],
      pods: [agent, done, pod('web-0', 'n0', cpu), pod('db-0', 'n1', 1)],
    };
    const simulation = simulationOf(world);
    simulation.setTargets(named(simulation, 'n1'));
    return simulation.attempts.byPlacing(named(simulation, 'n0')) !== undefined;
  };

  test('use its room, once, unless they have ended', () => {
    expect([fits(2), fits(2.5)]).toEqual([true, false]);
  });
});

describe('simulated removal: an undone outcome', () => {
  test('leaves everything as before', () => {
    const simulation = simulationOf({ nodes: [node('n0', huge), node('n1', large)], pods: [pod('web-0', 'n0', 3)] });
    const before = stateOf(simulation);
    expect(placed(moving(simulation, ['n0'], ['n1']))).toEqual(['n1: web-0']);
    simulation.undo();
    expect(stateOf(simulation)).toEqual(before);
  });
});

describe('simulated removal: an applied outcome', () => {
  const world: World = {
    nodes: [node('n0', huge), node('n1', large), node('n2', large)],
    pods: [pod('web-0', 'n0', 3), pod('db-0', 'n0', 2), pod('own-0', 'n1', 0.5), pending('late-0', 0.5)],
  };

  test('moves pods, removes its candidates and adds its launches', () => {
    const simulation = simulationOf(world);
    const [n0, n1] = named(simulation, 'n0', 'n1');
    const outcome = moving(simulation, ['n0'], ['n1']);
    expect([placed(outcome), bought(outcome)]).toEqual([['n1: late-0, web-0'], ['small: db-0']]);
    const [launched, ...others] = simulation.apply(outcome, nameOf);
    expect(others).toEqual([]);
    expect(n0).toMatchObject({ gone: true, loads: new Map(), waiting: new Map() });
    expect([namesOf(n1!.loads).sort(), namesOf(n1!.waiting)]).toEqual([['own-0', 'web-0'], ['late-0']]);
    // Pods that only wait are disturbed by nothing.
    expect(n1!.cost).toBe(3);
    expect(namesOf(launched!.loads)).toEqual(['db-0']);
    expect(launched).toMatchObject({ name: 'new-0', nodePool: 'default', instanceType: 'small', cost: 2, price: 0.1 });
    expect(simulation.nodes.at(-1)).toBe(launched);
  });

  test('adds launches that count, take pods and are removable like other nodes', () => {
    const simulation = simulationOf(world);
    const [launched] = simulation.apply(moving(simulation, ['n0'], ['n1']), nameOf);
    expect(launched).toMatchObject({
      counted: 'running',
      capacityType: 'on-demand',
      removable: true,
      onlyEmpty: false,
      open: true,
      gone: false,
      pool: { metadata: { name: 'default' } },
    });
    expect(placed(moving(simulation, ['new-0'], ['n2']))).toEqual(['n2: db-0']);
  });

  test('adds launches that are removable only while empty under WhenEmpty', () => {
    const pools = [pool('default'), pool('calm', { disruption: { consolidationPolicy: 'WhenEmpty' } })];
    const web = pod('web-0', 'n0', 1, { spec: { nodeName: 'n0', nodeSelector: { [labels.nodePool]: 'calm' } } });
    const simulation = simulationOf({ ...world, pods: [web], pools });
    const [launched] = simulation.apply(moving(simulation, ['n0'], []), nameOf);
    expect(launched).toMatchObject({ onlyEmpty: true, nodePool: 'calm', pool: pools[1] });
  });

  test('costs the guaranteed price of its replacements', () => {
    const simulation = simulationOf(world);
    const outcome = moving(simulation, ['n0'], ['n1']);
    const [claim] = simulation.describe(outcome)!;
    const planned = [{ ...claim!, cheapest: { ...claim!.cheapest, pricePerHour: 0.15 } }];
    expect(simulation.apply({ ...outcome, planned }, nameOf)[0]!.price).toBe(0.15);
  });

  // Rule `disruption-cost/of-a-pod`.
  test("raises a node's disruption cost by that of its new pods, none below zero", () => {
    const cheap = pod('cheap-0', 'n0', 1, { spec: { priority: -(2 ** 30), nodeName: 'n0' } });
    const dear = pod('dear-0', 'n0', 1, {
      metadata: { name: 'dear-0', annotations: { [annotations.podDeletionCost]: String(2 ** 27) } },
    });
    const simulation = simulationOf({ ...world, pods: [cheap, dear] });
    const [n1] = named(simulation, 'n1');
    simulation.apply(moving(simulation, ['n0'], ['n1']), nameOf);
    expect(n1!.cost).toBe(1 + 2);
    const other = simulationOf({ ...world, pods: [cheap, dear] });
    expect(other.apply(moving(other, ['n0'], []), nameOf).map(({ cost }) => cost)).toEqual([1 + 2]);
  });

  test("moves a capacity buffer's room to its launch, where it waits as before", () => {
    const simulation = simulationOf({ nodes: world.nodes, pods: [pod('web-0', 'n0', 1)], more: bufferOf(1, 1) });
    const outcome = moving(simulation, ['n0'], []);
    expect(bought(outcome)).toEqual(['small: spare-buffer-0, web-0']);
    const [launched] = simulation.apply(outcome, nameOf);
    expect([namesOf(launched!.loads), namesOf(launched!.waiting), launched!.cost]).toEqual([
      ['web-0'],
      ['spare-buffer-0'],
      2,
    ]);
  });
});

describe('simulated removal: withoutEffect', () => {
  const world: World = {
    nodes: [node('n0', huge), node('n1', large)],
    pods: [pod('web-0', 'n0', 3), pod('db-0', 'n0', 2), pod('own-0', 'n1', 0.5), pending('late-0', 0.5)],
  };
  test('changes are visible within it and forgotten afterwards', () => {
    const simulation = simulationOf(world);
    const before = stateOf(simulation);
    const meanwhile = simulation.withoutEffect(1, () => {
      simulation.apply(moving(simulation, ['n0'], ['n1']), nameOf);
      return stateOf(simulation);
    });
    expect(meanwhile.map(({ name, gone }) => [name, gone])).toEqual([
      ['n0', true],
      ['n1', false],
      ['new-0', false],
    ]);
    expect(stateOf(simulation)).toEqual(before);
  });

  test('launches cost no more than the given price within it', () => {
    const simulation = simulationOf(world);
    const isFound = (): boolean => {
      const outcome = attempt(simulation, ['n0'], ['n1']);
      if (outcome !== undefined) simulation.undo();
      return outcome !== undefined;
    };
    expect(simulation.withoutEffect(0.09, isFound)).toBe(false);
    expect(simulation.withoutEffect(0.11, isFound)).toBe(true);
    expect(isFound()).toBe(true);
  });
});
