import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { annotations } from '../api/labels.js';
import { DomainError } from '../core/failures.js';
import { createActivityWorld, nodeClaim } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { tagInstance, tagUntagged } from './tagging.js';

const denied = new DomainError('Denied', 'ec2:CreateTags: UnauthorizedOperation');

describe("tags that need the node's name", () => {
  let world: ActivityWorld;
  beforeEach(async () => {
    world = await createActivityWorld();
    for (const name of ['c1', 'c2', 'c3']) await addNode(name);
    await world.synced();
  });
  afterEach(() => world.stop());

  async function addNode(name: string): Promise<void> {
    const providerID = `fake:///a/i-${name}`;
    const instance = {
      providerId: providerID,
      instanceId: `i-${name}`,
      state: 'running',
      instanceType: 'm5.xlarge',
    } as const;
    world.cloud.addOrphan({ ...instance, zone: 'a', capacityType: 'spot', launchedAt: 0, tags: {}, labels: {} });
    const conditions = ['Launched', 'Registered', 'Initialized'].map((type) => ({ type, status: 'True' as const }));
    world.kube.put('NodeClaim', nodeClaim(name, { status: { providerID, nodeName: `n-${name}`, conditions } }));
    world.kube.put('Node', { metadata: { name: `n-${name}` }, spec: { providerID } });
    return Promise.resolve();
  }
  const tag = (name: string) =>
    tagInstance(world.deps, {
      claim: { name, uid: `uid-${name}` },
      providerId: `fake:///a/i-${name}`,
      nodeName: `n-${name}`,
    });
  const tagged = (): string[] =>
    world.kube
      .objects('NodeClaim')
      .filter(({ metadata }) => metadata.annotations?.[annotations.tagged] === 'true')
      .map(({ metadata }) => metadata.name ?? '');

  test('Name and nodeclaim tags of an instance are written once', async () => {
    const get = jest.spyOn(world.kube, 'get');
    await expect(tag('c1')).resolves.toEqual({ state: 'tagged' });
    expect(get).not.toHaveBeenCalled();
    await world.synced();
    world.cloud.failNext('tag', denied);
    await expect(tag('c1')).resolves.toEqual({ state: 'tagged' });
    expect(tagged()).toEqual(['c1']);
  });

  test('tags that the cloud refuses are reported on the claim', async () => {
    world.cloud.failNext('tag', denied);

    await expect(tag('c1')).resolves.toEqual({
      state: 'failed',
      message: 'ec2:CreateTags: UnauthorizedOperation',
    });

    expect(world.events).toMatchObject([
      { type: 'Warning', reason: 'FailedTagging', regarding: { kind: 'NodeClaim', name: 'c1' } },
    ]);
    expect(tagged()).toEqual([]);
  });

  test.each(['Unavailable', 'Throttled'] as const)(
    'that only need time (%s) are retried without an event',
    async (type) => {
      const early = new DomainError(type, 'ec2:DescribeInstances: the tags of i-c1 are not visible yet');
      world.cloud.failNext('tag', early);
      await expect(tag('c1')).rejects.toBe(early);
      world.cloud.failNext('tag', early);
      await expect(tagUntagged(world.deps)).resolves.toEqual({
        tagged: type === 'Throttled' ? 0 : 2,
        failed: `NodeClaim c1: ${early.message}`,
      });

      await expect(tag('c1')).resolves.toEqual({ state: 'tagged' });

      expect(world.events).toEqual([]);
    },
  );

  test('that fail for one instance are written for others', async () => {
    world.cloud.kill('fake:///a/i-c1');
    world.cloud.failNext('tag', new DomainError('NotFound', 'no instance'));
    world.cloud.failNext('tag', new DomainError('Invalid', 'no provider id of AWS'));

    await expect(tagUntagged(world.deps)).resolves.toEqual({
      tagged: 1,
      failed: 'NodeClaim c2: no provider id of AWS',
    });

    expect(tagged()).toEqual(['c3']);
    expect(world.events.map(({ regarding }) => regarding.name)).toEqual(['c2']);
  });

  test('that are missing are written later, also after a refusal for another instance', async () => {
    world.cloud.failNext('tag', denied);

    await expect(tagUntagged(world.deps)).resolves.toMatchObject({ tagged: 2, failed: expect.stringContaining('c1') });
    await world.synced();
    await expect(tagUntagged(world.deps)).resolves.toEqual({ tagged: 1 });
    await world.synced();
    await expect(tagUntagged(world.deps)).resolves.toEqual({ tagged: 0 });
    expect(tagged()).toEqual(['c1', 'c2', 'c3']);
    expect(world.events).toHaveLength(1);
  });

  test('that are refused for the first instances of the list are written for later ones at the next attempt', async () => {
    const later = Array.from({ length: 9 }, (_, i) => `c${i + 4}`);
    for (const name of later) await addNode(name);
    await world.synced();
    const failedBefore = new Set<string>();
    for (let i = 0; i < 10; i += 1) world.cloud.failNext('tag', denied);

    await expect(tagUntagged(world.deps, failedBefore)).resolves.toMatchObject({ tagged: 0 });
    for (let i = 0; i < 2; i += 1) world.cloud.failNext('tag', denied);
    await expect(tagUntagged(world.deps, failedBefore)).resolves.toMatchObject({ tagged: 10 });
    await world.synced();
    await expect(tagUntagged(world.deps, failedBefore)).resolves.toEqual({ tagged: 2 });
    expect(failedBefore.size).toBe(2);
  });
});
