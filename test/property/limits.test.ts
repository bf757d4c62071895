import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Budget } from '../../api/karpenter/node-pool.js';
import { disruptionPolicySpec, disruptionReasons } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicySpec, DisruptionReason } from '../../api/stowage/disruption-policy.js';
import { Admission } from '../../disruption/limits/admission.js';
import { memoryOf } from '../../disruption/limits/clearance.js';
import type { PoolRules } from '../../disruption/limits/clearance.js';
import { remember } from '../../disruption/limits/start.js';
import type { Start } from '../../disruption/limits/start.js';

fc.configureGlobal({ seed: Number(process.env['STOWAGE_SEED'] ?? 20_260_101), endOnFailure: true });

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const monday = Date.parse('2026-01-05T00:00:00Z');

/** A window as the test counts it by itself: the hour of the day at which it opens, on these days of the week. */
interface Daily {
  readonly hour: number;
  readonly days: readonly number[];
  readonly lengthMs: number;
}

/** When the daily windows before `at` opened, by arithmetic in UTC. */
function openings({ hour: opens, days, lengthMs }: Daily, at: number): number | undefined {
  for (let midnight = at - (at % day); midnight > at - 8 * day; midnight -= day) {
    const from = midnight + opens * hour;
    if (from > at || !days.includes(new Date(from).getUTCDay())) continue;
    return at < from + lengthMs ? from : undefined;
  }
  return undefined;
}

const cronOf = ({ hour: opens, days }: Daily): string => `0 ${opens} * * ${days.join(',')}`;
const counted = (nodes: string, total: number): number =>
  nodes.endsWith('%') ? Math.ceil((Number.parseInt(nodes) * total) / 100) : Number(nodes);

const nodes = fc.oneof(
  fc.integer({ min: 0, max: 6 }).map(String),
  fc.integer({ min: 0, max: 60 }).map((percent) => `${percent}%`),
);
const someOf = <T>(all: readonly T[]): fc.Arbitrary<T[] | undefined> =>
  fc.option(fc.subarray([...all], { minLength: 1 }), { nil: undefined });
const daily = fc.record({
  hour: fc.integer({ min: 0, max: 23 }),
  days: fc.subarray([0, 1, 2, 3, 4, 5, 6], { minLength: 2 }),
  lengthMs: fc.integer({ min: 1, max: 30 }).map((hours) => hours * hour),
});
interface Limits {
  readonly budgets: readonly { nodes: string; reasons: DisruptionReason[] | undefined; daily: Daily | undefined }[];
  readonly windows: readonly { quota: string | undefined; reasons: DisruptionReason[] | undefined; daily: Daily }[];
  readonly rates: readonly { nodes: string; reasons: DisruptionReason[] | undefined; perMs: number }[];
}
const limits: fc.Arbitrary<Limits> = fc.record({
  budgets: fc.array(
    fc.record({
      nodes,
      reasons: someOf<DisruptionReason>(['Empty', 'Drifted', 'Underutilized']),
      daily: fc.option(daily, { nil: undefined }),
    }),
    { maxLength: 3 },
  ),
  windows: fc.array(
    fc.record({ quota: fc.option(nodes, { nil: undefined }), reasons: someOf(disruptionReasons), daily }),
    { maxLength: 2 },
  ),
  rates: fc.array(
    fc.record({
      nodes,
      reasons: someOf(disruptionReasons),
      perMs: fc.integer({ min: 1, max: 600 }).map((minutes) => minutes * minute),
    }),
    { maxLength: 2 },
  ),
});

function rulesOf({ budgets, windows, rates }: Limits): PoolRules {
  const text = (ms: number): string => `${ms / 1000}s`;
  const policy = disruptionPolicySpec.parse({
    maintenanceWindows: windows.map(({ quota, reasons, daily: when }, index) => ({
      name: `w${index}`,
      schedule: cronOf(when),
      duration: text(when.lengthMs),
      ...(quota === undefined ? {} : { quota }),
      ...(reasons === undefined ? {} : { reasons }),
    })),
    rates: rates.map(({ nodes: most, reasons, perMs }) => ({
      nodes: most,
      per: text(perMs),
      ...(reasons === undefined ? {} : { reasons }),
    })),
  }) satisfies DisruptionPolicySpec;
  return {
    nodePool: 'default',
    budgets: budgets.map(({ nodes: most, reasons, daily: when }) => ({
      nodes: most,
      ...(reasons === undefined ? {} : { reasons }),
      ...(when === undefined ? {} : { schedule: cronOf(when), duration: `${when.lengthMs / hour}h` }),
    })) as Budget[],
    ruling: { policy: 'p', spec: policy },
  };
}

/** What happens next, and how long after what happened before. */
type Event =
  | { readonly kind: 'want'; readonly reason: DisruptionReason; readonly count: number }
  | { readonly kind: 'end' | 'join' | 'leave' | 'fail' | 'recover' | 'restart' };
const events = fc.array(
  fc.tuple(
    fc.integer({ min: 0, max: 5 * hour }),
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('want' as const),
          reason: fc.constantFrom(...disruptionReasons),
          count: fc.integer({ min: 1, max: 4 }),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constantFrom(
            'end' as const,
            'join' as const,
            'leave' as const,
            'fail' as const,
            'recover' as const,
            'restart' as const,
          ),
        }),
      },
    ),
  ),
  { minLength: 20, maxLength: 120 },
);

/** A pool whose single writer is `Admission`; every start is judged by the test's own arithmetic. */
class Pool {
  private total: number;
  private unready = 0;
  private going = 0;
  private memory: Start[] = [];
  readonly all: Start[] = [];

  constructor(
    total: number,
    private readonly limits: Limits,
    private readonly rules: PoolRules = rulesOf(limits),
  ) {
    this.total = total;
  }

  happen(event: Event, now: number): void {
    switch (event.kind) {
      case 'want':
        return this.want(event.reason, event.count, now);
      case 'end':
        if (this.going > 0) {
          this.going--;
          this.total--;
        }
        return;
      case 'join':
        this.total++;
        return;
      case 'leave':
        if (this.total > this.going + this.unready) this.total--;
        return;
      case 'fail':
        if (this.total > this.going + this.unready) this.unready++;
        return;
      case 'recover':
        this.unready = Math.max(0, this.unready - 1);
        return;
      case 'restart':
        // What a restarted single writer has is what it wrote down.
        this.memory = remember(JSON.parse(JSON.stringify(this.memory)) as Start[], memoryOf(this.rules.ruling), now);
    }
  }

  private want(reason: DisruptionReason, count: number, now: number): void {
    const pass = new Admission({
      now,
      rules: new Map([['default', this.rules]]),
      counts: new Map([['default', { total: this.total, disrupting: this.going + this.unready }]]),
      starts: this.memory,
      pauses: [],
    });
    const leavers = Array.from({ length: count }, (_, index) => ({ node: `n${index}`, nodePool: 'default' }));
    if (!pass.admit(reason, leavers).admitted) return;
    this.memory.push(...pass.starts);
    this.all.push(...pass.starts);
    this.going += count;
    this.judge(reason, now);
  }

  private judge(reason: DisruptionReason, now: number): void {
    const about = (reasons: readonly DisruptionReason[] | undefined, of: DisruptionReason = reason): boolean =>
      reasons === undefined || reasons.includes(of);
    for (const budget of this.limits.budgets) {
      if (!about(budget.reasons)) continue;
      if (budget.daily !== undefined && openings(budget.daily, now) === undefined) continue;
      expect(this.going + this.unready).toBeLessThanOrEqual(counted(budget.nodes, this.total));
    }
    for (const rate of this.limits.rates.filter(({ reasons }) => about(reasons))) {
      const began = this.all.filter((start) => start.at > now - rate.perMs && about(rate.reasons, start.reason));
      expect(began.reduce((sum, start) => sum + start.nodes, 0)).toBeLessThanOrEqual(counted(rate.nodes, this.total));
    }
    const windows = this.limits.windows.filter(({ reasons }) => about(reasons));
    const open = windows.filter((window) => openings(window.daily, now) !== undefined);
    if (windows.length > 0) expect(open.length).toBeGreaterThan(0);
    for (const window of open) {
      if (window.quota === undefined) continue;
      const from = openings(window.daily, now)!;
      const began = this.all.filter((start) => start.at >= from && about(window.reasons, start.reason));
      expect(began.reduce((sum, start) => sum + start.nodes, 0)).toBeLessThanOrEqual(counted(window.quota, this.total));
    }
  }
}

describe('limits', () => {
  test('nothing ever goes above a budget, a rate or a quota, or outside a window', () => {
    let began = 0;
    fc.assert(
      fc.property(limits, fc.integer({ min: 1, max: 40 }), events, (given, total, happenings) => {
        const pool = new Pool(total, given);
        let now = monday;
        for (const [after, event] of happenings) {
          now += after;
          pool.happen(event, now);
        }
        began += pool.all.length;
      }),
      { numRuns: 200 },
    );
    // Limits that let nothing through would hold as well.
    expect(began).toBeGreaterThan(1000);
  });

  test('when nothing may go, the next time that is told is the first at which something may', () => {
    fc.assert(
      fc.property(
        limits,
        fc.integer({ min: 0, max: 14 * 24 * 60 }),
        fc.constantFrom(...disruptionReasons),
        fc.array(fc.record({ ago: fc.integer({ min: 1, max: 600 }), nodes: fc.integer({ min: 1, max: 3 }) }), {
          maxLength: 6,
        }),
        (given, at, reason, past) => {
          const now = monday + at * minute;
          const starts = past.map(({ ago, nodes: count }) => ({
            at: now - ago * minute,
            nodePool: 'default',
            reason,
            nodes: count,
          }));
          const rules = rulesOf(given);
          const ask = (when: number) =>
            new Admission({
              now: when,
              rules: new Map([['default', rules]]),
              counts: new Map([['default', { total: 12, disrupting: 0 }]]),
              starts,
              pauses: [],
            }).clearance(reason, 'default');
          const { allowed, nextAt } = ask(now);
          if (allowed > 0) return;
          // Openings are whole hours, rates whole minutes: looking each minute misses nothing.
          const end = Math.min(nextAt ?? Number.POSITIVE_INFINITY, now + 2 * day);
          for (let when = now + minute; when < end; when += 97 * minute) expect(ask(when).allowed).toBe(0);
          if (nextAt !== undefined) {
            expect(ask(nextAt).allowed).toBeGreaterThan(0);
            expect(ask(nextAt - 1).allowed).toBe(0);
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe('a month with a 10% budget and windows `0 9 * * mon-fri`', () => {
  const zone = 'Europe/Berlin';
  const wallClock = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    day: '2-digit',
    month: '2-digit',
  });
  const local = (at: number): Record<string, string> =>
    Object.fromEntries(wallClock.formatToParts(at).map(({ type, value }) => [type, value]));
  // The clocks change on 29 March 2026.
  const from = Date.parse('2026-03-09T00:00:00Z');
  const until = Date.parse('2026-04-09T00:00:00Z');

  test('is never exceeded, keeps to the windows and misses none', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (stream) => {
        const random = (): number => stream.next().value as number;
        const rules: PoolRules = {
          nodePool: 'default',
          budgets: [{ nodes: '10%' }],
          ruling: {
            policy: 'p',
            spec: disruptionPolicySpec.parse({
              maintenanceWindows: [{ name: 'mornings', schedule: '0 9 * * mon-fri', duration: '3h', timeZone: zone }],
            }),
          },
        };
        let total = 30;
        let ends: number[] = [];
        const openedOn = new Set<string>();
        let now = from;
        while (now < until) {
          const going = ends.filter((end) => end > now);
          total += going.length - ends.length;
          ends = going;
          if (random() < 0.4) total = Math.min(60, Math.max(ends.length + 1, total + Math.round(random() * 6 - 2)));
          const pass = new Admission({
            now,
            rules: new Map([['default', rules]]),
            counts: new Map([['default', { total, disrupting: ends.length }]]),
            starts: [],
            pauses: [],
          });
          const { allowed, nextAt } = pass.clearance('Drifted', 'default');
          for (let i = 0; i < allowed; i++) {
            expect(pass.admit('Drifted', [{ node: `n${i}`, nodePool: 'default' }]).admitted).toBe(true);
            ends.push(now + Math.ceil(random() * 40) * minute);
          }
          expect(pass.admit('Drifted', [{ node: 'one more', nodePool: 'default' }]).admitted).toBe(false);
          expect(ends.length).toBeLessThanOrEqual(Math.max(going.length, Math.ceil(total / 10)));
          if (allowed > 0) {
            const { weekday = '', hour: at = '', minute: past = '', day: date = '', month = '' } = local(now);
            expect(['Sat', 'Sun']).not.toContain(weekday);
            expect(['09', '10', '11']).toContain(at);
            // The first of a window begins the moment that it opens.
            if (!openedOn.has(`${date}.${month}`)) expect(`${at}:${past}`).toBe('09:00');
            openedOn.add(`${date}.${month}`);
          }
          const event = now + Math.ceil(random() * 4 * 60) * minute;
          now = Math.min(event, nextAt ?? event, ...ends);
        }
        expect(openedOn.size).toBe(23);
      }),
      { numRuns: 10 },
    );
  });
});
