import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Budget, NodePool } from '../../api/karpenter/node-pool.js';
import { disruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { Random } from '../cases/random.js';
import { decideAdmission } from '../../disruption/budgets/admission.js';
import { limitOf, rememberedForMs } from '../../disruption/budgets/limits.js';
import { effectivePolicyOf } from '../../disruption/policies/effective-policy.js';
import { rememberDisruptions } from '../../disruption/budgets/limits/past-disruptions.js';
import type { PastDisruption } from '../../disruption/budgets/limits/past-disruptions.js';
import { disruptionReasons, type DisruptionReason } from '../../api/disruption-reasons.js';

// The same cases in every run, so that a failure is a change; STOWAGE_SEED draws others.
fc.configureGlobal({ seed: Number(process.env['STOWAGE_SEED'] ?? 20_260_101) });

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

interface Rules {
  readonly pool: NodePool;
  readonly policies: readonly DisruptionPolicy[];
}

function rulesFrom(spec: object, budgets: readonly object[]): Rules {
  const pool = { metadata: { name: 'default' }, spec: { disruption: { budgets: budgets as Budget[] } } };
  return {
    pool: pool as unknown as NodePool,
    policies: [
      {
        apiVersion: 'stowage.dev/v1alpha1',
        kind: 'DisruptionPolicy',
        metadata: { name: 'p' },
        spec: disruptionPolicySpec.parse(spec),
      },
    ],
  };
}

function rulesOf({ budgets, windows, rates }: Limits): Rules {
  const text = (ms: number): string => `${ms / 1000}s`;
  const spec = {
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
  };
  return rulesFrom(
    spec,
    budgets.map(({ nodes: most, reasons, daily: when }) => ({
      nodes: most,
      ...(reasons === undefined ? {} : { reasons }),
      ...(when === undefined ? {} : { schedule: cronOf(when), duration: `${when.lengthMs / hour}h` }),
    })),
  );
}

let serial = 0;

/** How many of `count` candidates the limits allow. */
function grantedOf(
  { pool, policies }: Rules,
  {
    reason,
    count,
    total,
    disrupting,
    pastDisruptions,
  }: {
    reason: DisruptionReason;
    count: number;
    total: number;
    disrupting: number;
    pastDisruptions: readonly PastDisruption[];
  },
  now: number,
): number {
  const uids = Array.from({ length: count }, () => `n${serial++}`);
  const candidates = uids.map((uid) => ({ uid, node: uid, nodePool: 'default' }));
  const [admission] = decideAdmission([{ id: 'a', reason, candidates }], {
    now,
    policies,
    pastDisruptions,
    pools: new Map([['default', pool]]),
    counts: new Map([['default', { total, disrupting }]]),
    present: new Set(uids),
    disrupting: new Set(),
    paused: () => undefined,
  });
  return admission!.granted.length;
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

/** A pool whose single writer is `admit`; every disruption is judged by the test's own arithmetic. */
class Pool {
  private unready = 0;
  private going = 0;
  private memory: PastDisruption[] = [];
  readonly all: PastDisruption[] = [];
  private readonly rules: Rules;

  constructor(
    private total: number,
    private readonly limits: Limits,
  ) {
    this.rules = rulesOf(limits);
  }

  happen(event: Event, now: number): void {
    switch (event.kind) {
      case 'want':
        this.want(event.reason, event.count, now);
        return;
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
      case 'restart': {
        // What a restarted single writer has is what it wrote down.
        const memory = rememberedForMs(effectivePolicyOf(this.rules.pool, this.rules.policies));
        this.memory = rememberDisruptions(JSON.parse(JSON.stringify(this.memory)) as PastDisruption[], memory, now);
      }
    }
  }

  private want(reason: DisruptionReason, wanted: number, now: number): void {
    const count = Math.min(wanted, this.total - this.going - this.unready);
    const disrupting = this.going + this.unready;
    const asked = { reason, count, total: this.total, disrupting, pastDisruptions: this.memory };
    const granted = grantedOf(this.rules, asked, now);
    if (granted === 0) return;
    const disruption = { at: now, nodePool: 'default', reason, nodes: granted };
    this.memory.push(disruption);
    this.all.push(disruption);
    this.going += granted;
    this.judge(reason, now);
  }

  private judge(reason: DisruptionReason, now: number): void {
    const about = (reasons: readonly DisruptionReason[] | undefined, of: DisruptionReason = reason): boolean =>
      reasons === undefined || reasons.includes(of);
    // What is broken is bound by what names it alone, and by no budget; it counts for the others (budgets/reasons).
    const binds = (reasons: readonly DisruptionReason[] | undefined): boolean =>
      reason === 'Unhealthy' ? reasons?.includes(reason) === true : about(reasons);
    for (const budget of this.limits.budgets) {
      if (!binds(budget.reasons)) continue;
      if (budget.daily !== undefined && openings(budget.daily, now) === undefined) continue;
      expect(this.going + this.unready).toBeLessThanOrEqual(counted(budget.nodes, this.total));
    }
    for (const rate of this.limits.rates.filter(({ reasons }) => binds(reasons))) {
      const began = this.all.filter((one) => one.at > now - rate.perMs && about(rate.reasons, one.reason));
      expect(began.reduce((sum, one) => sum + one.nodes, 0)).toBeLessThanOrEqual(counted(rate.nodes, this.total));
    }
    const windows = this.limits.windows.filter(({ reasons }) => binds(reasons));
    const open = windows.filter((window) => openings(window.daily, now) !== undefined);
    if (windows.length > 0) expect(open.length).toBeGreaterThan(0);
    for (const window of open) {
      if (window.quota === undefined) continue;
      const from = openings(window.daily, now)!;
      const began = this.all.filter((one) => one.at >= from && about(window.reasons, one.reason));
      expect(began.reduce((sum, one) => sum + one.nodes, 0)).toBeLessThanOrEqual(counted(window.quota, this.total));
    }
  }
}

describe('budgets, rates, quotas and maintenance windows of a random policy', () => {
  // Rule `invariants/budgets-hold`.
  test('are never exceeded by any sequence of disruptions', () => {
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
      { numRuns: 150 },
    );
    // Limits that let nothing through would hold as well.
    expect(began).toBeGreaterThan(700);
  });

  test('give as the next time to check the first one at which a disruption is allowed again', () => {
    let checked = 0;
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
          const { pool, policies } = rulesOf(given);
          const pastDisruptions = past.map(({ ago, nodes: count }) => ({
            at: now - ago * minute,
            nodePool: 'default',
            reason,
            nodes: count,
          }));
          const ask = (when: number) =>
            limitOf(pool, reason, { total: 12, disrupting: 0 }, { now: when, policies, pastDisruptions });
          const { allowed, changesAt } = ask(now);
          if (allowed > 0) return;
          const end = Math.min(changesAt ?? Number.POSITIVE_INFINITY, now + 2 * day);
          for (let when = now + minute; when < end; when += 97 * minute) expect(ask(when).allowed).toBe(0);
          if (changesAt === undefined) return;
          checked++;
          expect(ask(changesAt).allowed).toBeGreaterThan(0);
          expect(ask(changesAt - 1).allowed).toBe(0);
        },
      ),
      { numRuns: 150 },
    );
    expect(checked).toBeGreaterThan(30);
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

  test('the budget is never exceeded, and each window is used and only within its time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), (seed) => {
        const source = new Random(seed);
        const random = (): number => source.next();
        const windows = [{ name: 'mornings', schedule: '0 9 * * mon-fri', duration: '3h', timeZone: zone }];
        const rules = rulesFrom({ maintenanceWindows: windows }, [{ nodes: '10%' }]);
        let total = 30;
        let ends: number[] = [];
        const openedOn = new Set<string>();
        let now = from;
        while (now < until) {
          const going = ends.filter((end) => end > now);
          total += going.length - ends.length;
          ends = going;
          if (random() < 0.4) total = Math.min(60, Math.max(ends.length + 1, total + Math.round(random() * 6 - 2)));
          const count = { total, disrupting: ends.length };
          const { allowed, changesAt } = limitOf(rules.pool, 'Drifted', count, { now, policies: rules.policies });
          const asked = { reason: 'Drifted' as const, count: allowed + 1, pastDisruptions: [], ...count };
          expect(grantedOf(rules, asked, now)).toBe(allowed);
          for (let i = 0; i < allowed; i++) ends.push(now + (1 + Math.floor(random() * 40)) * minute);
          expect(ends.length).toBeLessThanOrEqual(Math.max(going.length, Math.ceil(total / 10)));
          if (allowed > 0) {
            const { weekday = '', hour: at = '', minute: past = '', day: date = '', month = '' } = local(now);
            expect(['Sat', 'Sun']).not.toContain(weekday);
            expect(['09', '10', '11']).toContain(at);
            // The first of a window begins the moment that it opens.
            if (!openedOn.has(`${date}.${month}`)) expect(`${at}:${past}`).toBe('09:00');
            openedOn.add(`${date}.${month}`);
          }
          const event = now + (1 + Math.floor(random() * 240)) * minute;
          now = Math.min(event, changesAt ?? event, ...ends);
        }
        expect(openedOn.size).toBe(23);
      }),
      { numRuns: 10 },
    );
  });
});
