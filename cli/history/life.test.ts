import { describe, expect, test } from '@jest/globals';
import type { WorkflowKind } from '../../core/ids.js';
import { lifeText } from '../history.js';
import { lifeOf } from './life.js';
import type { NodeRecords, Step } from './records.js';
import { lifeEntries } from './life-entries.js';

const start = Date.parse('2026-01-05T12:00:00Z');
const second = 1000;
type Draft = Step extends infer S ? (S extends Step ? Omit<S, 'at'> : never) : never;

/** One step a second. */
const steps = (...drafts: readonly Draft[]): readonly Step[] =>
  drafts.map((draft, i) => ({ ...draft, at: start + i * second }));

const started = (input: object, more: object = {}): Draft => ({ is: 'started', input, isContinued: false, ...more });
const phase = (value: string): Draft => ({ is: 'attributes', values: { StowagePhase: value } });
const asks = (value: boolean): Draft => ({ is: 'attributes', values: { StowageAwaitingApproval: value } });
const order = (name: string, input: unknown): Draft => ({ is: 'message', name, input });
const did = (name: string, result?: unknown, input: unknown = {}): Draft => ({
  is: 'activity',
  ...{ name, input, result },
});
const done = (result: unknown): Draft => ({ is: 'ended', how: 'completed', result });

const textsOf = (kind: WorkflowKind, drafts: readonly Draft[], pods: readonly string[] = []): readonly string[] =>
  lifeEntries([{ kind, workflowId: `c/${kind}/1`, runId: '1', steps: steps(...drafts) }], {
    claimName: 'a-1',
    pods,
  }).map(({ what }) => what);

const blockers = [
  { cause: 'pdb', name: 'pdb/shop/db', why: 'allows no eviction now', pods: ['shop/db-0'], podCount: 1 },
];
const candidate = (name: string): object => ({ claim: { name, uid: name }, node: `node-${name}` });
const decision = {
  ...{ replacements: [{ cheapest: { instanceType: 'm5.large' } }], podCount: 1, priceBefore: 0.3, priceAfter: 0.1 },
};
const blocked = { state: 'blocked', blockedBy: ['pdb/shop/db'], blockers, remaining: 1, evicted: 0 };

describe('history: the life of a node, from workflow histories', () => {
  test.each<[string, WorkflowKind, readonly Draft[], readonly string[]]>([
    [
      'a launch for pods',
      'launch',
      [
        started({ nodePool: 'a' }, { details: 'm5.large is the cheapest of 9 listed types that fit' }),
        did('launchInstance', { state: 'failed', message: 'throttled', tookMs: 1 }),
        did('launchInstance', { state: 'refused', reason: 'insufficient_capacity', message: 'none left' }),
        did('syncNode', { state: 'waiting', reason: 'NodeNotFound', message: '' }),
        did('syncNode', { state: 'registered', nodeName: 'node-1', message: 'not Ready' }),
        did('syncNode', { state: 'registered', nodeName: 'node-1', message: 'not Ready' }),
        did('syncNode', { state: 'initialized', nodeName: 'node-1', message: '' }),
        done({ outcome: 'initialized' }),
      ],
      [
        'launch began in NodePool a for 1 pod: shop/web-1; m5.large is the cheapest of 9 listed types that fit',
        'launch attempt failed: throttled',
        'launch refused (insufficient_capacity): none left',
        'registered as Node node-1; not initialized yet: not Ready',
        'initialized',
      ],
    ],
    [
      'a launch of a standalone NodeClaim',
      'launch',
      [started({ nodePool: '' }, { details: 'alone' })],
      ['launch began for 1 pod: shop/web-1; alone'],
    ],
    [
      'a launch that is given up',
      'launch',
      [done({ outcome: 'deleted', reason: 'registration_timeout', message: 'no Node within 15 minutes' })],
      ['launch given up (registration_timeout): no Node within 15 minutes; the NodeClaim is deleted'],
    ],
    [
      'a drain that is stuck and forced',
      'terminate',
      [
        started({ reason: 'drifted' }),
        did('drainNode', { ...blocked, blockedSince: start }),
        did('drainNode', blocked),
        did('notifyStuckDrain', undefined, { stuckMs: 300_000 }),
        did('restartOwners', { restarted: ['Deployment shop/db'], refused: [{ owner: 'Job shop/j', why: 'a Job' }] }),
        asks(true),
        order('approve', { actor: 'ann', reason: 'release' }),
        asks(false),
        did('publishDisruption', undefined, { reason: 'DrainForced', message: 'Drain forced by ann' }),
        did('setDeadline', undefined, { deadline: start }),
        did('drainNode', { state: 'blocked', blockedBy: [], remaining: 0, evicted: 1 }),
        done({ outcome: 'terminated', podsEvicted: 1, durationMs: 90_000, forcedBy: 'ann' }),
      ],
      [
        'termination began (drifted)',
        'drain blocked since 2026-01-05T12:00:00Z by pdb/shop/db allows no eviction now (holds shop/db-0); 1 pod left',
        'escalation: an event was published, after 5m0s without progress',
        'escalation: rollouts restarted: Deployment shop/db; Job shop/j not: a Job',
        'escalation: a person is asked whether to force the drain',
        'approved by ann (release)',
        'Drain forced by ann',
        'pods lose their protection at 2026-01-05T12:00:00Z',
        'nothing holds the drain up any more',
        'terminated: 1 pod evicted in 90s, forced by ann',
      ],
    ],
    [
      'a drain whose last look sees no volume',
      'terminate',
      [did('drainNode', { ...blocked, state: 'done', blockedBy: [], volumesDetached: true })],
      ['drained; volumes are detached'],
    ],
    [
      'a drain that waits for volumes',
      'terminate',
      [
        did('drainNode', { ...blocked, state: 'done', blockedBy: [], volumesDetached: false }),
        did('awaitVolumesDetached', { ...blocked, state: 'done', blockedBy: [] }),
      ],
      ['drained', 'volumes are detached'],
    ],
    [
      'orders to a drain',
      'terminate',
      [
        order('expedite', { actor: 'ann', force: true }),
        order('expedite', { instanceEndsAt: start, reason: 'spot_interrupted' }),
        order('retry', { actor: 'bob' }),
      ],
      [
        'drain forced by ann',
        'drain expedited by another workflow (spot_interrupted); the instance ends at 2026-01-05T12:00:00Z',
        'tried again, as ordered by bob',
      ],
    ],
    [
      'an interruption',
      'interrupt',
      [
        order('interruption', { kind: 'spot_interrupted', at: start }),
        did('taintCandidates'),
        phase('replacing'),
        done({ outcome: 'drained', secondsToSpare: 1 }),
      ],
      [
        'interruption notice: spot_interrupted, given at 2026-01-05T12:00:00Z',
        'tainted: no new pods',
        'a replacement is launched before the drain',
        'interruption over: the node was gone 1 second before the cloud was to take the instance',
      ],
    ],
    [
      'an interruption of a node that is terminated already',
      'interrupt',
      [done({ outcome: 'handed-over' })],
      ['interruption over: another workflow was terminating the node already'],
    ],
    [
      'an interruption that came too late',
      'interrupt',
      [done({ outcome: 'drained', secondsToSpare: -2 })],
      ['interruption over: the node was gone 2 seconds after the cloud was to take the instance'],
    ],
    [
      'a command that a person rejects',
      'consolidate',
      [
        started({ reason: 'Underutilized', candidates: [candidate('a-1'), candidate('a-2')], decision }),
        asks(true),
        order('reject', { actor: 'ann', reason: 'release' }),
        asks(false),
        phase('rejected'),
        done({ outcome: 'rejected', reason: 'rejected by ann (release)', terminated: [] }),
      ],
      [
        'disruption proposed (Underutilized) together with 1 other node: 1 replacement (m5.large), 1 pod to move, saves $0.2000 per hour',
        'a person is asked for approval',
        'rejected by ann (release)',
        'disruption rejected by ann (release)',
      ],
    ],
    [
      'a command whose approval is not answered in time',
      'consolidate',
      [asks(true), asks(false), phase('approved'), phase('waiting for its turn')],
      ['a person is asked for approval', 'approved: no answer in time', 'waits for its turn'],
    ],
    [
      'orders without an actor, which are refused, are left out',
      'consolidate',
      [
        asks(true),
        order('approve', undefined),
        order('reject', {}),
        order('hold', { on: true }),
        asks(false),
        phase('rejected'),
      ],
      ['a person is asked for approval', 'rejected: no answer in time'],
    ],
    [
      'a command that is withdrawn',
      'consolidate',
      [done({ outcome: 'withdrawn', reason: 'the node is gone', terminated: [] })],
      ['disruption withdrawn: the node is gone'],
    ],
    [
      'a command that leaves this node out',
      'consolidate',
      [
        started({ reason: 'Empty', candidates: [candidate('a-1'), candidate('a-2')] }),
        done({ outcome: 'done', terminated: ['node-a-2'] }),
      ],
      ['disruption proposed (Empty) together with 1 other node', 'disruption done; this node stays'],
    ],
    [
      'a pause and a hold',
      'replace',
      [
        started({ reason: 'Drifted' }),
        order('hold', true),
        { is: 'attributes', values: { StowagePaused: true } },
        { is: 'attributes', values: { StowagePaused: false } },
        order('hold', { actor: 'ann', on: true }),
        order('hold', { actor: 'ann', on: false }),
        done({ outcome: 'replaced', replacements: [{ name: 'a-9', uid: '9' }] }),
      ],
      [
        'replacement proposed (Drifted)',
        'waits: held by a pause or by a person',
        'goes on',
        'held by ann',
        'released by ann',
        'replaced by a-9',
      ],
    ],
    [
      'an expiration',
      'expire',
      [started({ expiresAt: start }), phase('replacing'), done({ outcome: 'replaced', replacements: [] })],
      ['expires at 2026-01-05T12:00:00Z', 'a replacement is launched first', 'expired and replaced'],
    ],
    [
      'a repair',
      'repair',
      [
        did('inspectRepair', { state: 'unhealthy', condition: 'Ready=False', since: start, dueAt: start }),
        did('inspectRepair', { state: 'unhealthy', condition: 'Ready=False', since: start, dueAt: start }),
        phase('rebooting'),
        done({ outcome: 'recovered', steps: ['Reboot'] }),
      ],
      [
        'unhealthy: Ready=False since 2026-01-05T12:00:00Z, repaired from 2026-01-05T12:00:00Z',
        'the instance is rebooted',
        'repair recovered',
      ],
    ],
    [
      'a terminated run',
      'expire',
      [{ is: 'ended', how: 'terminated', why: 'by hand' }],
      ['workflow expire terminated: by hand'],
    ],
    [
      'payloads that say nothing',
      'terminate',
      [started({}), order('expedite', undefined), did('drainNode', null), did('restartOwners', 'x'), done(undefined)],
      ['termination began (unknown)', 'drain expedited by another workflow', 'escalation: rollouts restarted: none'],
    ],
  ])('%s', (_what, kind, drafts, expected) => {
    expect(textsOf(kind, drafts, kind === 'launch' ? ['shop/web-1'] : [])).toEqual(expected);
  });

  test('a continued run repeats nothing', () => {
    const drain = { ...blocked, blockedSince: start };
    const first = steps(started({ reason: 'empty' }), did('drainNode', drain), {
      is: 'ended',
      how: 'continued as new',
    });
    const second = steps(started({ reason: 'empty' }, { isContinued: true }), did('drainNode', drain));
    const runs = [first, second].map((own, i) => ({
      ...{ kind: 'terminate' as const, workflowId: 'c/terminate/1', runId: String(i), steps: own },
    }));

    const whats = lifeEntries(runs, { claimName: 'a-1', pods: [] }).map(({ what }) => what);
    expect(whats).toEqual(['termination began (empty)', expect.stringMatching(/^drain blocked since/)]);
  });
});

describe('history: the life of a node', () => {
  const records: NodeRecords = {
    ...{ name: 'a-1', claimName: 'a-1', pods: [], gaps: [], isKubernetesRead: true, now: start },
    runs: [
      {
        ...{ kind: 'terminate', workflowId: 'c/terminate/1', runId: '2' },
        steps: [
          { is: 'started', at: start + 120_000, input: { reason: 'empty' }, isContinued: false },
          {
            is: 'attributes',
            at: start + 130_000,
            values: { StowagePhase: 'draining', StowageNodePool: 'a', StowageBlockedBy: 'pdb/shop/db' },
          },
        ],
      },
      {
        ...{ kind: 'launch', workflowId: 'c/launch/1', runId: '1' },
        steps: [
          { is: 'started', at: start, input: { nodePool: 'a' }, isContinued: false },
          { is: 'ended', at: start + 1, how: 'failed', why: 'broken' },
        ],
      },
    ],
  };

  test('merges workflows by time, with the time between them, and shows running ones', () => {
    expect(lifeText(lifeOf(records))).toBe(
      [
        'NodeClaim a-1, NodePool a',
        '',
        'TIME                   AFTER   WORKFLOW        WHAT',
        '2026-01-05T12:00:00Z           c/launch/1      launch began in NodePool a',
        '2026-01-05T12:00:00Z   +0s     c/launch/1      workflow launch failed: broken',
        '2026-01-05T12:02:00Z   +119s   c/terminate/1   termination began (empty)',
        '',
        'Under way',
        '  c/terminate/1: draining since 2026-01-05T12:02:10Z, blocked by pdb/shop/db',
        '',
        'NodeClaim and Node are gone: what only they said, such as when it drifted, is not kept.',
        '',
      ].join('\n'),
    );
  });

  test.each([
    ['days', 3 * 24 * 3_600_000, '3 days'],
    ['one day', 24 * 3_600_000, '1 day'],
    ['hours', 36 * 3_600_000, '36 hours'],
  ])('shows the retention in %s', (_what, retentionMs, words) => {
    expect(lifeOf({ ...records, runs: [], retentionMs }).notes[0]).toBe(
      `The launch of NodeClaim a-1 is not or no longer kept: Temporal keeps a workflow for ${words} after its end.`,
    );
  });
});
