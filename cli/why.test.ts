import { describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { claimAnswer, type ClaimKnown, claimText, whyText, type WhyWorkflow } from './why-answers.js';
import { lastRuns, why } from './why.js';

type Conditions = NonNullable<NonNullable<NodeClaim['status']>['conditions']>;

const at = '2026-01-05T12:00:00Z';
const holds = (...types: string[]): Conditions =>
  types.map((type) => ({ type, status: 'True' as const, lastTransitionTime: at, reason: type, message: '' }));
const ready = holds('Launched', 'Registered', 'Initialized');
const claim = (conditions: Conditions, more: object = {}): NodeClaim =>
  ({ metadata: { name: 'default-a', ...more }, spec: {}, status: { conditions } }) as unknown as NodeClaim;
const workflow = (more: Partial<WhyWorkflow> = {}): WhyWorkflow => ({
  ...{ workflowId: 'prod/terminate/1', state: 'running', phase: 'draining', facts: { 'held up by': 'pod shop/web' } },
  ...more,
});
const answer = (known: Partial<ClaimKnown>): string =>
  claimAnswer({ claim: claim(ready), workflows: [], verdict: undefined, ...known });

describe('why: the answer comes first', () => {
  test.each<[string, Partial<ClaimKnown>, string]>([
    [
      'stays',
      { verdict: { verdict: 'stays', why: 'pod shop/db is marked do-not-disrupt' } },
      'stays: pod shop/db is marked do-not-disrupt',
    ],
    [
      'may go',
      { verdict: { verdict: 'may go', why: 'nothing forbids it, and …' } },
      'may go: nothing forbids it, and …',
    ],
    ['is being disrupted', { verdict: { verdict: 'going', why: 'Empty: w' } }, 'is being disrupted: Empty: w'],
    [
      'is ready, where no worker answers',
      { verdict: { unknown: 'no worker' } },
      'is ready; whether it may go is not known: no worker',
    ],
    ['is ready, where no worker is asked', {}, 'is ready'],
    [
      'cannot be launched',
      {
        claim: claim([
          {
            ...{ type: 'Launched', status: 'Unknown', lastTransitionTime: at },
            ...{ reason: 'InsufficientCapacity', message: 'no g5.xlarge in us-west-2a' },
          },
        ]),
      },
      'is not ready yet: Launched is Unknown: InsufficientCapacity: no g5.xlarge in us-west-2a',
    ],
    ['has launched and not registered', { claim: claim(holds('Launched')) }, 'is not ready yet: Registered is not set'],
    [
      'is being terminated',
      {
        claim: claim(ready, { deletionTimestamp: at }),
        workflows: [workflow({ waitingFor: 'pods to leave', until: at })],
      },
      `is being terminated: draining, waits for pods to leave until ${at}`,
    ],
    [
      'is being deleted, and its termination workflow has ended',
      { claim: claim(ready, { deletionTimestamp: at }), workflows: [workflow({ state: 'completed' })] },
      'is being deleted',
    ],
    [
      'is being deleted, and its termination workflow failed',
      {
        claim: claim(ready, { deletionTimestamp: at }),
        workflows: [workflow({ state: 'failed', phase: 'starting', failure: 'patch Node n1: forbidden' })],
      },
      'is being deleted, and its termination failed, which is started again within two minutes: patch Node n1: forbidden',
    ],
  ])('for a node that %s', (_name, known, expected) => {
    expect(answer(known)).toBe(expected);
  });

  test('then the object, running workflows, and its launch; ended workflows have one line', () => {
    const text = whyText({
      ...{ subject: 'node n1', answer: 'stays: a pause', details: ['it is NodeClaim default-a'] },
      workflows: [
        workflow(),
        workflow({
          ...{ workflowId: 'prod/launch/1', state: 'completed', phase: 'initialized' },
          facts: { 'out of capacity': 'spot: 3 offerings' },
        }),
        workflow({ workflowId: 'prod/repair/1', state: 'completed', phase: 'healthy again' }),
        workflow({ workflowId: 'prod/repair/2', state: 'failed', failure: 'forbidden' }),
      ],
    });
    expect(text.split('\n')).toEqual([
      'node n1: stays: a pause',
      '  - it is NodeClaim default-a',
      '  prod/terminate/1 (running): draining',
      '      held up by: pod shop/web',
      '  prod/launch/1 (completed): initialized',
      '      out of capacity: spot: 3 offerings',
      '  prod/repair/1 (completed): healthy again',
      '  prod/repair/2 (failed): forbidden',
      '',
    ]);
  });
});

test('why: a claim made by hand has no NodePool', () => {
  const byHand = { ...claim([]), metadata: { name: 'hand' } };
  expect(claimText(byHand)).toBe('NodeClaim hand of no NodePool (not launched yet)');
});

test.each(['web-0', 'pod/', 'service/web', 'pod/a/b', 'constructor/a'])('why: %s is no subject', async (subject) => {
  await expect(why([subject])).rejects.toThrow(
    `"${subject}": expected pod/NAME, node/NAME, nodeclaim/NAME or nodepool/NAME`,
  );
});

test.each([
  'nodeclaim.karpenter.sh/a',
  'NodeClaims/a',
  'nodeclaims.karpenter.sh/a',
  'po/web-0',
  'nodes/n1',
  'nodepools.karpenter.sh/a',
])('why: %s is a subject, as in kubectl', async (subject) => {
  // The next thing that it needs.
  await expect(why([subject])).rejects.toThrow('CLUSTER_NAME');
});

async function* listed(...ids: readonly string[]) {
  for (const [run, workflowId] of ids.entries()) yield await Promise.resolve({ workflowId, run });
}

async function read<T>(all: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const each of all) found.push(each);
  return found;
}

test('why: of a workflow started again and again only the last run is shown, and it hides no other workflow', async () => {
  const again = Array.from({ length: 100 }, () => 'terminate');

  expect(await read(lastRuns(listed(...again, 'launch', 'terminate')))).toEqual([
    { workflowId: 'terminate', run: 0 },
    { workflowId: 'launch', run: 100 },
  ]);
});

test('why: an endless list is read in part', async () => {
  async function* endless() {
    for (;;) yield await Promise.resolve({ workflowId: 'terminate' });
  }

  expect(await read(lastRuns(endless()))).toHaveLength(1);
});
