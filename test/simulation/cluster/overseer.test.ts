import { beforeEach, describe, expect, test } from '@jest/globals';
import { annotations } from '../../../api/labels.js';
import { pod } from '../../cases/objects.js';
import type { KubeClient } from '../../../kube/port.js';
import { createFakeKube } from '../kube/fake.js';
import type { FakeKube } from '../kube/fake.js';
import { overseen } from './overseer.js';

describe("the simulation's check of evictions: a do-not-disrupt pod", () => {
  let kube: FakeKube;
  let seen: KubeClient;
  let problems: string[];
  const own = { namespace: 'default', name: 'holy', uid: 'uid-holy' };

  beforeEach(() => {
    kube = createFakeKube();
    problems = [];
    seen = overseen(kube, {
      broken: (problem) => problems.push(problem),
      hasFailedStatusCheck: (providerId) => providerId === 'ill',
    });
    const { metadata, ...rest } = pod('holy', { app: 'web' }, {}, { nodeName: 'n', terminationGracePeriodSeconds: 0 });
    const marked = { ...metadata, uid: own.uid, annotations: { [annotations.doNotDisrupt]: 'true' } };
    kube.put('Pod', { ...rest, metadata: marked });
  });

  const claim = (deletedMsAgo: number | undefined): void => {
    const deletionTimestamp = deletedMsAgo === undefined ? {} : { deletionTimestamp: iso(Date.now() - deletedMsAgo) };
    kube.put('NodeClaim', {
      metadata: { name: 'c', finalizers: ['karpenter.sh/termination'], ...deletionTimestamp },
      spec: { terminationGracePeriod: '10m' },
      status: { nodeName: 'n' },
    } as never);
  };
  const iso = (ms: number): string => new Date(ms).toISOString();

  test.each([
    ['whose node stays', undefined],
    ['before its node has to be empty', 60_000],
  ])('an eviction is reported, %s', async (_, deletedMsAgo) => {
    claim(deletedMsAgo);
    await seen.evict(own);
    expect(problems).toEqual([expect.stringMatching(/^pod holy was evicted before its time.*protection-holds/)]);
  });

  test('whose NodeClaim is gone has the deadline that the claim had: deletion after it is allowed', async () => {
    claim(11 * 60_000);
    const gone = kube.kept('NodeClaim')[0];
    kube.remove('NodeClaim', { name: 'c' });
    seen = overseen(kube, { broken: (problem) => problems.push(problem), lastClaimOf: () => gone });
    await seen.delete('Pod', own);
    expect(problems).toEqual([]);
  });

  test('may be deleted once the deadline of its node is past', async () => {
    claim(11 * 60_000);
    await seen.delete('Pod', own);
    expect(problems).toEqual([]);
  });

  test('may be deleted where its instance failed the status check', async () => {
    claim(60_000);
    kube.put('Node', { metadata: { name: 'n' }, spec: { providerID: 'ill' } });
    await seen.delete('Pod', own);
    expect(problems).toEqual([]);
  });

  test('a pod without do-not-disrupt may be evicted at any time', async () => {
    const { metadata, ...rest } = pod('plain', { app: 'web' }, {}, { nodeName: 'n' });
    kube.put('Pod', { ...rest, metadata });
    await seen.evict({ namespace: 'default', name: 'plain', uid: metadata.uid ?? '' });
    expect(problems).toEqual([]);
  });
});

describe("the simulation's check of replacement first: a node that is disrupted voluntarily", () => {
  const owner = 'cluster/consolidate/1';
  interface Going {
    readonly isReplacementInitialized?: boolean;
    readonly isNodeReady?: boolean;
    readonly isNodeDeleted?: boolean;
    readonly isRunning?: boolean;
    /** When it was marked, and its replacement is made at noon. */
    readonly markedAt?: string;
  }
  const play = async (going: Going): Promise<readonly string[]> => {
    const { isReplacementInitialized = false, isNodeReady = true, isNodeDeleted = false, isRunning = true } = going;
    const { markedAt = '2026-01-01T12:00:00Z' } = going;
    const kube = createFakeKube();
    const problems: string[] = [];
    const seen = overseen(kube, { broken: (problem) => problems.push(problem), isRunning: () => isRunning });
    const status = (is: boolean): string => (is ? 'True' : 'False');
    kube.put('Node', {
      metadata: { name: 'n', ...(isNodeDeleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
      status: { conditions: [{ type: 'Ready', status: status(isNodeReady) }] },
    } as never);
    kube.put('NodeClaim', {
      metadata: { name: 'old', annotations: { [annotations.disruptionOwner]: owner } },
      spec: {},
      status: {
        nodeName: 'n',
        conditions: [
          { type: 'DisruptionReason', status: 'True', reason: 'Underutilized', lastTransitionTime: markedAt },
        ],
      },
    } as never);
    kube.put('NodeClaim', {
      metadata: {
        name: 'new',
        creationTimestamp: '2026-01-01T12:00:00Z',
        annotations: { [annotations.plan]: `${owner}/run/0` },
      },
      spec: {},
      status: { conditions: [{ type: 'Initialized', status: status(isReplacementInitialized) }] },
    } as never);
    await seen.delete('NodeClaim', { name: 'old' });
    return problems;
  };

  test('is reported where its NodeClaim is deleted before the replacement is initialized', async () => {
    const expected = 'NodeClaim old is deleted before new is initialized (invariants/replacement-first)';
    expect(await play({})).toEqual([expected]);
  });

  test.each([
    ['its replacement is initialized', { isReplacementInitialized: true }],
    ['its node is not ready, so that it goes without a choice', { isNodeReady: false }],
    ['its node is being deleted', { isNodeDeleted: true }],
    ['its instance is gone', { isRunning: false }],
    ['a replacement is of a command that was lost, before it was marked', { markedAt: '2026-01-01T12:00:01Z' }],
  ])('is not reported where %s', async (_, going) => {
    expect(await play(going)).toEqual([]);
  });
});
