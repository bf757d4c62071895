import { describe, expect, test } from '@jest/globals';
import type { Launch, Level, NodeState, PodClass, Worth } from '../../packing/trial.js';
import { pod } from '../../test/builders/consolidation.js';
import { FleetPlan } from './fleet-plan.js';

const [web, db] = [{ index: 0 } as PodClass, { index: 1 } as PodClass];
const [one, two] = [{ index: 0 } as NodeState, { index: 1 } as NodeState];
const level = { tolerations: [] } as unknown as Level;
const pods = (count: number) => Array.from({ length: count }, (_, i) => pod(`p${i}`, 'n', 1));
const worth: Pick<Worth, 'of'> = { of: (demand) => demand[0]! };
/** A pod of `web` is worth 1, one of `db` 10. */
const demandOf = (podClass: PodClass) => Float64Array.of(podClass === web ? 1 : 10);

const launchOf = (price: number, ...members: readonly (readonly [PodClass, number])[]): Launch =>
  ({
    price,
    type: 't',
    claim: { row: 0, members: members.map(([podClass, count]) => ({ podClass, level, pods: pods(count) })) },
  }) as unknown as Launch;

const planOf = (
  placements: readonly (readonly [NodeState, PodClass, number])[],
  ...launches: readonly Launch[]
): FleetPlan =>
  new FleetPlan({
    placements: placements.map(([node, podClass, count]) => ({ node, podClass, pods: pods(count) })),
    launches,
  });

/** `pods of class to where` of each step. */
function routed(
  plan: FleetPlan,
  loads: readonly (readonly [PodClass, number])[],
  first?: number,
): string[] | undefined {
  const all = pods(20);
  const given = new Map(loads.map(([podClass, count]) => [podClass, all.slice(0, count)]));
  return plan.route(given, worth, demandOf, first)?.map(({ podClass, pods: own, to }) => {
    const where = typeof to === 'number' ? `launch ${to}` : `node ${to.index}`;
    return `${own.map(({ metadata }) => metadata.name).join()} of ${podClass.index} to ${where}`;
  });
}

describe('a fleet plan', () => {
  const plan = () =>
    planOf(
      [
        [one, web, 2],
        [two, web, 1],
      ],
      launchOf(1, [web, 2]),
      launchOf(1, [web, 4], [db, 1]),
    );

  test('knows which nodes are filled, and the relaxation levels of pods on launches', () => {
    expect(plan().filled).toEqual(new Set([one, two]));
    expect(plan().levelOf(1, db)).toBe(level);
    expect(plan().launches).toHaveLength(2);
  });

  test('fills existing nodes first, then the launch with most room for its price', () => {
    expect(routed(plan(), [[web, 2]])).toEqual(['p0,p1 of 0 to node 0']);
    expect(routed(plan(), [[web, 3]])).toEqual(['p0,p1 of 0 to node 0', 'p2 of 0 to node 1']);
    expect(routed(plan(), [[web, 8]])).toEqual([
      'p0,p1 of 0 to node 0',
      'p2 of 0 to node 1',
      'p3,p4,p5,p6 of 0 to launch 1',
      'p7 of 0 to launch 0',
    ]);
  });

  test('has routes for no more pods than it was made for', () => {
    expect(routed(plan(), [[web, 10]])).toBeUndefined();
    expect(routed(plan(), [[db, 2]])).toBeUndefined();
    expect(routed(planOf([]), [[web, 1]])).toBeUndefined();
    expect(routed(plan(), [])).toEqual([]);
  });

  test('opens the requested launch first', () => {
    expect(routed(planOf([], launchOf(1, [web, 2]), launchOf(1, [web, 4])), [[web, 3]], 0)).toEqual([
      'p0,p1 of 0 to launch 0',
      'p2 of 0 to launch 1',
    ]);
  });

  test('weighs the room of launches by worth and price', () => {
    const launches = [launchOf(1, [web, 4]), launchOf(1, [db, 1])];
    expect(
      routed(planOf([], ...launches), [
        [web, 4],
        [db, 1],
      ]),
    ).toEqual(['p0 of 1 to launch 1', 'p0,p1,p2,p3 of 0 to launch 0']);
    const dear = [launchOf(1, [web, 3]), launchOf(9, [web, 4])];
    expect(routed(planOf([], ...dear), [[web, 4]])).toEqual(['p0,p1,p2 of 0 to launch 0', 'p3 of 0 to launch 1']);
    const equal = [launchOf(1, [web, 3]), launchOf(1, [web, 3])];
    expect(routed(planOf([], ...equal), [[web, 3]])).toEqual(['p0,p1,p2 of 0 to launch 0']);
    const both = [launchOf(1, [web, 15]), launchOf(1, [web, 6], [db, 1])];
    expect(
      routed(planOf([], ...both), [
        [web, 8],
        [db, 1],
      ])?.[0],
    ).toBe('p0,p1,p2,p3,p4,p5 of 0 to launch 1');
    // Room beyond the pods at hand is worth nothing.
    const wide = [launchOf(1, [web, 2]), launchOf(2, [web, 9])];
    expect(routed(planOf([], ...wide), [[web, 2]])).toEqual(['p0,p1 of 0 to launch 0']);
  });

  test('opens no launch twice, and uses none that is full', () => {
    const own = planOf([], launchOf(1, [web, 2]), launchOf(2, [web, 2]));
    own.done([{ podClass: web, pods: pods(2), to: 0 }], () => one);
    expect(routed(own, [[web, 2]])).toEqual(['p0,p1 of 0 to launch 1']);
  });
});

describe('the rest of a fleet plan', () => {
  test('has the launches that are not opened, the dearest first', () => {
    const own = planOf(
      [[one, web, 1]],
      launchOf(1, [web, 2]),
      launchOf(3, [web, 2]),
      launchOf(1, [db, 1]),
      launchOf(2),
    );
    expect(own.unopened()).toEqual([1, 0, 2]);
    own.done([{ podClass: web, pods: pods(1), to: 1 }], () => two);
    expect(own.unopened()).toEqual([0, 2]);
  });

  test('is reduced by each command, whose launches are nodes', () => {
    const own = planOf([[one, web, 2]], launchOf(1, [web, 3], [db, 1]));
    own.done(
      [
        { podClass: web, pods: pods(1), to: one },
        { podClass: web, pods: pods(2), to: 0 },
      ],
      (index) => (index === 0 ? two : one),
    );
    expect(
      routed(own, [
        [web, 2],
        [db, 1],
      ]),
    ).toEqual(['p0 of 0 to node 0', 'p1 of 0 to node 1', 'p0 of 1 to node 1']);
    expect(routed(own, [[web, 3]])).toBeUndefined();
    expect(own.unopened()).toEqual([]);
  });

  test('takes a step from the place with that many left', () => {
    const own = planOf([
      [one, web, 1],
      [one, web, 3],
    ]);
    own.done([{ podClass: web, pods: pods(2), to: one }], () => two);
    own.done([{ podClass: db, pods: pods(2), to: one }], () => two);
    expect(routed(own, [[web, 2]])).toEqual(['p0 of 0 to node 0', 'p1 of 0 to node 0']);
    expect(routed(own, [[web, 3]])).toBeUndefined();
  });

  test('gives an opened launch the pods planned there, first at the size for all', () => {
    const launch = launchOf(1, [web, 3]);
    const members = [{ podClass: web, level, pods: pods(1) }];
    const opened = planOf([], launch).opening(0, members);
    expect(opened).toMatchObject({ price: 1, counted: false, whole: launch.claim });
    expect(opened.claim).toEqual({ ...launch.claim, members });
  });
});

describe('nodes that one launch can serve', () => {
  const nodeOf = (name: string, ...loads: readonly (readonly [PodClass, number])[]) => ({
    name,
    loads: new Map(loads.map(([podClass, count]) => [podClass, pods(count)])),
  });
  const names = (nodes: readonly { name: string }[]) => nodes.map(({ name }) => name).join();

  test('are those whose pods fit there and on existing nodes, in order', () => {
    const own = planOf([[one, web, 1]], launchOf(1, [web, 3]), launchOf(1, [web, 9]));
    const nodes = [nodeOf('a', [web, 2]), nodeOf('b', [web, 3]), nodeOf('c', [web, 2]), nodeOf('d', [web, 1])];
    expect(names(own.servedBy(nodes, 0))).toBe('a,c');
    expect(names(own.servedBy(nodes, 1))).toBe('a,b,c,d');
  });

  test('need room for all classes of pods', () => {
    const own = planOf([], launchOf(1, [web, 3], [db, 1]));
    const nodes = [
      nodeOf('a', [web, 1], [db, 2]),
      nodeOf('b', [web, 2], [db, 1]),
      nodeOf('c', [{} as PodClass, 1]),
      nodeOf('d', [web, 1]),
    ];
    expect(names(own.servedBy(nodes, 0))).toBe('b,d');
  });
});
