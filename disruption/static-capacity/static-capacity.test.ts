import { describe, expect, test } from '@jest/globals';
import type { Condition, Pod } from '../../api/kubernetes.js';
import { annotations } from '../../api/labels.js';
import { nodeClaim, nodePool } from '../../test/builders/activity-world.js';
import type { NodeView } from '../candidates/candidates.js';
import { nodeLimit, staticCounts, staticDriftRoom, staticPlan, whyNoDriftRoom } from './static-capacity.js';
import type { StaticContext, StaticPlan } from './static-capacity.js';

const now = Date.parse('2026-01-05T12:00:00Z');
const hoursAgo = (hours: number): string => new Date(now - hours * 3_600_000).toISOString();

const pod = (name: string, more: { owner?: string; annotations?: object; priority?: number } = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'default',
    annotations: { ...more.annotations },
    ...(more.owner === undefined
      ? {}
      : { ownerReferences: [{ apiVersion: 'apps/v1', kind: more.owner, name: 'o', uid: 'o' }] }),
  },
  spec: { containers: [], ...(more.priority === undefined ? {} : { priority: more.priority }) },
  status: { phase: 'Running' },
});

interface More {
  readonly pods?: readonly Pod[];
  readonly bare?: boolean;
  readonly going?: boolean;
  readonly deleting?: boolean;
  readonly drifted?: boolean;
  readonly starting?: boolean;
  readonly age?: number;
  readonly kept?: boolean;
}

function member(name: string, more: More = {}): NodeView {
  const is = (type: string, holds: boolean): Condition[] => (holds ? [{ type, status: 'True' }] : []);
  const base = nodeClaim(name, {
    spec: { expireAfter: '100h' },
    status: {
      ...(more.bare === true ? {} : { providerID: `fake:///a/i-${name}` }),
      conditions: [
        ...is('Initialized', more.starting !== true),
        ...is('DisruptionReason', more.going === true),
        ...is('Drifted', more.drifted === true),
      ],
    },
  });
  const metadata = {
    ...base.metadata,
    creationTimestamp: hoursAgo(more.age ?? 0),
    ...(more.deleting === true ? { deletionTimestamp: hoursAgo(0) } : {}),
  };
  const marks: Record<string, string> = more.kept === true ? { [annotations.doNotDisrupt]: 'true' } : {};
  return {
    claim: { ...base, metadata },
    node: { apiVersion: 'v1', kind: 'Node', metadata: { name: `node-${name}`, annotations: marks } },
    pods: more.pods ?? [],
    pricePerHour: 1,
  };
}

const pool = (replicas: number, limit?: number) =>
  nodePool('static', { replicas, ...(limit === undefined ? {} : { limits: { nodes: String(limit) } }) });

const context = (more: Partial<StaticContext> = {}): StaticContext => ({
  deleting: new Set(),
  claimed: new Set(),
  isReplaced: () => false,
  ...more,
});

/** Names in place of claims. */
function planOf(
  { replicas, limit }: { replicas: number; limit?: number },
  members: readonly NodeView[],
  more: Partial<StaticContext> = {},
): { create: number; remove: readonly string[]; held: number } {
  const plan: StaticPlan = staticPlan(pool(replicas, limit), staticCounts(members, context(more)), now);
  const remove = plan.remove.map(({ claim }) => claim.metadata.name ?? '');
  return { create: plan.create, remove, held: plan.heldByLimit };
}

describe('replicas of a static NodePool (static-capacity/keeps-replicas)', () => {
  test('missing claims are created, whatever state the others are in', () => {
    expect(planOf({ replicas: 3 }, [])).toEqual({ create: 3, remove: [], held: 0 });
    expect(planOf({ replicas: 3 }, [member('a'), member('b', { bare: true })]).create).toBe(1);
    expect(planOf({ replicas: 3 }, [member('a'), member('b'), member('c')])).toMatchObject({ create: 0, remove: [] });
  });

  test('deleting nodes do not count, whether seen or signalled', () => {
    const members = [member('a'), member('b', { deleting: true }), member('c')];
    expect(planOf({ replicas: 3 }, members).create).toBe(1);
    expect(planOf({ replicas: 3 }, members, { deleting: new Set(['uid-c']) }).create).toBe(2);
  });

  // Rule `static-capacity/node-limit`.
  test('limits.nodes limits all claims, deleting ones included', () => {
    const members = [member('a'), member('b', { deleting: true })];
    expect(planOf({ replicas: 3, limit: 3 }, members)).toEqual({ create: 1, remove: [], held: 1 });
    expect(planOf({ replicas: 3, limit: 2 }, members)).toEqual({ create: 0, remove: [], held: 2 });
    expect(nodeLimit(pool(1))).toBe(Number.POSITIVE_INFINITY);
    expect(nodeLimit({ spec: { ...pool(1).spec, limits: { nodes: '3500m' } } })).toBe(4);
  });

  test('a node that is being replaced counts once with its replacement', () => {
    const before = [member('a'), member('b', { going: true })];
    expect(planOf({ replicas: 2 }, before)).toMatchObject({ create: 0, remove: [] });
    const after = [...before, member('b2')];
    const isReplaced = (uid: string): boolean => uid === 'uid-b';
    expect(planOf({ replicas: 2 }, after, { isReplaced })).toMatchObject({ create: 0, remove: [] });
    // The replacement came to nothing: what is to be replaced still stands for itself.
    expect(planOf({ replicas: 2 }, before, { isReplaced })).toMatchObject({ create: 1 });
  });

  test('room is kept for a replacement that is not created yet', () => {
    const members = [member('a'), member('b', { going: true })];
    expect(planOf({ replicas: 3, limit: 3 }, members)).toMatchObject({ create: 0, held: 1 });
    expect(planOf({ replicas: 3, limit: 4 }, members)).toMatchObject({ create: 1, held: 0 });
  });

  // Rules `static-capacity/scale-down-order`, `disruption-cost/over-lifetime`.
  test('of too many those without an instance are removed first, then those without pods, then by disruption cost, protected ones last', () => {
    const members = [
      member('kept', { kept: true }),
      member('pinned', { pods: [pod('p', { annotations: { [annotations.doNotDisrupt]: 'true' } })] }),
      member('busy', { pods: [pod('a'), pod('b')] }),
      member('old', { pods: [pod('a'), pod('b')], age: 90 }),
      member('daemons', { pods: [pod('d', { owner: 'DaemonSet' })] }),
      member('launching', { bare: true }),
    ];
    const order = ['launching', 'daemons', 'old', 'busy', 'kept', 'pinned'];
    for (let replicas = 0; replicas <= members.length; replicas++) {
      expect(planOf({ replicas }, members).remove).toEqual(order.slice(0, members.length - replicas));
    }
  });

  test('among equals those not initialized are removed first, then drifted ones, then by name', () => {
    const members = [member('z'), member('a'), member('drifted', { drifted: true }), member('y', { starting: true })];
    expect(planOf({ replicas: 0 }, members).remove).toEqual(['y', 'drifted', 'a', 'z']);
  });

  test('a node that is being replaced is not removed as surplus', () => {
    const members = [member('a', { going: true }), member('b'), member('c')];
    expect(planOf({ replicas: 1 }, members).remove).toEqual(['b']);
  });
});

describe('drift of a static NodePool (drift/static-pools, static-capacity/drift-room)', () => {
  const roomOf = (replicas: number, limit: number | undefined, members: readonly NodeView[]): number =>
    staticDriftRoom(pool(replicas, limit), staticCounts(members, context({ isReplaced: (uid) => uid === 'uid-old' })));
  const three = [member('a'), member('b'), member('c')];

  test('limits.nodes equal to replicas leaves no room for a replacement, one higher leaves room for one (static-capacity/drift-room)', () => {
    expect(roomOf(3, 3, three)).toBe(0);
    expect(roomOf(3, 4, three)).toBe(1);
    expect(roomOf(3, undefined, three)).toBe(Number.POSITIVE_INFINITY);
  });

  test('a replacement in progress takes the room, whether its claim exists or not', () => {
    expect(roomOf(3, 4, [member('a'), member('b'), member('c', { going: true })])).toBe(0);
    expect(roomOf(3, 4, [...three, member('old', { going: true })])).toBe(0);
    expect(roomOf(3, 5, [...three, member('old', { going: true })])).toBe(1);
  });

  test.each<[string, number, number | undefined, readonly NodeView[], string | undefined]>([
    ['there is room', 3, 4, three, undefined],
    ['there is no limit', 3, undefined, three, undefined],
    ['there never is', 3, 3, three, 'replicas of 3 and limits.nodes of 3 leave no room for a replacement'],
    [
      'a replacement is to come',
      3,
      4,
      [member('a'), member('b'), member('c', { going: true })],
      'limits.nodes of 4 leaves no room for a replacement now: 3 nodes are there, and 1 more is to come',
    ],
    [
      'a replacement is there',
      3,
      4,
      [...three, member('old', { going: true })],
      'limits.nodes of 4 leaves no room for a replacement now: 4 nodes are there',
    ],
    [
      'nodes are missing',
      3,
      4,
      [member('a'), member('old', { deleting: true })],
      'limits.nodes of 4 leaves no room for a replacement now: 2 nodes are there, and 2 more are to come',
    ],
    ['there are too many', 2, 9, three, 'its NodePool has 3 nodes and replicas of 2: the surplus goes first'],
  ])('the reason why there is no room: %s', (_, replicas, limit, members, why) => {
    const counts = staticCounts(members, context({ isReplaced: (uid) => uid === 'uid-old' }));
    expect(whyNoDriftRoom(pool(replicas, limit), counts)).toBe(why);
    expect(roomOf(replicas, limit, members) > 0).toBe(why === undefined);
  });

  test('missing nodes come before replacements, and surplus ones before both', () => {
    expect(roomOf(3, 4, [member('a'), member('b')])).toBe(1);
    expect(roomOf(3, 3, [member('a'), member('b')])).toBe(0);
    expect(roomOf(2, 9, three)).toBe(0);
  });
});
