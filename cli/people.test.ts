import { describe, expect, test } from '@jest/globals';
import type { StatusReport, WorkflowRow } from '../operator/status-report.js';
import type { DoneRow } from './output/report-table.js';
import { reportText } from './output/report-table.js';
import { statusText } from './output/status-table.js';
import { pauseTable } from './output/people-table.js';
import { pause, scopeOf } from './pause.js';
import { order } from './order.js';
import { report } from './report.js';

describe('the scope of a pause', () => {
  test('is one thing, and of a NodePool a reason may be meant alone', () => {
    expect(scopeOf({ cluster: true })).toEqual({ kind: 'cluster' });
    expect(scopeOf({ nodepool: 'gpu' })).toEqual({ kind: 'nodePool', name: 'gpu' });
    expect(scopeOf({ nodepool: 'gpu', reason: 'Drifted' })).toEqual({
      kind: 'nodePool',
      name: 'gpu',
      reason: 'Drifted',
    });
    expect(scopeOf({ reason: 'Empty' })).toEqual({ kind: 'reason', name: 'Empty' });
    expect(scopeOf({ node: 'n1' })).toEqual({ kind: 'node', name: 'n1' });
  });

  test.each([
    ['nothing', {}, 'say what: --cluster, --nodepool NAME, --node NAME or --reason REASON'],
    ['two things', { cluster: true, node: 'n1' }, /^give one of/],
    ['a node and a reason', { node: 'n1', reason: 'Empty' as const }, /^give one of/],
  ])('%s is refused', (_name, options, message) => {
    expect(() => scopeOf(options)).toThrow(message);
  });
});

describe('mistakes are told before anything is sent', () => {
  const cluster = ['--cluster-name', 'c', '--temporal-address', '127.0.0.1:1'];

  test.each([
    [
      'a length that is none',
      [...cluster, '--cluster', '--because', 'x', '--for', 'soon'],
      /--for: "soon" is no duration/,
    ],
    ['no time', [...cluster, '--cluster', '--because', 'x', '--for', '0s'], /--for: "0s" is no time at all/],
    ['no cluster name', ['--cluster', '--because', 'x'], /CLUSTER_NAME \(--cluster-name\) is missing/],
    ['Temporal away', [...cluster, '--cluster', '--because', 'x'], /Temporal cannot be reached at 127\.0\.0\.1:1/],
  ])(
    'pause: %s',
    async (_name, args, message) => {
      await expect(pause(args)).rejects.toThrow(message);
    },
    20_000,
  );

  test('the other commands too', async () => {
    await expect(report([...cluster, '--since', 'yesterday'])).rejects.toThrow(/--since: "yesterday" is no duration/);
    await expect(order('expedite', [...cluster, 'n1', '--within', 'x'])).rejects.toThrow(
      /--within: "x" is no duration/,
    );
  });
});

const row = (more: Partial<WorkflowRow>): WorkflowRow => ({
  workflowId: 'prod/terminate/1',
  kind: 'terminate',
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
  pauses: [],
  unavailable: [],
  ...more,
});

describe('the status', () => {
  test('begins with what waits for a person: questions, blocked drains with their causes, pauses', () => {
    const text = statusText(
      state(
        [
          row({
            blockedBy: 'pdb/shop/web (never)',
            facts: {
              'pods left': 2,
              'blocked by':
                'pdb/shop/web (never) can never allow an eviction; pod/shop/db-0 (do-not-disrupt) is marked',
              'next step': 'Force at 2026-01-05T14:00:00.000Z',
            },
          }),
          row({
            workflowId: 'prod/consolidate/2',
            kind: 'consolidate',
            reason: 'underutilized',
            phase: 'awaiting approval',
            awaitingApproval: true,
            waitingFor: 'a person to approve or reject (rejected when nobody answers)',
            until: '2026-01-06T12:00:00.000Z',
          }),
          row({ workflowId: 'prod/disrupt', kind: 'disrupt' }),
        ],
        {
          pauses: [
            { scope: { kind: 'nodePool', name: 'gpu' }, reason: 'launch week', actor: 'ann', until: 1767632400000 },
          ],
          nextWindow: { at: '2026-01-05T22:00:00.000Z', why: 'window night opens', nodePool: 'default' },
        },
      ),
    );

    expect(text).toBe(`Wait for approval
  default-abc (underutilized): a person to approve or reject (rejected when nobody answers), until 2026-01-06T12:00:00Z
    stowage approve prod/consolidate/2

Blocked drains
  default-abc (drifted), draining since 2026-01-05T12:00:00Z, 2 pods left
    pdb/shop/web (never) can never allow an eviction
    pod/shop/db-0 (do-not-disrupt) is marked
    next: Force at 2026-01-05T14:00:00.000Z

Paused
PAUSED         UNTIL                  BY    BECAUSE
NodePool gpu   2026-01-05T17:00:00Z   ann   launch week

NodePools
none

NodeClaims
none

Under way
WORKFLOW        NODECLAIM     REASON          PHASE               WAITS FOR                                                      UNTIL
terminate/1     default-abc   drifted         draining            pdb/shop/web (never)
consolidate/2   default-abc   underutilized   awaiting approval   a person to approve or reject (rejected when nobody answers)   2026-01-06T12:00:00Z

Next
  2026-01-05T22:00:00Z: window night opens (default)
`);
  });

  test('of a quiet cluster is short', () => {
    expect(statusText(state([]))).toBe('NodePools\nnone\n\nNodeClaims\nnone\n\nUnder way\nnothing\n');
  });

  test('a pause without an end says so', () => {
    expect(pauseTable([{ scope: { kind: 'cluster' }, reason: 'r', actor: 'a' }])).toContain(
      'the cluster   resumed   a',
    );
  });
});

describe('the report', () => {
  const done = (more: Partial<DoneRow>): DoneRow => ({
    workflowId: 'prod/consolidate/1',
    kind: 'consolidate',
    reason: 'empty',
    nodePool: 'default',
    nodeClaim: 'default-abc',
    outcome: 'done',
    savedPerHour: 0.25,
    startedAt: '2026-01-05T12:00:00Z',
    closedAt: '2026-01-05T12:01:00Z',
    ...more,
  });

  test('adds up what was carried out, and leaves out what was not', () => {
    const text = reportText(
      {
        since: '2026-01-04T12:00:00Z',
        truncated: false,
        rows: [
          done({}),
          done({}),
          done({ outcome: 'abandoned' }),
          done({ kind: 'terminate', outcome: 'terminated', savedPerHour: 0 }),
          done({ kind: 'launch', outcome: 'initialized', reason: '', savedPerHour: 0 }),
        ],
      },
      '24h',
    );

    expect(text).toContain('consolidations     empty    done              2   60s       $0.5000');
    expect(text).toContain('consolidations     empty    abandoned         1   60s');
    expect(text).toMatch(/In the last 24h: 1 node launched, 1 terminated; consolidation saves \$0\.5000 per hour\.\n$/);
  });

  test('of nothing says so', () => {
    expect(reportText({ since: '', truncated: false, rows: [] }, '2h')).toBe('Nothing was done in the last 2h.\n');
  });
});
