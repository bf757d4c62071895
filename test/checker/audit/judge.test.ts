import { beforeEach, describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { NodePool } from '../../../api/karpenter/node-pool.js';
import type { Pod } from '../../../api/kubernetes.js';
import { annotations, instanceTags, labels } from '../../../api/labels.js';
import { Judge, type AuditedRequest } from './judge.js';

const start = Date.parse('2026-01-05T12:00:00Z');
const minuteMs = 60_000;
const pool = 'default';

let judge: Judge;

beforeEach(() => {
  judge = new Judge();
});

interface ClaimParts {
  readonly disruptedFor?: string;
  readonly terminating?: boolean;
  readonly endsAt?: number;
}

function claim(name: string, { disruptedFor, terminating = false, endsAt }: ClaimParts = {}): NodeClaim {
  const condition = (type: string, reason: string): object => ({ type, status: 'True', reason });
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      labels: { [labels.nodePool]: pool },
      ...(endsAt === undefined
        ? {}
        : { annotations: { [annotations.terminationTimestamp]: new Date(endsAt).toISOString() } }),
    },
    status: {
      nodeName: `node-${name}`,
      providerID: `aws:///us-west-2a/i-${name}`,
      conditions: [
        ...(disruptedFor === undefined ? [] : [condition('DisruptionReason', disruptedFor)]),
        ...(terminating ? [condition('InstanceTerminating', 'InstanceTerminating')] : []),
      ],
    },
  } as unknown as NodeClaim;
}

const instance = (id: string, of: string, state = 'running'): Parameters<Judge['instances']>[0][number] => ({
  id,
  state,
  tags: { [instanceTags.nodeClaimUid]: `uid-${of}` },
});

function givePool(budgets: readonly object[]): void {
  judge.pool({ metadata: { name: pool }, spec: { disruption: { budgets } } } as unknown as NodePool);
}

function givePod(more: object = {}): void {
  judge.pod({
    metadata: { name: 'web-1', namespace: 'default', labels: { app: 'web' }, ...more },
    spec: { nodeName: 'node-a', terminationGracePeriodSeconds: 30 },
  } as unknown as Pod);
}

const request = (verb: AuditedRequest['verb'], more: Partial<AuditedRequest> = {}): AuditedRequest => ({
  byStowage: true,
  verb,
  kind: 'Pod',
  namespace: 'default',
  name: 'web-1',
  succeeded: true,
  at: start,
  ...more,
});

const doNotDisrupt = { annotations: { [annotations.doNotDisrupt]: 'true' } };
const budget = { metadata: { name: 'web', namespace: 'default' }, spec: { selector: { matchLabels: { app: 'web' } } } };

describe('Judge, instances of NodeClaims', () => {
  test('reports a second instance of one claim, though the first is terminated (invariants/one-instance)', () => {
    judge.instances([instance('i-1', 'a')], start);
    judge.instances([instance('i-1', 'a', 'terminated')], start);
    expect(judge.problems).toEqual([]);
    judge.instances([instance('i-2', 'a')], start);
    expect(judge.problems).toEqual(['NodeClaim uid-a got instances i-1, i-2 (invariants/one-instance)']);
  });

  test("reports an instance that runs when its claim's finalizer is removed, and not one that is ending (invariants/no-orphans)", () => {
    for (const name of ['a', 'b']) judge.claim(claim(name), true, start);
    judge.instances([instance('i-a', 'a'), instance('i-b', 'b', 'shutting-down')], start + 1);
    expect(judge.problems).toEqual(['NodeClaim a was removed while its instance i-a runs (invariants/no-orphans)']);
  });

  test('ignores a list of instances read before the claim was removed (invariants/no-orphans)', () => {
    judge.claim(claim('a'), true, start);
    judge.instances([instance('i-a', 'a')], start - 1);
    expect(judge.problems).toEqual([]);
  });

  test('reports an instance that its claim does not name after five minutes for garbage collection (invariants/no-orphans)', () => {
    judge.claim(claim('a'), true, start);
    judge.instances([instance('i-other', 'a')], start + 5 * minuteMs);
    expect(judge.problems).toEqual([]);
    judge.instances([instance('i-other', 'a')], start + 5 * minuteMs + 1);
    expect(judge.problems).toEqual(['instance i-other outlives NodeClaim a (invariants/no-orphans)']);
  });
});

describe('Judge, budgets (invariants/budgets-hold)', () => {
  const names = ['a', 'b', 'c', 'd'];

  function disrupt(...disrupted: readonly string[]): readonly string[] {
    for (const name of names) judge.claim(claim(name), false, start);
    for (const name of disrupted) judge.claim(claim(name, { disruptedFor: 'Underutilized' }), false, start);
    return judge.problems;
  }

  test.each([
    [[{ nodes: '50%' }], ['a', 'b'], ['a', 'b', 'c']],
    [[{ nodes: '100%' }, { nodes: '1' }], ['a'], ['a', 'b']],
    [[{ nodes: '30%' }], ['a', 'b'], ['a', 'b', 'c']],
  ])('%j allows disrupting %j and not %j', (budgets, allowed, tooMany) => {
    givePool(budgets);
    expect(disrupt(...allowed)).toEqual([]);
    expect(disrupt(...tooMany)).toHaveLength(1);
  });

  /** `disrupted` go in their order, for their reasons. */
  function disruptFor(disrupted: Readonly<Record<string, string>>, now = start): readonly string[] {
    for (const name of names) judge.claim(claim(name), false, now);
    for (const [name, disruptedFor] of Object.entries(disrupted))
      judge.claim(claim(name, { disruptedFor }), false, now);
    return judge.problems;
  }

  // Rule `budgets/reasons`.
  test('a budget for a reason counts only nodes disrupted for it', () => {
    givePool([{ nodes: '3' }, { nodes: '1', reasons: ['Drifted'] }]);
    expect(disruptFor({ a: 'Drifted', b: 'Empty', c: 'Underutilized' })).toEqual([]);
    expect(disruptFor({ a: 'Empty', b: 'Drifted' })).toEqual([
      'NodePool default: 2 of 4 nodes are disrupted where 1 are allowed for Drifted (invariants/budgets-hold)',
    ]);
  });

  // Rule `budgets/schedule`.
  test.each([
    ['before it opens', '2026-01-05T08:58:00Z', 0],
    ['when it has just opened, as what goes was decided before', '2026-01-05T09:02:00Z', 0],
    ['inside', '2026-01-05T09:30:00Z', 1],
    ['when it has closed', '2026-01-05T10:01:00Z', 0],
  ])('a scheduled budget counts while its schedule is open: %s', (_, time, problems) => {
    givePool([{ nodes: '0', schedule: '0 9 * * *', duration: '1h' }]);
    expect(disruptFor({ a: 'Empty' }, Date.parse(time))).toHaveLength(problems);
  });

  test('interrupted nodes, and those already terminating, do not count', () => {
    givePool([{ nodes: '1' }]);
    judge.claim(claim('b', { disruptedFor: 'Drifted', terminating: true }), false, start);
    judge.claim(claim('c', { disruptedFor: 'SpotInterrupted' }), false, start);
    judge.claim(claim('a', { disruptedFor: 'Empty' }), false, start);
    expect(judge.problems).toEqual([]);
  });
});

describe('Judge, protection of pods (invariants/protection-holds)', () => {
  test('reports the eviction of a do-not-disrupt pod', () => {
    givePod(doNotDisrupt);
    judge.request(request('evict'));
    expect(judge.problems).toEqual([
      'pod default/web-1 was evicted in spite of karpenter.sh/do-not-disrupt (invariants/protection-holds)',
    ]);
  });

  test('leaves PodDisruptionBudgets to the API server for evictions, and reports the deletion of a pod that one protects', () => {
    givePod();
    judge.podDisruptionBudget(budget as never, false);
    judge.request(request('evict'));
    expect(judge.problems).toEqual([]);
    judge.request(request('delete'));
    expect(judge.problems).toEqual([
      'pod default/web-1 was deleted in spite of PodDisruptionBudget web (invariants/protection-holds)',
    ]);
  });

  test.each([
    ['refused', { succeeded: false }],
    ['sent by another client than Stowage', { byStowage: false }],
    ['about something else', { kind: 'Node' as const }],
  ])('ignores a request that was %s', (_, more) => {
    givePod(doNotDisrupt);
    judge.request(request('evict', more));
    expect(judge.problems).toEqual([]);
  });

  test("do-not-disrupt protects a pod until its grace period before the node's deadline", () => {
    givePod(doNotDisrupt);
    judge.claim(claim('a', { endsAt: start + minuteMs }), false, start);
    judge.request(request('evict', { at: start + 29_000 }));
    expect(judge.problems).toEqual([]);
    judge.request(request('evict', { at: start + 28_000 }));
    expect(judge.problems).toHaveLength(1);
  });

  test('a deleted PodDisruptionBudget protects nothing', () => {
    givePod();
    judge.podDisruptionBudget(budget as never, false);
    judge.podDisruptionBudget(budget as never, true);
    judge.request(request('delete'));
    expect(judge.problems).toEqual([]);
  });
});
