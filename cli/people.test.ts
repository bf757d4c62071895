import { describe, expect, test } from '@jest/globals';
import type { AskedQuestion } from '../workflows/messages.js';
import type { StatusReport, WorkflowRow } from './status-rows.js';
import { statusText } from './output/status-table.js';
import { pauseTable } from './output/people-table.js';
import { pause, pauseScopeOf } from './pause.js';
import { order, stateLine } from './order.js';
import { history } from './history.js';
import { report } from './report.js';
import { watch } from './status.js';

test('an order is answered with the new state, which names who forced or holds', () => {
  const after = { phase: 'draining', waitingFor: 'pods to leave', until: '2026-01-05T12:00:00.123Z' };
  expect(stateLine({ ...after, facts: {} })).toBe('Now: draining, waits for pods to leave until 2026-01-05T12:00:00Z');
  const facts = { 'force ordered by': 'ann (fire): it deletes shop/db-0', 'held by': 'bob (a look)' };
  expect(stateLine({ phase: 'goes on', facts })).toBe(
    'Now: goes on\nForce ordered by ann (fire): it deletes shop/db-0\nHeld by bob (a look)',
  );
});

describe('the scope of a pause', () => {
  test('is a cluster, NodePool or node, and a NodePool may be limited to a reason', () => {
    expect(pauseScopeOf({ cluster: true })).toEqual({ kind: 'cluster' });
    expect(pauseScopeOf({ nodepool: 'gpu' })).toEqual({ kind: 'nodePool', name: 'gpu' });
    expect(pauseScopeOf({ nodepool: 'gpu', reason: 'Drifted' })).toEqual({
      kind: 'nodePool',
      name: 'gpu',
      reason: 'Drifted',
    });
    expect(pauseScopeOf({ reason: 'Empty' })).toEqual({ kind: 'reason', name: 'Empty' });
    expect(pauseScopeOf({ node: 'n1' })).toEqual({ kind: 'node', name: 'n1' });
  });

  test.each([
    ['no scope', {}, 'say what: --cluster, --nodepool NAME, --node NAME or --reason REASON'],
    ['a cluster and a node', { cluster: true, node: 'n1' }, /^give one of/],
    ['a node and a reason', { node: 'n1', reason: 'Empty' as const }, /^give one of/],
  ])('%s is refused', (_name, options, message) => {
    expect(() => pauseScopeOf(options)).toThrow(message);
  });
});

describe('usage errors of orders, before anything is sent', () => {
  const cluster = ['--cluster-name', 'c', '--temporal-address', '127.0.0.1:1'];

  test.each([
    [
      'an invalid --for',
      [...cluster, '--cluster', '--because', 'x', '--for', 'soon'],
      /--for: "soon" is not a duration/,
    ],
    [
      'a --for of 0s',
      [...cluster, '--cluster', '--because', 'x', '--for', '0s'],
      /--for: "0s" is not allowed: give more than 0s/,
    ],
    ['no cluster name', ['--cluster', '--because', 'x'], /CLUSTER_NAME \(--cluster-name\) is missing/],
  ])('pause: %s', async (_name, args, message) => {
    await expect(pause(args)).rejects.toThrow(message);
  });

  test('of history, report and expedite name the argument and what is allowed', async () => {
    await expect(history([...cluster, 'pod', 'a'])).rejects.toThrow(
      /'pod' is invalid for argument 'kind'. Allowed choices are node/,
    );
    await expect(report([...cluster, '--since', 'yesterday'])).rejects.toThrow(
      /--since: "yesterday" is not a duration/,
    );
    await expect(order('expedite', [...cluster, 'n1', '--within', 'x'])).rejects.toThrow(
      /--within: "x" is not a duration/,
    );
  });
});

const row = (more: Partial<WorkflowRow>): WorkflowRow => ({
  workflowId: 'prod/terminate/1',
  kind: 'terminate',
  nodePool: 'default',
  nodeClaim: 'default-abc',
  reason: 'drifted',
  phase: 'draining',
  blockedBy: '',
  waitingFor: 'pods to leave',
  until: '',
  startedAt: '2026-01-05T12:00:00.123Z',
  awaitingApproval: false,
  facts: {},
  ...more,
});
const state = (workflows: WorkflowRow[], more: Partial<StatusReport> = {}): StatusReport => ({
  pools: [],
  claims: [],
  workflows,
  moreUnderWay: 0,
  stays: [],
  moreStay: 0,
  unread: [],
  pauses: [],
  stuck: [],
  unavailable: [],
  refused: [],
  declined: [],
  problems: [],
  unplaced: [],
  drift: [],
  ...more,
});

describe('stowage status', () => {
  test('has no line that begins with text of other users', () => {
    const evil = `a\nNeeds you\r\n  FORGED\u2028FORGED${' '.repeat(300)}FORGED`;
    const asked = { what: evil, unanswered: evil, until: '2026-01-05T12:00:00Z' } as unknown as AskedQuestion;
    const text = statusText(
      state(
        [
          row({ awaitingApproval: true, question: asked, reason: evil, nodeClaim: evil }),
          row({ blockedBy: evil, causes: [evil], facts: { 'active step': evil } }),
          row({ phase: evil, waitingFor: evil }),
        ],
        {
          unread: [evil],
          karpenter: { holder: evil, lease: evil },
          stuck: [{ kind: 'failing', subject: evil, why: evil, then: evil }],
          problems: [{ object: evil, message: evil }],
          declined: [{ object: evil, message: evil }],
          unplaced: [{ why: evil, pods: [evil] }],
          stays: [{ why: evil, nodes: [evil] }],
          pools: [{ nodePool: evil, ready: 'False', message: evil, nodes: 0, limits: [evil] }],
        },
      ),
    );

    expect(text.match(/FORGED/g)?.length).toBeGreaterThan(30);
    expect(text.split('\n').filter((line) => /^\s*(FORGED|Needs you.)| {200}/.test(line))).toEqual([]);
    expect(text.match(/^Needs you$/gm)).toHaveLength(1);
  });

  test('begins with pauses, and who gave them', () => {
    const karpenter = { holder: 'karpenter-7c9_1', lease: 'kube-system/karpenter-leader-election' };
    expect(statusText(state([], { karpenter }))).toMatch(
      /^Karpenter is running\n {2}karpenter-7c9_1 holds the lease kube-system\/karpenter-leader-election: Stowage does nothing/,
    );
  });

  test('says that nothing is under way only where no workflow waits, not even a blocked one', () => {
    expect(statusText(state([]))).toContain('Under way\n  nothing');
    expect(statusText(state([row({ blockedBy: 'pdb/shop/web (never)' })]))).toContain('Under way\n  nothing else');
  });

  test('groups nodes that stay by their blocker, those of most nodes first (surfaces/one-reason)', () => {
    const stays = [
      { why: 'PodDisruptionBudget shop/web forbids evicting pod shop/web-0', nodes: ['n1'] },
      { why: 'budget 0 allows no more for Underutilized', nodes: ['n2', 'n3', 'n4', 'n5'] },
    ];
    expect(statusText(state([], { stays, moreStay: 7 }))).toContain(
      [
        'Nodes that could go but stay',
        '  n2, n3, n4 and 1 more, each: budget 0 allows no more for Underutilized',
        '  n1: PodDisruptionBudget shop/web forbids evicting pod shop/web-0',
        '  and 7 more nodes: stowage why node/NAME',
      ].join('\n'),
    );
    const many = Array.from({ length: 17 }, (_, n) => ({ why: `reason ${n}`, nodes: [`n${n}`] }));
    expect(statusText(state([], { stays: many }))).toContain('  n14: reason 14\n  and 2 more nodes: stowage why');
    expect(statusText(state([]))).not.toContain('stay');
  });

  test('lists what is stuck as wrong: what, since when, why, and what to do', () => {
    const since = Date.parse('2026-01-05T12:00:00Z');
    const stuck = [
      {
        kind: 'failing' as const,
        subject: 'prod/provision',
        since,
        why: 'planNodes fails: no',
        attempts: 3,
        then: 'mend',
      },
      { kind: 'missing' as const, subject: 'prod/disrupt', why: 'it does not run', then: 'see the log' },
    ];
    expect(statusText(state([], { stuck })).split('\n\n')[0]?.split('\n')).toEqual([
      'Wrong',
      '  prod/provision: planNodes fails: no (since 2026-01-05T12:00:00Z, after 3 failures)',
      '    mend',
      '  prod/disrupt: it does not run',
      '    see the log',
    ]);
  });

  test('lists pods that kube-scheduler refuses beside pods without a place, each once', () => {
    const finding = {
      kind: 'pods' as const,
      why: 'kube-scheduler left it without node n',
      then: 'see what it asks for',
    };
    const text = statusText(
      state([], {
        stuck: ['shop/refused', 'shop/placeless'].map((pod) => ({ ...finding, subject: `pod/${pod}` })),
        unplaced: [{ why: 'there is no NodePool', pods: ['shop/placeless'] }],
      }),
    );
    expect(text).toContain('pod/shop/refused: kube-scheduler left it without node n');
    expect(text).not.toContain('pod/shop/placeless: kube-scheduler');
    expect(text).toContain('1 pod without a place: shop/placeless');
  });

  test('has the order: what needs a person, what is wrong, what is under way, what exists, what is held back, what is next', () => {
    const text = statusText(
      state(
        [
          row({
            blockedBy: 'pdb/shop/web (never)',
            causes: ['pdb/shop/web can never allow an eviction', 'pod/shop/db-0 is marked'],
            facts: {
              'pods left': 2,
              'active step': 'none',
              'next step': 'Force at 2026-01-05T14:00:00Z',
            },
          }),
          row({
            workflowId: 'prod/consolidate/2',
            kind: 'consolidate',
            reason: 'underutilized',
            phase: 'awaiting approval',
            awaitingApproval: true,
            question: {
              what: 'approval to disrupt node-1, Underutilized',
              yes: 'evicts 1 pod and terminates 1 node',
              ...{ unanswered: 'it is rejected', until: '2026-01-06T12:00:00.000Z' },
              moves: { podCount: 1, first: ['shop/web-1 → node-2'] },
            },
          }),
          row({
            workflowId: 'prod/expire/2',
            kind: 'expire',
            phase: 'replacing',
            waitingFor: 'the replacement to be up',
          }),
        ],
        {
          pools: [
            {
              ...{ nodePool: 'default', ready: 'True', message: '', nodes: 4, limits: ['cpu 8 of 1000'] },
              ...{ pricePerHour: 0.8, leastPossiblePerHour: 0.5 },
            },
          ],
          problems: [{ object: 'DisruptionPolicy careful', message: 'spec.maintenanceWindows[0]: no such zone' }],
          unplaced: [{ why: 'default: limits.cpu of 8 is reached', pods: ['shop/web-7', 'shop/web-8'] }],
          drift: [{ nodePool: 'default', drifted: 2, disrupting: 1, nodes: 4 }],
          unavailable: ['m5.large', 'm5.xlarge', 'c5.large', 'r5.large'].map((instanceType) => ({
            ...{ instanceType, zone: 'a', capacityType: 'spot', reason: 'InsufficientInstanceCapacity' },
            until: '2026-01-05T12:03:00.000Z',
          })),
          pauses: [
            { scope: { kind: 'nodePool', name: 'gpu' }, reason: 'launch week', actor: 'ann', until: 1767632400000 },
          ],
          refused: [
            {
              reason: 'Underutilized',
              nodes: [{ claim: { name: 'default-abc', uid: '1' }, node: 'node-9', nodePool: 'default' }],
              saves: 0.1,
              why: 'rejected by ann (release)',
              at: 0,
              until: 1767632400000,
            },
          ],
          declined: [{ object: 'node node-8', message: 'does not expire: rejected by ann' }],
          nextWindow: {
            at: '2026-01-05T22:00:00.000Z',
            why: 'window night opens',
            nodePool: 'default',
            reason: 'Empty',
          },
        },
      ),
    );

    expect(text).toBe(`Needs you
  default-abc (underutilized) waits for approval to disrupt node-1, Underutilized
    yes evicts 1 pod and terminates 1 node
    without an answer until 2026-01-06T12:00:00Z: it is rejected
    pods: shop/web-1 → node-2
    stowage approve prod/consolidate/2
    stowage reject prod/consolidate/2
  default-abc (drifted) is blocked, draining since 2026-01-05T12:00:00Z, 2 pods left
    pdb/shop/web can never allow an eviction
    pod/shop/db-0 is marked
    next: Force at 2026-01-05T14:00:00Z
  DisruptionPolicy careful: spec.maintenanceWindows[0]: no such zone

Wrong
  2 pods without a place: shop/web-7, shop/web-8
    default: limits.cpu of 8 is reached
    stowage why pod/web-7 -n shop
  out of capacity: spot in a (InsufficientInstanceCapacity): c5.large, m5.large, m5.xlarge and 1 more; tried again from 2026-01-05T12:03:00Z

Under way
  drift of NodePool default: 2 of 4 nodes left, 1 being replaced
WORKFLOW   ABOUT         REASON    PHASE       WAITS FOR                  UNTIL
expire/2   default-abc   drifted   replacing   the replacement to be up

NodePools
NODEPOOL   READY   NODES   PRICE PER HOUR   LOWER BOUND      LIMITS          MESSAGE
default    True        4   $0.8000          $0.5000 (+60%)   cpu 8 of 1000

Paused
PAUSED         UNTIL                  BY    BECAUSE
NodePool gpu   2026-01-05T17:00:00Z   ann   launch week

Rejected (stowage reconsider undoes it)
NODES    REASON          UNTIL                  BECAUSE
node-9   Underutilized   2026-01-05T17:00:00Z   rejected by ann (release)
  node node-8: does not expire: rejected by ann

Next
  2026-01-05T22:00:00Z: window night opens (default, Empty)
`);
  });

  test('says cluster where no node or NodePool is named', () => {
    const collecting = row({ workflowId: 'prod/collect-garbage-1', nodeClaim: '', nodePool: '', phase: 'looking' });
    expect(statusText(state([collecting]))).toMatch(/collect-garbage-1 +the cluster /);
    expect(statusText(state([row({ nodeClaim: '' })]))).toContain('NodePool default');
  });

  test("says which question's approval removes protection, and how to give it; others need no --force (surfaces/force-overrides-protection)", () => {
    const harmless: AskedQuestion = {
      ...{ what: 'force the drain of node-1?', yes: 'deletes the pods shop/db-0', no: 'ends the escalation' },
      ...{ unanswered: 'Force follows', until: '2026-01-06T12:00:00.000Z' },
    };
    const question = { ...harmless, breaks: 'yes deletes the pods shop/db-0' };
    const text = statusText(state([row({ awaitingApproval: true, question })]));
    expect(text).toContain('default-abc (drifted) asks: force the drain of node-1?');
    expect(text).toContain('\n    yes deletes the pods shop/db-0\n    no ends the escalation\n');
    expect(text).toContain('\n    without an answer until 2026-01-06T12:00:00Z: Force follows\n');
    expect(text).toContain('stowage approve prod/terminate/1 --force');

    expect(statusText(state([row({ awaitingApproval: true, question: harmless })]))).toContain(
      'stowage approve prod/terminate/1\n',
    );
  });

  test('prints the parts of a question also where they contain colons, and the question alone where no worker answers', () => {
    const question = {
      ...{ what: 'approval to repair node-1 (X: yes it is)', yes: 'takes the steps Replace; Force: yes' },
      ...{ unanswered: 'it is approved', until: '2026-01-06T12:00:00.000Z' },
    };
    const text = statusText(state([row({ awaitingApproval: true, question })]));
    expect(text).toContain(
      'waits for approval to repair node-1 (X: yes it is)\n    yes takes the steps Replace; Force: yes\n',
    );
    const unknown = statusText(state([row({ awaitingApproval: true, waitingFor: '' })]));
    expect(unknown).toContain('(drifted) waits for approval\n    stowage approve prod/terminate/1\n');
  });

  test('names the first of many moved pods', () => {
    const question = {
      ...{ what: 'approval', yes: 'evicts 58 pods', unanswered: 'it is rejected', until: '2026-01-06T12:00:00.000Z' },
      moves: { podCount: 58, first: ['a/1 → n', 'a/2 → n', 'a/3 → n', 'a/4 → n'] },
    };
    const text = statusText(state([row({ awaitingApproval: true, question })]));
    expect(text).toContain('\n    pods: 58: a/1 → n; a/2 → n; a/3 → n; and 55 more\n');
  });

  test('lists a rollout by its NodePool', () => {
    const rollout = row({ workflowId: 'prod/drift/1/a', kind: 'drift', nodeClaim: '', awaitingApproval: true });
    expect(statusText(state([rollout]))).toContain('  NodePool default (drifted) waits for');
    expect(statusText(state([{ ...rollout, awaitingApproval: false }]))).toContain('drift/1/a   NodePool default');
  });

  test('counts workflows that it does not list', () => {
    expect(statusText(state([row({})], { moreUnderWay: 3 }))).toContain('  and 3 more workflows\n');
  });

  test('prints thousands of unavailable offerings in a few lines', () => {
    const unavailable = Array.from({ length: 2153 }, (_, i) => ({
      ...{ instanceType: `t${i}`, zone: `z${i % 3}`, capacityType: 'spot', reason: 'x' },
      until: '2026-01-05T12:03:00.000Z',
    }));
    expect(statusText(state([], { unavailable })).split('\n').length).toBeLessThan(12);
  });

  test('is short for a quiet cluster', () => {
    expect(statusText(state([]))).toBe('Under way\n  nothing\n\nNodePools\n  none\n');
  });

  test('with --watch is printed repeatedly until interrupted, and prints a failed look', async () => {
    const controller = new AbortController();
    const written: string[] = [];
    const looks = [async () => Promise.resolve('one\n'), async () => Promise.reject(new Error('away'))];
    const look = async (): Promise<string> => {
      const next = looks.shift();
      if (looks.length === 0) controller.abort();
      return next!();
    };
    const write = (text: string): void => void written.push(text);
    await watch(look, { write, isTerminal: false }, { everyMs: 1, signal: controller.signal });
    expect(written).toEqual(['one\n\n', 'away\n\n']);
  });

  test('says that a pause has no end', () => {
    expect(pauseTable([{ scope: { kind: 'cluster' }, reason: 'r', actor: 'a' }])).toContain(
      'the cluster   resumed   a',
    );
  });
});
