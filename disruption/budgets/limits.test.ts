import { describe, expect, test } from '@jest/globals';
import { disruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import type { Budget, NodePool } from '../../api/karpenter/node-pool.js';
import { decideAdmission } from './admission.js';
import type { Allowance } from './budgets.js';
import { limitOf, rememberedForMs } from './limits.js';
import { effectivePolicyOf } from '../policies/effective-policy.js';
import { disruptedSince, rememberDisruptions } from './limits/past-disruptions.js';
import type { PastDisruption } from './limits/past-disruptions.js';
import { closingOf, openingAt, readSchedule } from './limits/schedule.js';
import type { DisruptionReason } from '../../api/disruption-reasons.js';

const minute = 60_000;
const hour = 60 * minute;
const monday = Date.parse('2026-01-05T00:00:00Z');
const iso = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : new Date(at).toISOString().replace(':00.000Z', 'Z');
const policy = (spec: object, name = 'p'): DisruptionPolicy => ({
  apiVersion: 'stowage.dev/v1alpha1',
  kind: 'DisruptionPolicy',
  metadata: { name },
  spec: disruptionPolicySpec.parse(spec),
});
const pool = (budgets: readonly Budget[] = [{ nodes: '100%' }], name = 'default'): NodePool =>
  ({ metadata: { name, labels: { team: 'a' } }, spec: { disruption: { budgets } } }) as unknown as NodePool;
const gone = (at: number, nodes = 1, reason: DisruptionReason = 'Drifted', nodePool = 'default'): PastDisruption => ({
  at,
  nodePool,
  reason,
  nodes,
});

/** Of a pool of 20 nodes under one policy. */
const limit = (
  spec: object,
  reason: DisruptionReason,
  now: number,
  {
    pastDisruptions = [],
    budgets,
    disrupting = 0,
  }: { pastDisruptions?: PastDisruption[]; budgets?: Budget[]; disrupting?: number } = {},
): Allowance =>
  limitOf(pool(budgets), reason, { total: 20, disrupting }, { now, policies: [policy(spec)], pastDisruptions });

describe('cron schedules', () => {
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

  test('an invalid text is no schedule, and dates that do not exist have no next time', () => {
    expect(readSchedule('0 25 * * *')).toBeUndefined();
    expect(readSchedule('0 9 * * *', 'Europe/Atlantis')).toBeUndefined();
    expect(readSchedule('0 0 30 2 *')!.next(monday)).toBeUndefined();
  });

  test('a window includes its start and excludes its end; adjacent windows close as one', () => {
    const hourly = readSchedule('0 8-10 * * *')!;
    const opening = openingAt(hourly, hour, monday + 9 * hour)!;

    expect(opening).toEqual({ from: monday + 9 * hour, to: monday + 10 * hour });
    expect(closingOf(hourly, opening)).toBe(monday + 11 * hour);
    expect(openingAt(hourly, hour, monday + 11 * hour)).toBeUndefined();
    expect(openingAt(hourly, hour, monday + 8 * hour - 1)).toBeUndefined();
  });
});

describe('maintenance windows of a DisruptionPolicy', () => {
  const nights = { name: 'nights', schedule: '0 22 * * *', duration: '2h' };

  test.each<[string, object, DisruptionReason, number, [allowed: number, changesAt: string | undefined]]>([
    ['open', nights, 'Drifted', 22, [20, '2026-01-06T00:00Z']],
    ['closed', nights, 'Drifted', 12, [0, '2026-01-05T22:00Z']],
    ['over', nights, 'Drifted', 24, [0, '2026-01-06T22:00Z']],
    ['of another reason', { ...nights, reasons: ['Empty'] }, 'Drifted', 12, [20, undefined]],
    ['of this reason', { ...nights, reasons: ['Empty', 'Drifted'] }, 'Drifted', 12, [0, '2026-01-05T22:00Z']],
    ['in a zone east of here', { ...nights, timeZone: 'Asia/Tokyo' }, 'Expired', 12, [0, '2026-01-05T13:00Z']],
  ])('a window that is %s', (_name, window, reason, at, expected) => {
    const { allowed, changesAt } = limit({ maintenanceWindows: [window] }, reason, monday + at * hour);

    expect([allowed, iso(changesAt)]).toEqual(expected);
  });

  test("a quota counts from the window's opening, for the window's reasons", () => {
    const windows = { maintenanceWindows: [{ ...nights, quota: '15%', reasons: ['Drifted', 'Empty'] }] };
    const past = [gone(monday + 21 * hour, 9), gone(monday + 22 * hour, 9, 'Underutilized')];
    const at = monday + 23 * hour;
    const ask = (...pastDisruptions: PastDisruption[]) =>
      limit(windows, 'Drifted', at, { pastDisruptions: [...past, ...pastDisruptions] });

    expect(ask().allowed).toBe(3);
    expect(ask(gone(monday + 22 * hour, 2)).allowed).toBe(1);
    expect(ask(gone(monday + 22 * hour, 2), gone(at, 1, 'Empty'))).toEqual({
      allowed: 0,
      ruledBy: 'quota 15% of maintenance window nights (3 used)',
      changesAt: monday + 46 * hour,
    });
  });

  test('the quota of every open window applies', () => {
    const tight = { ...nights, name: 'tight', quota: '1', reasons: ['Drifted'] };
    const both = { maintenanceWindows: [{ ...nights, quota: '4' }, tight] };

    expect(limit(both, 'Drifted', monday + 22 * hour).allowed).toBe(1);
    expect(limit(both, 'Empty', monday + 22 * hour).allowed).toBe(4);
  });
});

describe('disruption rates of a DisruptionPolicy', () => {
  test('count the period that ends now', () => {
    const pastDisruptions = [gone(monday, 1), gone(monday + 2 * minute, 1)];
    const ask = (at: number) => limit({ rates: [{ nodes: '10%', per: '5m' }] }, 'Empty', at, { pastDisruptions });

    expect(ask(monday + 3 * minute)).toMatchObject({ allowed: 0, changesAt: monday + 5 * minute });
    expect(ask(monday + 5 * minute - 1).allowed).toBe(0);
    expect(ask(monday + 5 * minute)).toMatchObject({ allowed: 1, changesAt: monday + 7 * minute });
    expect(ask(monday + 7 * minute).allowed).toBe(2);
  });

  test('all apply, and the next time satisfies all of them', () => {
    const both = {
      rates: [
        { nodes: '1', per: '10m' },
        { nodes: '3', per: '1h', reasons: ['Drifted'] },
      ],
    };
    const pastDisruptions = [0, 10, 20].map((at) => gone(monday + at * minute));

    expect(limit(both, 'Drifted', monday + 25 * minute, { pastDisruptions }).changesAt).toBe(monday + 60 * minute);
    expect(limit(both, 'Empty', monday + 25 * minute, { pastDisruptions }).changesAt).toBe(monday + 30 * minute);
  });

  test('of 0 have no next time', () => {
    expect(limit({ rates: [{ nodes: '0', per: '5m' }] }, 'Empty', monday)).toEqual({
      allowed: 0,
      ruledBy: 'rate 0 in 5m (0 used)',
    });
  });

  test('count only disruptions of their NodePools', () => {
    const pastDisruptions = [gone(monday, 9, 'Drifted', 'other')];
    expect(limit({ rates: [{ nodes: '2', per: '5m' }] }, 'Empty', monday, { pastDisruptions }).allowed).toBe(2);
  });
});

describe('all limits of disruption together', () => {
  test('the next time is when the last limit allows a disruption', () => {
    const window = { name: 'days', schedule: '0 9 * * *', duration: '8h' };
    const budgets = [{ nodes: '50%' }, { nodes: '0', schedule: '0 9 * * *', duration: '1h' }];
    const pastDisruptions = [gone(monday + 8 * hour)];
    const spec = { maintenanceWindows: [window], rates: [{ nodes: '1', per: '3h' }] };

    expect(iso(limit(spec, 'Empty', monday + 8 * hour, { pastDisruptions, budgets }).changesAt)).toBe(
      '2026-01-05T11:00Z',
    );
  });

  test('a NodePool at its budget waits for a disruption to end, without a next time', () => {
    expect(limit({}, 'Empty', monday, { budgets: [{ nodes: '2' }], disrupting: 2 })).toEqual({
      allowed: 0,
      ruledBy: 'budget 2',
    });
  });

  test('reasons that budgets cannot name are limited by budgets without reasons', () => {
    const budgets: Budget[] = [{ nodes: '3' }, { nodes: '0', reasons: ['Drifted'] }];

    expect(limit({}, 'Expired', monday, { budgets }).allowed).toBe(3);
    expect(limit({}, 'Drifted', monday, { budgets }).allowed).toBe(0);
  });

  test('repair waits for no budget, and only for windows and rates that name Unhealthy (budgets/reasons, repair/forced)', () => {
    const closed = { name: 'w', schedule: '0 3 * * *', duration: '1h', timeZone: 'UTC' };
    const budgets: Budget[] = [{ nodes: '0' }];
    expect(limit({}, 'Unhealthy', monday, { budgets }).allowed).toBe(Number.POSITIVE_INFINITY);
    const all = { maintenanceWindows: [closed], rates: [{ nodes: '0', per: '1h' }] };
    expect(limit(all, 'Unhealthy', monday + 9 * hour, { budgets }).allowed).toBe(Number.POSITIVE_INFINITY);
    const named = { maintenanceWindows: [{ ...closed, reasons: ['Unhealthy'] }] } as const;
    expect(limit(named as never, 'Unhealthy', monday + 9 * hour, { budgets })).toMatchObject({
      allowed: 0,
      ruledBy: 'maintenance window w (closed)',
    });
    const invalid = { maintenanceWindows: [{ ...closed, timeZone: 'Europe/Atlantis' }] };
    expect(limit(invalid, 'Unhealthy', monday, { budgets }).allowed).toBe(Number.POSITIVE_INFINITY);
  });

  test('an invalid policy allows no disruption and says why', () => {
    const window = { name: 'w', schedule: '0 9 * * *', duration: '1h', timeZone: 'Europe/Atlantis' };

    const { allowed, ruledBy } = limit({ maintenanceWindows: [window] }, 'Empty', monday);

    expect(allowed).toBe(0);
    expect(ruledBy).toContain('DisruptionPolicy p is not valid: spec.maintenanceWindows[0].timeZone');
  });

  // Rule `budgets/every-disruption-asks`.
  test('admitted nodes count against rates of any reason for later requests', () => {
    const uids = ['a1', 'a2', 'a3'];
    const ask = (id: string, reason: DisruptionReason) => ({
      id,
      reason,
      candidates: uids.map((uid) => ({ uid: `${id}${uid}`, node: `${id}${uid}`, nodePool: 'default' })),
    });
    const present = new Set(['e', 'd'].flatMap((id) => uids.map((uid) => `${id}${uid}`)));

    const [empty, drifted] = decideAdmission([ask('e', 'Empty'), ask('d', 'Drifted')], {
      now: monday,
      policies: [policy({ rates: [{ nodes: '4', per: '1h' }] })],
      pastDisruptions: [],
      pools: new Map([['default', pool()]]),
      counts: new Map([['default', { total: 20, disrupting: 0 }]]),
      present,
      disrupting: new Set(),
      paused: () => undefined,
    });

    expect(empty!.granted).toHaveLength(3);
    expect(drifted!.granted).toHaveLength(1);
    expect(drifted!.refused.map(({ why }) => why)).toEqual([
      'rate 4 in 1h (4 used) allows no more',
      'rate 4 in 1h (4 used) allows no more',
    ]);
    expect(drifted!.nextCheckAt).toBe(monday + hour);
  });
});

test('an answer about a slot names a pause separately from other refusals', () => {
  const ask = (uid: string) => ({ uid, node: uid, nodePool: 'default' });
  const [answer] = decideAdmission([{ id: 'e', reason: 'Expired', candidates: ['a', 'b', 'c'].map(ask) }], {
    now: monday,
    pools: new Map([['default', pool()]]),
    counts: new Map([['default', { total: 1, disrupting: 1 }]]),
    present: new Set(['a', 'b']),
    disrupting: new Set(),
    paused: (_, { node }) => (node === 'a' ? 'node a is paused by ann: release' : undefined),
  });

  expect(answer!.granted).toEqual([]);
  expect(answer!.refused).toEqual([
    { node: 'a', why: 'node a is paused by ann: release', paused: true },
    { node: 'b', why: expect.any(String) },
    { node: 'c', why: 'it is gone or being removed', gone: true },
  ]);
});

test.each<[DisruptionReason, readonly string[]]>([
  ['Expired', ['b']],
  ['Drifted', ['b']],
  ['Unhealthy', ['a', 'b']],
])('a node that another disruption is about to take is refused until that has decided (%s)', (reason, expected) => {
  const candidates = ['a', 'b'].map((uid) => ({ uid, node: uid, nodePool: 'default' }));
  const [answer] = decideAdmission([{ id: 'x', reason, candidates }], {
    now: monday,
    pools: new Map([['default', pool()]]),
    counts: new Map([['default', { total: 20, disrupting: 1 }]]),
    present: new Set(['a', 'b']),
    claimed: new Set(['a']),
    disrupting: new Set(['a']),
    paused: () => undefined,
  });

  expect(answer!.granted.map(({ uid }) => uid)).toEqual(expected);
});

describe('the effective policy of a NodePool', () => {
  test('is the one with the highest weight that selects the pool, of equals the first by name', () => {
    const teamB = policy({ nodePoolSelector: { matchLabels: { team: 'b' } }, weight: 100 }, 'b');
    const ruling = (...policies: DisruptionPolicy[]) => effectivePolicyOf(pool(), policies).policy;

    expect(ruling()).toBeUndefined();
    expect(ruling(teamB)).toBeUndefined();
    expect(ruling(policy({}, 'z'), policy({}, 'y'), teamB)).toBe('y');
    expect(ruling(policy({ weight: 1 }, 'z'), policy({}, 'y'))).toBe('z');
    const selecting = { nodePoolSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] }, weight: 2 };
    expect(ruling(policy({ weight: 1 }, 'z'), policy(selecting, 'a'))).toBe('a');
  });
});

describe('records of past disruptions', () => {
  test('are kept for the longest rate, or window with a quota', () => {
    const window = { name: 'days', schedule: '0 9 * * *', duration: '8h' };
    const { spec } = policy({
      rates: [{ nodes: '1', per: '5m' }],
      maintenanceWindows: [window, { ...window, name: 'short', duration: '2h', quota: '1' }],
    });
    expect(rememberedForMs({ spec })).toBe(2 * hour);
    expect(rememberedForMs({ spec: policy({}).spec })).toBe(0);
  });

  test('are dropped when no limit counts them any more', () => {
    expect(rememberDisruptions([gone(monday - hour), gone(monday - minute)], hour, monday)).toEqual([
      gone(monday - minute),
    ]);
  });

  test('are merged beyond 256, and then never count too few disruptions', () => {
    const many = Array.from({ length: 20_000 }, (_, i) => gone(monday - i * 4000));
    const kept = rememberDisruptions(many, 24 * hour, monday);

    expect(kept.length).toBeLessThanOrEqual(256);
    for (const ago of [minute, hour, 7 * hour, 22 * hour]) {
      const real = disruptedSince(many, monday - ago);
      expect(disruptedSince(kept, monday - ago)).toBeGreaterThanOrEqual(real);
    }
    expect(disruptedSince(kept, monday - minute)).toBeLessThanOrEqual(disruptedSince(many, monday - 2 * minute));
  });
});
