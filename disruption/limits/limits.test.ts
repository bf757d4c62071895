import { describe, expect, test } from '@jest/globals';
import { disruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { Admission } from './admission.js';
import { clearance, memoryOf } from './clearance.js';
import type { PoolRules } from './clearance.js';
import { rulingOf } from './policies.js';
import { closingOf, openingAt, readSchedule } from './schedule.js';
import { remember, startedSince } from './start.js';
import type { Start } from './start.js';
import { nextWindow } from './windows.js';

const minute = 60_000;
const hour = 60 * minute;
const monday = Date.parse('2026-01-05T00:00:00Z');
const iso = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : new Date(at).toISOString().replace(':00.000Z', 'Z');
const spec = (policy: object): PoolRules['ruling']['spec'] => disruptionPolicySpec.parse(policy);
const rules = (policy: object, budgets: PoolRules['budgets'] = [{ nodes: '100%' }]): PoolRules => ({
  nodePool: 'default',
  budgets,
  ruling: { policy: 'p', spec: spec(policy) },
});
const standing = (starts: readonly Start[] = [], disrupting = 0, total = 20) => ({
  count: { total, disrupting },
  starts,
  pauses: [],
});
const started = (at: number, nodes = 1, reason: Start['reason'] = 'Drifted'): Start => ({
  at,
  nodePool: 'default',
  reason,
  nodes,
});

describe('schedules', () => {
  test.each([
    // Clocks go forward at 02:00 on 29 March 2026 and back at 03:00 on 25 October 2026.
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
    ['0,30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:00Z']],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30Z', '2026-10-26T01:30Z']],
    ['0 9 * * mon-fri', 'Europe/Berlin', '2026-03-27T12:00Z', ['2026-03-30T07:00Z', '2026-03-31T07:00Z']],
    ['0 9 * * mon-fri', 'America/New_York', '2026-03-06T15:00Z', ['2026-03-09T13:00Z', '2026-03-10T13:00Z']],
    ['0 22 * * *', 'Asia/Kolkata', '2026-01-05T00:00Z', ['2026-01-05T16:30Z', '2026-01-06T16:30Z']],
    ['@daily', 'Pacific/Auckland', '2026-01-05T00:00Z', ['2026-01-05T11:00Z', '2026-01-06T11:00Z']],
    ['? 4 ? * *', 'UTC', '2026-01-05T04:58Z', ['2026-01-05T04:59Z', '2026-01-06T04:00Z']],
    ['5/15 4 * * *', 'UTC', '2026-01-05T04:30Z', ['2026-01-05T04:35Z', '2026-01-05T04:50Z']],
  ])('%s in %s after %s', (expression, timeZone, from, expected) => {
    const schedule = readSchedule(expression, timeZone)!;
    const first = schedule.next(Date.parse(from))!;

    expect([first, schedule.next(first)].map(iso)).toEqual(expected);
    expect(schedule.last(first)).toBe(first);
    expect(schedule.last(schedule.next(first)! - 1)).toBe(first);
  });

  test('what cannot be read is no schedule, and what never comes never hits', () => {
    expect(readSchedule('0 25 * * *')).toBeUndefined();
    expect(readSchedule('0 9 * * *', 'Europe/Atlantis')).toBeUndefined();
    expect(readSchedule('0 0 30 2 *')!.next(monday)).toBeUndefined();
  });

  test('an opening is from its hit up to and without its end; those that touch close as one', () => {
    const hourly = readSchedule('0 8-10 * * *')!;
    const opening = openingAt(hourly, hour, monday + 9 * hour)!;

    expect(opening).toEqual({ from: monday + 9 * hour, to: monday + 10 * hour });
    expect(closingOf(hourly, opening)).toBe(monday + 11 * hour);
    expect(openingAt(hourly, hour, monday + 11 * hour)).toBeUndefined();
    expect(openingAt(hourly, hour, monday + 8 * hour - 1)).toBeUndefined();
  });
});

describe('clearance by maintenance windows', () => {
  const nights = { name: 'nights', schedule: '0 22 * * *', duration: '2h' };

  test.each<[string, object, Start['reason'], number, number, string | undefined]>([
    ['open', nights, 'Drifted', 22, 20, undefined],
    ['closed', nights, 'Drifted', 12, 0, '2026-01-05T22:00Z'],
    ['over', nights, 'Drifted', 24, 0, '2026-01-06T22:00Z'],
    ['of another reason', { ...nights, reasons: ['Empty'] }, 'Drifted', 12, 20, undefined],
    ['of this reason', { ...nights, reasons: ['Empty', 'Drifted'] }, 'Drifted', 12, 0, '2026-01-05T22:00Z'],
    ['in a zone east of here', { ...nights, timeZone: 'Asia/Tokyo' }, 'Expired', 12, 0, '2026-01-05T13:00Z'],
  ])('a window that is %s', (_name, window, reason, at, allowed, nextAt) => {
    const found = clearance(reason, rules({ maintenanceWindows: [window] }), standing(), monday + at * hour);

    expect(found.allowed).toBe(allowed);
    expect(iso(found.nextAt)).toBe(nextAt);
  });

  test('a quota counts from the opening on, for the reasons of the window', () => {
    const windows = { maintenanceWindows: [{ ...nights, quota: '15%', reasons: ['Drifted', 'Empty'] }] };
    const before = started(monday + 21 * hour, 9);
    const other = started(monday + 22 * hour, 9, 'Underutilized');
    const at = monday + 23 * hour;
    const ask = (...starts: Start[]) => clearance('Drifted', rules(windows), standing([before, other, ...starts]), at);

    expect(ask().allowed).toBe(3);
    expect(ask(started(monday + 22 * hour, 2)).allowed).toBe(1);
    const used = ask(started(monday + 22 * hour, 2), started(at, 1, 'Empty'));
    expect(used).toEqual({
      allowed: 0,
      heldBy: ['quota 15% of maintenance window nights (3 used)'],
      nextAt: monday + 46 * hour,
    });
  });

  test('every open window holds', () => {
    const tight = { ...nights, name: 'tight', quota: '1', reasons: ['Drifted'] };
    const both = rules({ maintenanceWindows: [{ ...nights, quota: '4' }, tight] });

    expect(clearance('Drifted', both, standing(), monday + 22 * hour).allowed).toBe(1);
    expect(clearance('Empty', both, standing(), monday + 22 * hour).allowed).toBe(4);
  });

  test('the next window is the open one, or the one that opens first', () => {
    const late = { ...nights, name: 'late', schedule: '0 23 * * *' };
    const { maintenanceWindows } = spec({ maintenanceWindows: [late, nights] });

    expect(nextWindow(maintenanceWindows, 'Empty', monday + 12 * hour)).toEqual({
      name: 'nights',
      open: false,
      opensAt: monday + 22 * hour,
      closesAt: monday + 24 * hour,
    });
    expect(nextWindow(maintenanceWindows, 'Empty', monday + 23.5 * hour)).toMatchObject({ name: 'late', open: true });
    expect(nextWindow([], 'Empty', monday)).toBeUndefined();
  });
});

describe('clearance by rates', () => {
  const tenPercent = rules({ rates: [{ nodes: '10%', per: '5m' }] });

  test('counts the stretch that ends now', () => {
    const starts = [started(monday, 1), started(monday + 2 * minute, 1)];
    const ask = (at: number) => clearance('Empty', tenPercent, standing(starts), at);

    expect(ask(monday + 3 * minute)).toMatchObject({ allowed: 0, nextAt: monday + 5 * minute });
    expect(ask(monday + 5 * minute - 1).allowed).toBe(0);
    expect(ask(monday + 5 * minute).allowed).toBe(1);
    expect(ask(monday + 7 * minute).allowed).toBe(2);
  });

  test('each rate holds, and the next time satisfies all of them', () => {
    const both = rules({
      rates: [
        { nodes: '1', per: '10m' },
        { nodes: '3', per: '1h', reasons: ['Drifted'] },
      ],
    });
    const starts = [0, 10, 20].map((at) => started(monday + at * minute));

    expect(clearance('Drifted', both, standing(starts), monday + 25 * minute).nextAt).toBe(monday + 60 * minute);
    expect(clearance('Empty', both, standing(starts), monday + 25 * minute).nextAt).toBe(monday + 30 * minute);
  });

  test('a bound of none has no next time', () => {
    expect(clearance('Empty', rules({ rates: [{ nodes: '0', per: '5m' }] }), standing(), monday)).toEqual({
      allowed: 0,
      heldBy: ['rate 0 in 5m (0 used)'],
    });
  });

  test('another pool is not counted', () => {
    const starts = [{ ...started(monday, 9), nodePool: 'other' }];
    expect(clearance('Empty', tenPercent, standing(starts), monday).allowed).toBe(2);
  });
});

describe('clearance by all of them', () => {
  const window = { name: 'days', schedule: '0 9 * * *', duration: '8h' };

  test('the next time is when the last of them gives way', () => {
    const all = rules({ maintenanceWindows: [window], rates: [{ nodes: '1', per: '3h' }] }, [
      { nodes: '50%' },
      { nodes: '0', schedule: '0 9 * * *', duration: '1h' },
    ]);
    const pauses = [
      { scope: { kind: 'reason', name: 'Empty' }, reason: 'freeze', actor: 'ann', until: monday } as const,
    ];
    const facts = { ...standing([started(monday + 8 * hour)]), pauses };

    expect(iso(clearance('Empty', all, facts, monday - hour).nextAt)).toBe('2026-01-05T11:00Z');
  });

  test('a pool that is full of disruptions waits for one to end, not for a time', () => {
    expect(clearance('Empty', rules({}, [{ nodes: '2' }]), standing([], 2), monday)).toEqual({
      allowed: 0,
      heldBy: ['budget 2'],
    });
  });

  test.each<[object, string | undefined, number]>([
    [{ kind: 'cluster' }, undefined, 0],
    [{ kind: 'nodePool', name: 'default' }, undefined, 0],
    [{ kind: 'nodePool', name: 'other' }, undefined, 20],
    [{ kind: 'reason', name: 'Empty' }, undefined, 0],
    [{ kind: 'reason', name: 'Drifted' }, undefined, 20],
    [{ kind: 'node', name: 'n1' }, 'n1', 0],
    [{ kind: 'node', name: 'n1' }, 'n2', 20],
  ])('a pause of %j', (scope, node, allowed) => {
    const pauses = [{ scope, reason: 'freeze', actor: 'ann' } as never];

    const found = clearance('Empty', rules({}), { ...standing(), pauses }, monday, node);

    expect(found.allowed).toBe(allowed);
    expect(found.nextAt).toBeUndefined();
    expect(found.heldBy).toEqual(allowed === 0 ? ['paused by ann: freeze'] : ['budget 100%']);
  });

  test('reasons that budgets cannot name are bound by those that name none', () => {
    const budgets = [{ nodes: '3' }, { nodes: '0', reasons: ['Drifted' as const] }];

    expect(clearance('Expired', rules({}, budgets), standing(), monday).allowed).toBe(3);
    expect(clearance('Drifted', rules({}, budgets), standing(), monday).allowed).toBe(0);
  });

  test('memory is as long as the longest rate, or window with a quota', () => {
    const policy = {
      rates: [{ nodes: '1', per: '5m' }],
      maintenanceWindows: [window, { ...window, name: 'short', duration: '2h', quota: '1' }],
    };
    expect(memoryOf({ spec: spec(policy) })).toBe(2 * hour);
    expect(memoryOf({ spec: spec({}) })).toBe(0);
  });
});

describe('policies', () => {
  const policy = (name: string, more: object = {}): DisruptionPolicy => ({
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPolicy',
    metadata: { name },
    spec: spec(more),
  });
  const pool = { metadata: { name: 'default', labels: { team: 'a' } } } as unknown as NodePool;

  test('the heaviest that selects the pool rules, of equals the first by name', () => {
    const teamB = policy('b', { nodePoolSelector: { matchLabels: { team: 'b' } }, weight: 100 });

    expect(rulingOf(pool, []).policy).toBeUndefined();
    expect(rulingOf(pool, [teamB]).policy).toBeUndefined();
    expect(rulingOf(pool, [policy('z'), policy('y'), teamB]).policy).toBe('y');
    expect(rulingOf(pool, [policy('z', { weight: 1 }), policy('y')]).policy).toBe('z');
    const selecting = { nodePoolSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] }, weight: 2 };
    expect(rulingOf(pool, [policy('z', { weight: 1 }), policy('a', selecting)]).policy).toBe('a');
  });

  test('a policy that is not valid lets nothing through and says why', () => {
    const window = { name: 'w', schedule: '0 9 * * *', duration: '1h', timeZone: 'Europe/Atlantis' };
    const ruling = rulingOf(pool, [policy('p', { maintenanceWindows: [window] })]);

    const found = clearance('Empty', { nodePool: 'default', budgets: [], ruling }, standing(), monday);

    expect(found.allowed).toBe(0);
    expect(found.heldBy[0]).toContain('DisruptionPolicy p is not valid: spec.maintenanceWindows[0].timeZone');
  });
});

describe('admission', () => {
  const admission = (policy: object, budget: string): Admission =>
    new Admission({
      now: monday,
      rules: new Map(['a', 'b'].map((name) => [name, { ...rules(policy, [{ nodes: budget }]), nodePool: name }])),
      counts: new Map(['a', 'b'].map((name) => [name, { total: 10, disrupting: 1 }])),
      starts: [],
      pauses: [{ scope: { kind: 'node', name: 'held' }, reason: 'freeze', actor: 'ann' }],
    });
  const nodes = (...names: string[]) => names.map((node) => ({ node, nodePool: node[0] === 'b' ? 'b' : 'a' }));

  test('what is admitted counts against what comes after, of any reason', () => {
    const pass = admission({}, '3');

    expect(pass.admit('Empty', nodes('a1'))).toEqual({ admitted: true });
    expect(pass.admit('Drifted', nodes('a2'))).toEqual({ admitted: true });
    expect(pass.admit('Drifted', nodes('a3'))).toEqual({ admitted: false, node: 'a3', why: 'budget 3' });
    expect(pass.admit('Drifted', nodes('b1'))).toEqual({ admitted: true });
    expect(pass.starts.map(({ nodePool, reason }) => `${nodePool} ${reason}`)).toEqual([
      'a Empty',
      'a Drifted',
      'b Drifted',
    ]);
  });

  test('several go together or not at all', () => {
    const pass = admission({ rates: [{ nodes: '2', per: '1h' }] }, '9');

    expect(pass.admit('Empty', nodes('b1', 'a1', 'a2', 'a3'))).toEqual({
      admitted: false,
      node: 'a3',
      why: '2 of the nodes asked for may go: rate 2 in 1h (0 used)',
    });
    expect(pass.admit('Empty', nodes('b1', 'b2', 'a1', 'a2'))).toEqual({ admitted: true });
    expect(pass.admit('Empty', nodes('a3'))).toMatchObject({ admitted: false, nextAt: monday + hour });
  });

  test('a node that is paused, or of no pool, holds up those that go with it', () => {
    expect(admission({}, '9').admit('Empty', nodes('a1', 'held'))).toMatchObject({ node: 'held', admitted: false });
    expect(admission({}, '9').admit('Empty', [{ node: 'x', nodePool: 'gone' }])).toEqual({
      admitted: false,
      node: 'x',
      why: 'NodePool gone does not exist',
    });
  });
});

describe('the memory of starts', () => {
  test('forgets what no bound counts any more', () => {
    expect(remember([started(monday - hour), started(monday - minute)], hour, monday)).toEqual([
      started(monday - minute),
    ]);
  });

  test('stays small, and never counts too little', () => {
    const many = Array.from({ length: 20_000 }, (_, i) => started(monday - i * 4000));
    const kept = remember(many, 24 * hour, monday);

    expect(kept.length).toBeLessThanOrEqual(256);
    for (const ago of [minute, hour, 7 * hour, 23 * hour]) {
      const real = startedSince(many, monday - ago);
      expect(startedSince(kept, monday - ago)).toBeGreaterThanOrEqual(real);
      expect(startedSince(kept, monday - ago)).toBeLessThanOrEqual(real * 1.05 + 200);
    }
  });
});
