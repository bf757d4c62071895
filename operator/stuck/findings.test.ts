import { describe, expect, test } from '@jest/globals';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import { findStuck, planningFinding } from './findings.js';
import type { Finding } from './findings.js';
import { readTail } from './history-tail.js';
import type { TailEvent } from './history-tail.js';
import type { Observed, ObservedActivity, ObservedEngine, ObservedQueue, ObservedWorkflow } from './observed.js';
import { timestampOf } from '../../test/simulation/temporal/durations.js';

const now = Date.parse('2026-01-05T12:00:00Z');
const ago = (seconds: number): number => now - seconds * 1000;
const iso = (seconds: number): string => new Date(ago(seconds)).toISOString();

const workflow = (of: Partial<ObservedWorkflow> = {}): ObservedWorkflow => {
  return { workflowId: 'c/provision', type: 'provision', historyEvents: 10, historyBytes: 1000, activities: [], ...of };
};
const queue = (of: Partial<ObservedQueue> = {}): ObservedQueue => {
  return { name: 'c/packing', tasks: 'activity', polledAt: ago(20), backlog: 0, backlogAgeMs: 0, ...of };
};
const engine = (of: Partial<ObservedEngine> = {}): ObservedEngine => ({
  workflows: [],
  missing: [],
  foreign: [],
  failed: [],
  queues: [],
  ...of,
});
const found = (of: Partial<Observed>): readonly Finding[] =>
  findStuck({ now, engine: engine(), loops: [], pods: [], pools: [], ...of });
const inWorkflow = (of: Partial<ObservedWorkflow>): readonly Finding[] =>
  found({ engine: engine({ workflows: [workflow(of)] }) });
const activity = (of: Partial<ObservedActivity>): readonly ObservedActivity[] => [
  { type: 'planNodes', attempt: 1, ...of },
];
const brief = (findings: readonly Finding[]): unknown[] =>
  findings.map(({ kind, subject, since, why }) => [
    kind,
    subject,
    since === undefined ? '' : (now - since) / 1000,
    why,
  ]);

describe('stuck findings', () => {
  // Rule `garbage-collection/failures-are-visible`.
  test('a loop of the leader that fails, since when and why', () => {
    const loops = [{ loop: 'collectGarbage', since: ago(120), why: 'not authorized to list' }] as const;
    expect(brief(found({ loops }))).toEqual([['failing', 'collectGarbage', 120, 'it fails: not authorized to list']]);
  });

  test('an object that planning leaves out is named; planning goes on', () => {
    const findings = inWorkflow({ leftOut: 'NodePool bad (key is not a string)' });

    expect(findings).toMatchObject([{ kind: 'excluded', subject: 'c/provision' }]);
    expect(findings[0]?.why).toContain('NodePool bad (key is not a string)');
    expect(planningFinding(findings, 'c/provision')).toBeUndefined();
  });

  test('a failed workflow is found, since it is started anew and fails again', () => {
    const failed = [{ workflowId: 'c/launch/u1', since: ago(90), runs: 3, why: 'patch NodeClaim c1: no' }];

    expect(found({ engine: engine({ failed }) })).toMatchObject([
      {
        kind: 'failing',
        subject: 'c/launch/u1',
        since: ago(90),
        attempts: 3,
        why: 'it failed: patch NodeClaim c1: no',
      },
    ]);
  });

  test('nothing is found where tasks are taken, steps are short and launch retries ordinary', () => {
    const launch = workflow({
      workflowId: 'c/launch/u1',
      type: 'launchNode',
      activities: activity({ type: 'createFleet', attempt: 4, failure: 'throttled', dueAt: ago(-3) }),
    });
    const busy = workflow({
      task: { attempt: 1, scheduledAt: ago(2), isStarted: false },
      activities: activity({ runningSince: ago(5) }),
    });
    expect(found({ engine: engine({ workflows: [busy, launch], queues: [queue()] }) })).toEqual([]);
  });

  test('a failing workflow task is found with the time of its first failure', () => {
    const task = { attempt: 7, scheduledAt: ago(1), isStarted: true, failingSince: ago(90), failure: 'no such patch' };
    expect(brief(inWorkflow({ task }))).toEqual([
      ['task', 'c/provision', 90, 'its workflow task fails: no such patch'],
    ]);
    expect(inWorkflow({ task })[0]?.attempts).toBe(6);
  });

  test('a failing activity of planning is found at once, one of another workflow after five attempts', () => {
    const failing = activity({ attempt: 2, failure: 'no instance types', since: ago(8), dueAt: ago(-1) });
    expect(brief(inWorkflow({ activities: failing }))).toEqual([
      ['failing', 'c/provision', 8, 'planNodes fails: no instance types'],
    ]);
    const often = activity({ type: 'createFleet', attempt: 5, failure: 'denied', runningSince: ago(1) });
    expect(brief(inWorkflow({ workflowId: 'c/launch/u1', type: 'launchNode', activities: often }))).toEqual([
      ['failing', 'c/launch/u1', 1, 'createFleet fails: denied'],
    ]);
  });

  test("a workflow's own report of its failures is found", () => {
    expect(brief(inWorkflow({ failing: { since: ago(40), why: 'the cluster cache to catch up' } }))).toEqual([
      ['failing', 'c/provision', 40, 'the cluster cache to catch up'],
    ]);
  });

  test('a long activity of planning is found; others may take long', () => {
    const activities = activity({ runningSince: ago(31) });
    expect(brief(inWorkflow({ activities }))).toEqual([['slow', 'c/provision', 31, 'planNodes takes long']]);
    expect(inWorkflow({ workflowId: 'c/disrupt', type: 'disrupt', activities })).toEqual([]);
    expect(inWorkflow({ workflowId: 'c/terminate/u1', type: 'terminateNode', activities })).toEqual([]);
  });

  test('tasks that no worker takes, and queues without pollers, are found', () => {
    const task = { attempt: 1, scheduledAt: ago(31), isStarted: false };
    expect(brief(inWorkflow({ task }))).toEqual([['queue', 'c/provision', 31, 'no worker takes its workflow task']]);
    expect(brief(inWorkflow({ activities: activity({ dueAt: ago(45) }) }))).toEqual([
      ['queue', 'c/provision', 45, 'no worker takes planNodes'],
    ]);
    const never: ObservedQueue = { name: 'c/cloud', tasks: 'activity', backlog: 3, backlogAgeMs: 40_000 };
    const queues = [queue({ polledAt: ago(70) }), queue({ polledAt: ago(75), build: '0.2.0-ab' }), never];
    expect(brief(found({ engine: engine({ queues }) }))).toEqual([
      ['queue', 'c/packing (activity tasks)', 70, 'no worker polls it'],
      ['queue', 'c/packing (activity tasks)', 75, 'no worker of the current build (0.2.0-ab) polls it'],
      ['queue', 'c/cloud (activity tasks)', 40, 'no worker polls it'],
    ]);
  });

  test('a backlog of a queue with workers is found once its oldest task has waited', () => {
    const waits = (backlogAgeMs: number) =>
      brief(found({ engine: engine({ queues: [queue({ backlog: 5, backlogAgeMs })] }) }));
    expect(waits(5000)).toEqual([]);
    expect(waits(60_000)).toEqual([['backlog', 'c/packing (activity tasks)', 60, 'tasks wait for a worker']]);
  });

  test('piled-up signals, missing entity workflows and an unreachable Temporal are found', () => {
    expect(inWorkflow({ historyEvents: 12_000 }).map(({ kind }) => kind)).toEqual(['signals']);
    expect(brief(found({ engine: engine({ missing: ['c/disrupt'] }) }))).toEqual([
      ['missing', 'c/disrupt', '', 'it does not run'],
    ]);
    const other = { workflowId: 'c/provision', type: 'importOrders', taskQueue: 'orders' };
    expect(brief(found({ engine: engine({ foreign: [other] }) }))).toEqual([
      [
        'missing',
        'c/provision',
        '',
        'its id is taken by a workflow of type importOrders on task queue orders, which does not belong to Stowage',
      ],
    ]);
    expect(brief(found({ engine: undefined, unreachable: 'it cannot be reached: connection refused' }))).toEqual([
      ['temporal', 'Temporal', '', 'it cannot be reached: connection refused'],
    ]);
  });

  test('a NodePool that backs off, and pods without a node for five minutes, are found', () => {
    const condition = { type: 'NodeClaimsAccepted', status: 'False', lastTransitionTime: iso(60), message: 'no' };
    const pool = { metadata: { name: 'gpu' }, spec: {}, status: { conditions: [condition] } } as unknown as NodePool;
    const pod = (name: string, seconds: number, type = 'PodScheduled'): Pod => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'shop', creationTimestamp: iso(9999) },
      spec: { containers: [] },
      status: { conditions: [{ type, status: 'False', reason: 'Unschedulable', lastTransitionTime: iso(seconds) }] },
    });
    const pods = [pod('young', 100), pod('late', 400), pod('later', 500), pod('bound', 900, 'Ready')];
    expect(brief(found({ pools: [pool], pods }))).toEqual([
      ['pool', 'NodePool gpu', 60, 'its NodeClaims are refused: no'],
      ['pods', 'pod/shop/later', 500, 'it and others wait for a node'],
    ]);
  });

  test.each([
    ['its pods wait, for no other NodePool takes them', 'NodeClaimRefused', 0],
    ['its pods are planned for other NodePools', 'NodeClaimRefused', 1],
    ['these pods wait, for no other NodePool takes them, and all others get nodes of it', 'NodeClaimRefusedForPods', 0],
    ['these pods are planned for other NodePools, and all others get nodes of it', 'NodeClaimRefusedForPods', 1],
  ])('the finding of a NodePool that backs off says truly of its pods: %s (%s, %d others)', (then, reason, others) => {
    const condition = { type: 'NodeClaimsAccepted', status: 'False', reason, message: 'no' };
    const made = (name: string, spec: object, conditions: object[]) =>
      ({ metadata: { name }, spec, status: { conditions } }) as unknown as NodePool;
    const pools = [made('gpu', {}, [condition]), made('static', { replicas: 1 }, [])];
    if (others > 0) pools.push(made('other', {}, []));
    expect(found({ pools }).map((each) => each.then)).toEqual([then]);
  });

  test('the finding that stops planning is that of provision, not of other workflows', () => {
    const task = { attempt: 3, scheduledAt: ago(1), isStarted: true };
    const findings = found({
      engine: engine({ workflows: [workflow({ workflowId: 'c/disrupt', type: 'disrupt', task }), workflow({ task })] }),
    });
    expect(planningFinding(findings, 'c/provision')?.subject).toBe('c/provision');
    expect(planningFinding(findings.slice(0, 1), 'c/provision')).toBeUndefined();
  });
});

describe('reading the end of a history', () => {
  const event = (seconds: number, of: Partial<TailEvent>): TailEvent => ({
    eventTime: timestampOf(ago(seconds)),
    ...of,
  });
  const failed = (message: string): Partial<TailEvent> => ({
    workflowTaskFailedEventAttributes: { failure: { message: 'step', cause: { message } } },
  });

  test('gives when pending activities were first scheduled, and failures since the last completed task', () => {
    const events = [
      event(10, failed('last')),
      event(20, failed('first')),
      event(30, { activityTaskScheduledEventAttributes: { activityId: '7' } }),
      event(40, { workflowTaskCompletedEventAttributes: {} }),
      event(50, failed('old')),
    ];
    expect(readTail(events)).toEqual({
      activitiesScheduledAt: new Map([['7', ago(30)]]),
      taskFailures: { failingSince: ago(20), failure: 'last' },
    });
  });

  test('tells apart workflow code that does not do what its history says', () => {
    const diverged = { failure: { message: 'no such timer' }, cause: 24 };
    const events = [event(10, { workflowTaskFailedEventAttributes: diverged })];
    expect(readTail(events).taskFailures).toMatchObject({ isDiverged: true, failure: 'no such timer' });
  });
});
